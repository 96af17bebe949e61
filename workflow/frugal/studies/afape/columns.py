"""Unit and meaning of the columns of afape: those of its grid, and those of an answer."""

from frugal.answer.columns import COLUMNS as OF_ANSWERS
from frugal.answer.columns import PATTERNS
from frugal.core.columns import COST

__all__ = ["COLUMNS", "PATTERNS"]
COLUMNS: dict[str, tuple[str, str]] = OF_ANSWERS | {
    # grid
    "missing_share": ("", "of the rows, in every panel that can be missing"),
    "graph": ("", "under which a world is evaluated: true, or mcar (nothing causes missingness)"),
    "named": ("", "policy that the verdict names; empty if it names none"),
    "best": ("", "policy of the lowest true cost"),
    "best_cost": (COST, "its true cost"),
    "regret": (
        COST,
        "true cost of the policy that is named less that of the best; a mean of draws",
    ),
    "gap": (COST, "true cost of the second best policy less that of the best"),
    "told": ("draws", "in which the verdict names a policy"),
    "sure_draws": ("draws", "in which it is sure"),
    "refuted_draws": ("draws", "in which the records contradict the graph"),
    "draws": ("draws", "of rows and of the missingness"),
    "sure_and_wrong": ("draws", "in which it is sure and another policy is cheaper"),
    "clear": (
        "draws",
        "in which the difference exceeds four standard errors of the best one's estimate",
    ),
    "clear_and_sure": ("draws", "of these, in which the verdict is sure"),
    "costlier": (
        "policies",
        "whose true cost exceeds the best one's by over four standard errors of its estimate",
    ),
    "costlier_told": ("policies", "of these, those that the verdict counts as worse"),
    "best_excluded": ("draws", "in which the verdict counts the best policy as worse than another"),
    "intervals": ("", "estimates that exist; of the grid, that are read"),
    "covered": ("", "intervals of these that hold the true cost of the population"),
    "bias": (COST, "mean error of these estimates"),
    "width": (COST, "mean width of their intervals"),
    "picks": ("draws", "in which every policy has an estimate"),
    "wrong_picks": ("draws", "of these, in which the lowest estimate is not that of the best"),
}
