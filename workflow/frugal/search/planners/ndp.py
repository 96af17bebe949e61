"""The planner `ndp`: the best outcome minus a price for each trial."""

from frugal.search.planner import Planning, SearchPlanner
from frugal.search.planning.naive import plan_naive
from frugal.search.records import SearchPolicy


def plan(given: Planning, price: float) -> SearchPolicy:
    """Naive dynamic programming at a price of a trial."""
    assert given.table is not None, "bug: it reads a model"
    own = given.options
    return plan_naive(given.table, trial_price=price, offset=own.price_offset, ties=own.ties)


NDP = SearchPlanner(
    name="ndp",
    place=30,
    label="NDP",
    look=("green", "^", "-."),
    reads="model",
    thresholds="trial_prices",
    plan=plan,
    doc="naive dynamic programming: the best outcome minus a price for each trial",
    may_try_nothing=True,
)
