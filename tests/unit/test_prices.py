"""Uncertain unit costs and net benefit: against enumeration and the definition."""

from dataclasses import replace
from itertools import permutations, product

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.acquire.policies.fixed import FixedPolicy
from frugal.acquire.rollouts import roll_out
from frugal.core.errors import ConfigError, DataError, FrugalError
from frugal.core.table import Panel, SetUp, Table
from frugal.core.world import World
from frugal.data.encoding import _mean_fee
from frugal.data.tables import table_of, table_to_frames
from frugal.judge.choice import choose, judged
from frugal.judge.net_benefit import ALL, NONE, decision_curves, implied_threshold
from frugal.judge.prices import ExtraCosts, PriceBox
from frugal.judge.semi_offline import Paths
from frugal.learn.record_law import Causes, RecordLaw
from frugal.run.init_command import stated_amounts
from frugal.run.table_yaml import StatedTerms

from tests.unit.dataset_documents import document, encoded, load
from tests.unit.test_semi_offline import ERRORS, PREFER, PRICE, candidates_of, law_of, play, world


def box_of(rng, m=4):
    low = rng.random(m)
    high = low + rng.random(m) * (rng.random(m) < 0.8)
    return PriceBox((low + high) / 2, low, high)


@pytest.mark.parametrize("seed", range(20))
def test_worst_regret_is_that_of_the_enumerated_corners(seed):
    rng = np.random.default_rng(seed)
    box, mean = box_of(rng), rng.random((5, 4))
    corners = np.array(list(product(*zip(box.low, box.high, strict=True))))
    costs = corners @ mean.T
    expected = (costs - costs.min(axis=1, keepdims=True)).max(axis=0)
    assert np.abs(box.worst_regret(mean) - expected).max() <= 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_ranges_of_one_cost_are_where_a_policy_is_cheapest(seed):
    rng = np.random.default_rng(seed)
    box, mean = box_of(rng), rng.random((5, 4))
    for at in np.flatnonzero(box.uncertain):
        grid = np.linspace(box.low[at], box.high[at], 2001)[1:-1]
        points = np.tile(box.usual, (len(grid), 1))
        points[:, at] = grid
        cheapest = (points @ mean.T).argmin(axis=1)
        step = grid[1] - grid[0]
        for policy, ends in enumerate(box.cheapest_between(mean, int(at))):
            where = grid[cheapest == policy]
            if ends is None:
                assert not len(where)
            elif ends[1] - ends[0] > step:
                assert where.min() - ends[0] <= 1.001 * step
                assert ends[1] - where.max() <= 1.001 * step


def test_shares_of_the_box_are_those_of_random_prices():
    rng = np.random.default_rng(1)
    box, mean = box_of(rng), rng.random((5, 4))
    points = rng.uniform(box.low, box.high, size=(200_000, 4))
    expected = np.bincount((points @ mean.T).argmin(axis=1), minlength=5) / len(points)
    # standard error of a share at most 0.0012; Sobol points are closer
    assert np.abs(box.share_cheapest(mean) - expected).max() < 0.006


def test_the_named_policy_has_the_least_regret_of_the_short_list():
    x, y, observed = world(np.random.default_rng(3), 800)
    found, _ = candidates_of(x, y, observed, law_of(x, y, observed))
    unit = found.unit_costs
    box = PriceBox(unit, 0.2 * unit, 5 * unit)
    chosen = choose(found, 0.05, np.random.default_rng(0), box)
    regret = dict(zip(found.names, box.worst_regret(found.means), strict=True))
    assert regret[chosen.policy] == min(regret[name] for name in chosen.short_list)
    known = PriceBox(unit, unit, unit)
    assert known.worst_regret(found.means).min() == 0.0


def test_curves_of_a_complete_table_are_the_definition():
    """Net benefit of a prediction model [Vickers and Elkin, MDM 26, 2006], and of all and none."""
    x, y, _ = world(np.random.default_rng(5), 500)
    observed = np.ones((500, 2), dtype=bool)
    law, free = law_of(x, y, observed), np.zeros(2)
    paths = {name: play(name, x, observed) for name in PREFER}
    grid = (0.05, 0.2, 0.4, 0.7, 0.95)
    for price in (free, PRICE):
        curves = decision_curves(paths, law, price, ERRORS, thresholds=grid)
        value = curves.set_index(["agent", "threshold"])["net_benefit"]
        for name, one in paths.items():
            paid = (one.acquired @ price).mean() / (ERRORS[1, 0] - ERRORS[1, 1])
            for t in grid:
                treated = one.last_belief[:, 1] >= t
                hits, alarms = (treated & (y == 1)).mean(), (treated & (y == 0)).mean()
                assert value[name, t] == pytest.approx(hits - alarms * t / (1 - t) - paid, abs=1e-9)
        for t in grid:
            assert value[ALL, t] == pytest.approx(y.mean() - (1 - y.mean()) * t / (1 - t), abs=1e-9)
            assert value[NONE, t] == 0.0


def test_curves_under_gaps_hold_those_of_the_complete_table():
    """Intervals of 95 %: of 40 worlds × 4 thresholds, at most 20 miss (P < 0.001 if all hold)."""
    grid, missed = (0.1, 0.3, 0.5, 0.7), 0
    rng = np.random.default_rng(11)
    x, y, _ = world(rng, 200_000)
    whole = play("cascade", x, np.ones((len(x), 2), dtype=bool))
    risk, paid = whole.last_belief[:, 1], (whole.acquired @ PRICE).mean() / ERRORS[1, 0]
    truth = [
        ((risk >= t) & (y == 1)).mean() - ((risk >= t) & (y == 0)).mean() * t / (1 - t) - paid
        for t in grid
    ]
    for _ in range(40):
        x, y, observed = world(rng, 600)
        law = law_of(x, y, observed)
        paths = {"cascade": play("cascade", x, observed).within(law)}
        curve = decision_curves(paths, law, PRICE, ERRORS, thresholds=grid).query(
            "agent == 'cascade'"
        )
        missed += int(((curve["ci_low"] > truth) | (curve["ci_high"] < truth)).sum())
    assert missed <= 20


def test_the_implied_threshold_makes_both_decisions_cost_the_same():
    t = implied_threshold(ERRORS)
    risk = np.array([1 - t, t])
    costs = risk @ ERRORS
    assert costs[0] == pytest.approx(costs[1])


def _uncertain(described):
    described["panels"][1]["cost"] = {"from": 20, "to": 35}
    described["misclassification_cost"][1][0] = {"median": 100, "sigma": 0.5}


def test_uncertain_costs_have_a_mean_and_a_range(tmp_path):
    described = document()
    _uncertain(described)
    found = load(tmp_path, described)
    assert found.panels[1].cost == 27.5
    assert found.misclassification_cost[1][0] == pytest.approx(100 * np.exp(0.125))
    error = f"{found.label.classes[0]} for {found.label.classes[1]}"
    assert set(found.cost_ranges) == {"blood", error}
    assert found.cost_ranges["blood"] == (20, 35)
    low, high = found.cost_ranges[error]
    assert np.log([low / 100, high / 100]) / 0.5 == pytest.approx([-1.959964, 1.959964], abs=1e-6)


def test_prices_of_a_data_frame_may_be_two_ends():
    terms = StatedTerms(prices={"a": (3, 6), "b": 2}, errors={})
    assert terms._cost("prices", "a", (3, 6)) == {"from": 3, "to": 6}
    assert stated_amounts("--prices", "a=3..6,b=2") == {"a": (3, 6), "b": 2}
    with pytest.raises(DataError, match="two of them, the least and the largest"):
        terms._cost("prices", "a", (6, 3))
    assert terms._cost("prices", "a", {"column": "fee"}) == {"column": "fee"}
    with pytest.raises(DataError, match=r"or a range such as 20\.\.35"):
        stated_amounts("--prices", "a=3..x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crp,1,500\nage,2", "line 1: '500' follows the number of 'crp'"),
        ("crp,4,5\nage,2", "line 1: '5' follows the number of 'crp'"),
        ("age,2\ncrp,4,5,6", "line 2: '5' follows the number of 'crp'"),
        ("name,price,unit\ncrp,4,EUR\nage,2,USD", "line 3: 'USD' follows .* here 'EUR'"),
        ("crp,4,eur", "line 1: 'eur' follows"),
        ("panel;price\ncrp;1.500\nage;2", "line 2: 'crp' has '1.500'"),
        ("crp\t1,500\nage\t2", "line 1: 'crp' has '1,500'"),
        ("crp;1.500\nage;1,500", "line 1: 'crp' has '1.500'"),
        ("crp;1.500\nage;2,5\nlac;2.5", "line 1: 'crp' has '1.500'"),
        ("crp;1.500..2.500", r"line 1: 'crp' has '1.500\.\.2.500'"),
        ("crp,15 USD\nage,2", "line 1: 'crp' has '15 USD'"),
        ("crp,EUR 15\nage,2", "line 1: 'crp' has 'EUR 15'"),
        ("crp,1e999", "line 1: 'crp' has '1e999'"),
        ("crp,-1", "line 1: 'crp' has '-1'"),
        ("crp,nan\nage,2\nage,3", "line 3: 'age' has two numbers"),
        ("name,price,unit\ncrp,4,EUR\nage,2,", {"crp": 4, "age": 2}),
        ("crp;1.500\nage;2,5", {"crp": 1500, "age": 2.5}),
        ("crp;1.500\nage;2.25", {"crp": 1.5, "age": 2.25}),
        ("crp;1.500,00\nage;2", {"crp": 1500, "age": 2}),
        ('crp,"1,500.00"\nage,2', {"crp": 1500, "age": 2}),
        ("crp;1.000.000\nage;1.500", {"crp": 1000000, "age": 1500}),
        ("crp;1'500\nage;2", {"crp": 1500, "age": 2}),
        ("crp;4,5\nage;2,25", {"crp": 4.5, "age": 2.25}),
        ("crp;0,125\nage;.125\nlac;1e3", {"crp": 0.125, "age": 0.125, "lac": 1000}),
        ("crp|20..35\nage|2 EUR", {"crp": (20, 35), "age": 2}),
        ("panel;price 2024\ncrp;4;EUR\n\nage;2;\n", {"crp": 4, "age": 2}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_of_prices_is_read_in_the_only_way_or_refused_with_its_line(
    tmp_path, text, expected, encoding
):
    (tmp_path / "p.csv").write_text(text, encoding=encoding)
    if isinstance(expected, dict):
        amounts = stated_amounts("--prices", str(tmp_path / "p.csv"), "EUR")
        assert amounts == expected
        assert list(map(type, amounts.values())) == list(map(type, expected.values()))
    else:
        with pytest.raises(DataError, match=expected):
            stated_amounts("--prices", str(tmp_path / "p.csv"), "EUR")


@pytest.mark.parametrize("cell", ["{} USD", "{} usd", "{}Fr", "{} ct"])
def test_a_price_of_each_case_in_another_unit_is_refused(cell):
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.7] * 20, "ill": ["no", "yes", "no"] * 20})
    frame["fee"] = [cell.format(k % 19) for k in range(60)]
    terms = {
        "free": ["fee"],
        "prices": {"a": {"column": "fee"}},
        "errors": {"missed": 2, "false alarm": 1},
    }
    with pytest.raises(FrugalError, match="'fee', which is in"):
        frugal.load(frame, label="ill", **terms)
    unit = cell.format("").strip()
    assert frugal.load(frame, label="ill", **terms, unit=unit) is not None


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_a_file_of_prices_may_be_a_spreadsheet_or_parquet(tmp_path, suffix):
    frame = pd.DataFrame({"panel": ["crp", "age"], "price": [4.5, 2.0], "unit": ["EUR", None]})
    write = frame.to_parquet if suffix == "parquet" else frame.to_excel
    write(tmp_path / f"p.{suffix}", index=False)
    stated = stated_amounts("--prices", str(tmp_path / f"p.{suffix}"), "EUR")
    assert stated == {"crp": 4.5, "age": 2}


@pytest.mark.parametrize(
    "errors",
    [
        {"missed": 600, "yes as no": 3},
        {"yes as no": 5, "missed": 7},
        {"false alarm": 1, "false_alarm": 2},
        {"no as yes": 1, "false_alarm": 2},
        {"no_as_yes": 1, "no as yes": {"from": 1, "to": 2}},
        {"missed": (1, 2), "yes_as_no": 1},
        {"missed": 0, "yes as no": 1},
    ],
)
def test_one_error_in_two_words_with_two_numbers_is_refused(errors):
    with pytest.raises(DataError, match="are one error with two numbers"):
        StatedTerms(errors=errors).errors_of(["no", "yes"])
    same = dict.fromkeys(errors, 3)
    assert StatedTerms(errors=same).errors_of(["no", "yes"])[0][0] == 0
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.7] * 20, "ill": ["no", "yes", "no"] * 20})
    with pytest.raises(FrugalError, match="are one error with two numbers"):
        frugal.load(frame, label="ill", prices={"a": 1}, errors=errors)


@pytest.mark.parametrize(
    ("text", "words"),
    [('a,"1,061"\nb,2', "'a' has '1,061'"), (f"a,{'9' * 200_000}", "allowed is a CSV of names")],
)
def test_a_file_of_prices_that_can_be_read_in_two_ways_or_none_is_refused(tmp_path, text, words):
    (tmp_path / "p.csv").write_text(f"panel,price\n{text}\n")
    with pytest.raises(DataError, match=words):
        stated_amounts("--prices", str(tmp_path / "p.csv"))


def small_table(n=60, seed=0):
    """Three panels; the first two share a set-up, and the last has a price of each case."""
    values = np.random.default_rng(seed).random((n, 4))
    panels = [Panel(f"p{j}", (f"x{j}",), cost, False) for j, cost in ((1, 2.0), (2, 3.0))]
    return Table(
        np.arange(n),
        values,
        ("fee", "x1", "x2", "x3"),
        (),
        np.arange(n) % 2,
        ("no", "yes"),
        (
            Panel("free", ("fee",), 0.0, True),
            *panels,
            Panel("p3", ("x3",), float(values[:, 0].mean()) + 0.5, False),
        ),
        ERRORS,
        (SetUp(("p1", "p2"), 8.0),),
        {"p3": "fee"},
    )


def test_a_set_up_is_paid_once_by_the_first_panel_that_shares_it():
    world = World.of_table(small_table())
    assert world.shared_costs is not None
    for chosen in product([False, True], repeat=3):
        bought = np.array([chosen])
        expected = bought[0] @ world.action_cost + 8.0 * (chosen[0] or chosen[1])
        assert world.price(bought)[0] == expected
        for order in permutations(np.flatnonzero(chosen)):
            before, paid = np.zeros((1, 3), dtype=bool), 0.0
            for panel in (*order, 3):
                step = world.shared_costs.step_price(before, np.array([panel]), world.action_cost)
                paid += float(step[0])
                if panel < 3:
                    before = before | (np.arange(3) == panel)
            assert paid == pytest.approx(expected, abs=1e-12)


def test_decisions_of_a_rollout_pay_for_a_set_up_once():
    world = World.of_table(small_table())
    uniforms = np.zeros((len(world), 4))
    episodes = roll_out(FixedPolicy(np.ones(3, dtype=bool)), world, uniforms=uniforms)
    paid = np.bincount(episodes.row, episodes.price)
    assert episodes.cost[0] == pytest.approx(paid)
    assert paid == pytest.approx(world.action_cost.sum() + 8.0)


def test_mean_costs_of_complete_records_count_set_ups_and_prices_by_case():
    table = small_table()
    n, a = len(table), 3
    extra, everything = ExtraCosts.of(table), np.ones((n, a), dtype=bool)
    acquired = np.random.default_rng(4).random((n, a)) < 0.5
    belief = np.full((n, a + 1, 2), np.nan)
    belief[:, 0] = 0.5
    verdict = np.arange(n) % 2
    paths = Paths(
        np.full((n, a), -1),
        np.zeros(n, dtype=np.int64),
        np.ones(n, dtype=bool),
        acquired,
        belief,
        verdict,
    )
    law = RecordLaw(
        everything, table.values, table.label, np.arange(n) % 5, [Causes(())] * a, table.provides
    )
    found = judged(
        {"practice": paths, "other": paths},
        law,
        table.values[:, :1],
        extra.flat(table.action_cost),
        ERRORS,
        practice="practice",
        extra=extra,
    )
    fee = table.values[:, 0] + 0.5
    each = acquired @ [2.0, 3.0, 0.0] + acquired[:, 2] * fee + 8.0 * acquired[:, :2].any(axis=1)
    assert found.paid("other") == pytest.approx(each.mean(), abs=1e-12)
    wrong = ERRORS[table.label, verdict]
    # the class enters by a regression whose prior is weak, not absent
    assert found.cost("other") == pytest.approx((each + wrong).mean(), rel=1e-5)


def _shared(described):
    described["set_ups"] = [{"panels": ["blood", "scan"], "cost": 5}]
    described["panels"][1]["cost"] = {"column": "age"}
    described["columns"][0]["unit"] = "EUR"
    described["panels"][2]["delay"] = 4
    described["waiting_cost"] = 10


def test_a_table_has_the_set_ups_delays_and_prices_by_case_of_its_yaml(tmp_path):
    described = document()
    _shared(described)
    described["missing_values"] = "partial"
    table = encoded(tmp_path, described).table
    assert table.set_ups == (SetUp(("blood", "scan"), 5.0),)
    assert table.fees == {"blood": "age"}
    age = table.values[:, table.columns.index("age")]
    assert table.action_cost.tolist() == [age.mean(), 940.0]
    frame, catalogue = table_to_frames(table, np.full(len(table), "train"))
    back = table_of(frame, catalogue)
    assert (back.set_ups, back.fees) == (table.set_ups, table.fees)


def test_prices_by_case_below_zero_are_counted_and_shown(tmp_path):
    described = document()
    described["panels"][1]["cost"] = {"column": "age"}
    with pytest.raises(ConfigError, match=r"'age', which is in 'year'; allowed is .* 'EUR'"):
        load(tmp_path, described)
    described["columns"][0]["unit"] = "1"
    panel = load(tmp_path, described).panels[1]
    with pytest.raises(DataError, match=r"2 of 3 rows have another value .* first -5$"):
        _mean_fee(np.array([1.0, -5.0, -2.0]), panel)


def test_the_first_that_the_lowest_is_not_clearly_below_is_named_if_it_learned_from_enough():
    x, y, observed = world(np.random.default_rng(1), 150)
    found, _ = candidates_of(x, y, observed, law_of(x, y, observed))
    order = ["fixed", "never", "cascade"]
    found = replace(found, names=order, price=found.price / 6)
    rows = np.array([(y == k).sum() * 4 / 5 for k in (0, 1)])
    np.testing.assert_allclose(found.held[-1], rows, rtol=1e-9)
    assert (found.held[:-1] < found.held[-1]).all()
    enough, few = (
        choose(replace(found, held=held), 0.05, np.random.default_rng(0))
        for held in (30 + 0 * found.held, 29 + 0 * found.held)
    )
    assert enough.short_list == few.short_list == order
    above = enough.last.difference[:2, 2] / enough.last.std_error[:2, 2]
    np.testing.assert_allclose(above, [1.74, 1.35], atol=0.01)
    assert (enough.policy, few.policy) == ("never", "cascade")
    assert all(0.3 < (answer.repeated or 0.0) < 1 for answer in (enough, few))
