"""Costs, error rates and gaps by group: direct counts, complete data, groups without a row."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from frugal.config.dataset import Dataset
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.core.table import Belonging
from frugal.data.prepare import prepare
from frugal.data.tables import belonging_from_frames, table_to_frames
from frugal.judge.fairness import (
    contingency,
    demographic_disparity,
    equal_opportunity_gap,
    equalised_odds_gap,
    parity_difference,
)
from frugal.judge.intervals import effective_share_interval, share_interval
from frugal.judge.verdicts import stated_by_group
from frugal.studies.afape.by_group import no_groups, ratios
from frugal.studies.afape.stages.tables import give_verdicts

from tests.unit.afape_chain import frames, run_chain, small_table
from tests.unit.dataset_documents import CSV, document, load
from tests.unit.in_blocks import by_group

pytestmark = pytest.mark.trains

N = 240
GAPS = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.8}, "indicators": {}},
    "P3": {"intercept": 1.0, "values": {}, "indicators": {}},
}
THREE = Belonging(np.random.default_rng(7).integers(3, size=N), ("a", "b", "c"), None)
READ = "stabilised_afais_s_policy"


@pytest.fixture(scope="module")
def chain():
    return run_chain(small_table(N), GAPS, source="induced", belonging=THREE)


def _rows(frame: pd.DataFrame, **keys) -> pd.DataFrame:
    for key, value in keys.items():
        frame = frame[frame[key] == value]
    return frame


def _one(frame: pd.DataFrame, **keys) -> pd.Series:
    found = _rows(frame, **keys)
    assert len(found) == 1, keys
    return found.iloc[0]


def _acted(n: int, rng: np.random.Generator, table) -> pd.DataFrame:
    """What a made-up policy did on the rows of a table."""
    bought = rng.random((n, 2)) < 0.5
    verdict = (rng.random(n) < 0.3 + 0.4 * table.label).astype(int)
    wrong = (verdict != table.label).astype(float)
    return pd.DataFrame(
        {
            "row_id": table.row_id,
            "verdict": verdict,
            "acquisition_cost": bought.sum(axis=1) * 1.0,
            "misclassification_cost": wrong,
            "cost": bought.sum(axis=1) + wrong,
            "acquired:P2": bought[:, 0],
            "acquired:P3": bought[:, 1],
        }
    )


def _by_hand(acted: pd.DataFrame, label: np.ndarray, weight: np.ndarray, inside: np.ndarray):
    """The same quantities by plain loops over rows."""
    sums = dict.fromkeys(
        [
            "w",
            "cost",
            "acquisition_cost",
            "misclassification_cost",
            "panels",
            "wrong",
            "yes",
            "w1",
            "yes1",
            "w0",
            "yes0",
        ],
        0.0,
    )
    for k, row in enumerate(acted.to_dict("records")):
        if not inside[k]:
            continue
        w = float(weight[k])
        sums["w"] += w
        for name in ("cost", "acquisition_cost", "misclassification_cost"):
            sums[name] += w * row[name]
        sums["panels"] += w * (int(row["acquired:P2"]) + int(row["acquired:P3"]))
        sums["wrong"] += w * (row["verdict"] != label[k])
        sums["yes"] += w * row["verdict"]
        sums[f"w{label[k]}"] += w
        sums[f"yes{label[k]}"] += w * row["verdict"]
    means = ("cost", "acquisition_cost", "misclassification_cost", "panels")
    return {name: sums[name] / sums["w"] for name in means} | {
        "error_rate": sums["wrong"] / sums["w"],
        "positive_share": sums["yes"] / sums["w"],
        "true_positive_rate": sums["yes1"] / sums["w1"],
        "false_positive_rate": sums["yes0"] / sums["w0"],
    }


def test_every_quantity_is_the_direct_weighted_count():
    rng = np.random.default_rng(0)
    table = small_table(N)
    acted = _acted(N, rng, table)
    weight = rng.exponential(size=N) * (rng.random(N) < 0.6)
    found = by_group(
        ratios(acted, table), weight, THREE, table, truth=ratios(acted, table), rng=rng
    )
    assert THREE.group is not None
    hand = [_by_hand(acted, table.label, weight, THREE.group == g) for g in range(3)]
    plain = [_by_hand(acted, table.label, np.ones(N), THREE.group == g) for g in range(3)]
    for g, name in enumerate("abc"):
        for quantity, value in hand[g].items():
            row = _one(found, group=name, other="", quantity=quantity)
            assert row["estimate"] == pytest.approx(value, abs=1e-12)
            assert row["truth"] == pytest.approx(plain[g][quantity], abs=1e-12)
            assert row["ci_low"] <= value <= row["ci_high"]
    for a, b in combinations(range(3), 2):
        for quantity in hand[a]:
            row = _one(found, group="abc"[a], other="abc"[b], quantity=quantity)
            gap = hand[a][quantity] - hand[b][quantity]
            assert row["estimate"] == pytest.approx(gap, abs=1e-12)
    for gap, parts in (
        ("demographic_parity", ["positive_share"]),
        ("equal_opportunity", ["true_positive_rate"]),
        ("equalised_odds", ["true_positive_rate", "false_positive_rate"]),
    ):
        largest = max(np.ptp([one[part] for one in hand]) for part in parts)
        row = _one(found, group="", quantity=gap)
        assert row["estimate"] == pytest.approx(largest, abs=1e-12)
        assert row["ci_low"] <= largest <= row["ci_high"]


def test_standard_errors_are_those_of_a_ratio_and_of_two_ratios_on_other_rows():
    rng = np.random.default_rng(1)
    table, acted = small_table(N), None
    acted = _acted(N, rng, table)
    weight = rng.exponential(size=N)
    found = by_group(ratios(acted, table), weight, THREE, table, rng=rng)
    errors = {}
    for g, name in enumerate("abc"):
        row = _one(found, group=name, other="", quantity="cost")
        w = weight * (THREE.group == g)
        psi = w * (acted["cost"].to_numpy() - row["estimate"]) / w.mean()
        errors[name] = psi.std(ddof=1) / np.sqrt(N)
        assert row["std_error"] == pytest.approx(errors[name], rel=1e-12)
    pair = _one(found, group="a", other="b", quantity="cost")
    assert pair["std_error"] == pytest.approx(np.hypot(errors["a"], errors["b"]), rel=1e-12)
    assert np.isnan(found["truth"]).all()


def test_on_complete_data_the_gaps_are_those_of_dadi():
    rng = np.random.default_rng(2)
    table = small_table(N)
    acted = _acted(N, rng, table)
    two = Belonging(rng.integers(2, size=N), ("a", "b"), None)
    assert two.group is not None
    found = by_group(ratios(acted, table), np.ones(N), two, table, rng=rng)
    counts = contingency(table.label, two.group, acted["verdict"].to_numpy() == 1)
    for name, value in (
        ("demographic_parity", demographic_disparity(counts)),
        ("equal_opportunity", equal_opportunity_gap(counts)),
        ("equalised_odds", equalised_odds_gap(counts)),
    ):
        row = _one(found, group="", quantity=name)
        assert row["estimate"] == pytest.approx(float(value), abs=1e-12)
    pair = _one(found, group="a", other="b", quantity="positive_share")
    assert pair["estimate"] == pytest.approx(float(parity_difference(counts)), abs=1e-12)


def test_rows_that_stand_often_do_not_shorten_what_is_stated_by_group():
    rng = np.random.default_rng(3)
    table = small_table(N)
    acted = _acted(N, rng, table)
    weight = rng.exponential(size=N)
    once = by_group(ratios(acted, table), weight, THREE, table, rng=np.random.default_rng(0))
    twice = table.take(np.tile(np.arange(N), 2))
    assert THREE.group is not None
    both = Belonging(np.tile(THREE.group, 2), THREE.names, np.tile(np.arange(N), 2))
    often = by_group(
        ratios(pd.concat([acted, acted]), twice),
        np.tile(weight, 2),
        both,
        twice,
        rng=np.random.default_rng(0),
    )
    for name in ("estimate", "std_error", "ci_low", "ci_high", "ess"):
        np.testing.assert_allclose(often[name], once[name], rtol=1e-8, atol=1e-10)


def test_a_group_that_no_row_states_of_is_a_row_with_a_reason():
    rng = np.random.default_rng(4)
    table = small_table(N)
    acted = _acted(N, rng, table)
    assert THREE.group is not None
    weight = np.where((THREE.group == 2) & (table.label == 1), 0.0, 1.0)
    found = by_group(ratios(acted, table), weight, THREE, table, rng=rng)
    row = _one(found, group="c", other="", quantity="true_positive_rate")
    assert (row["status"], row["n"] > 0, row["ess"]) == ("no_support", True, 0)
    assert "'c'" in row["reason"]
    assert _one(found, group="a", other="c", quantity="true_positive_rate")["status"] != "ok"
    odds = _one(found, group="", quantity="equalised_odds")
    assert odds["status"] == "ok"
    assert odds["reason"].startswith("without 'c'")
    nobody = by_group(ratios(acted, table), np.zeros(N), THREE, table, rng=rng)
    assert set(nobody["status"]) == {"no_support"}


def test_a_rate_without_spread_is_not_certain():
    rng = np.random.default_rng(5)
    table = small_table(N)
    acted = _acted(N, rng, table).assign(verdict=1)
    found = by_group(ratios(acted, table), np.ones(N), THREE, table, rng=rng)
    row = _one(found, group="a", other="", quantity="positive_share")
    assert (row["estimate"], row["ci_high"]) == (1.0, 1.0)
    n = int(row["n"])
    assert row["ci_low"] == pytest.approx(share_interval(n, n, level=0.95)[0])
    gap = _one(found, group="", quantity="demographic_parity")
    assert gap["estimate"] == gap["ci_low"] == 0
    assert 0.02 < gap["ci_high"] < 0.2


def test_an_unweighted_share_has_the_interval_of_its_count():
    for hits, n in ((3, 40), (20, 40), (40, 40)):
        p = hits / n
        error = np.sqrt(p * (1 - p) / n)
        found = effective_share_interval(p, error, float(n), level=0.95)
        assert found == pytest.approx(share_interval(hits, n, level=0.95))
    assert effective_share_interval(0.5, np.inf, 1.0, level=0.95) == (0, 1)


def test_the_stage_states_groups_by_the_weights_of_its_estimates(chain):
    """Group costs, weighed by the groups' share of weight, are the estimate of all."""
    found, estimates = chain.estimates["groups"], chain.estimates["estimates"]
    assert set(found["estimator"]) == {READ, "stabilised_ipw"}
    for agent in ("half", "always"):
        for name in (READ, "stabilised_ipw"):
            costs = _rows(found, agent=agent, estimator=name, quantity="cost", other="")
            whole = _one(estimates, agent=agent, estimator=name)["estimate"]
            assert costs["estimate"].min() <= whole <= costs["estimate"].max()
        truth = _one(estimates, agent=agent, estimator="ground_truth")["estimate"]
        group = THREE.take(np.arange(80, N)).group
        assert group is not None
        share = np.bincount(group) / (N - 80)
        assert costs["truth"].to_numpy() @ share == pytest.approx(truth, abs=1e-12)


def _verdicts(chain):
    own = {"dataset": "d", "mechanism": "m"}
    made = chain.estimates
    check = pd.DataFrame([own | {"seed": 0, "graph_refuted": False, "sentence": "", "p_value": 1}])
    return give_verdicts(
        summary=made["estimates"].assign(**own),
        comparisons=made["comparisons"].assign(**own),
        groups=made["groups"].assign(**own),
        sensitivity=made["sensitivity"].assign(**own),
        tipping=made["tipping"].assign(**own),
        graph_check=check,
        context=Context(
            {"cost_units": {"d": "EUR"}, "gammas": [1, 2], "margin": 0.05},
            Streams(0, "give_verdicts", {}),
        ),
    )


def test_the_summary_has_the_estimator_that_is_read_and_the_page_a_clause(chain):
    made = _verdicts(chain)
    verdict = made["verdicts"].iloc[0]
    assert set(made["groups"]["estimator"]) == {verdict["estimator"]}
    assert list(made["groups"])[:8] == [
        "dataset",
        "mechanism",
        "seed",
        "agent",
        "estimator",
        "group",
        "other",
        "quantity",
    ]
    said = made["sentence"].decode()
    assert verdict["by_group"] in said
    assert "By group" in said
    assert "EUR a case: a " in said
    assert "equalised odds gap" in said


def test_without_groups_nothing_is_stated_of_them(chain):
    plain = run_chain(small_table(N), GAPS, source="induced")
    assert len(plain.estimates["groups"]) == 0
    assert set(plain.estimates["groups"]) == set(chain.estimates["groups"])
    made = _verdicts(plain)
    assert len(made["groups"]) == 0
    assert made["verdicts"]["by_group"].tolist() == [""]
    assert "group" not in made["sentence"].decode()
    pd.testing.assert_frame_equal(plain.estimates["estimates"], chain.estimates["estimates"])


def test_the_clause_names_the_dearer_group_and_who_is_few():
    row = {"agent": "x", "status": "ok", "ess": 90.0, "ci_low": -0.5, "ci_high": -0.1}
    rows = pd.DataFrame(
        [
            row | {"group": "f", "other": "", "quantity": "cost", "estimate": 1.5},
            row | {"group": "m", "other": "", "quantity": "cost", "estimate": 1.8, "ess": 9.0},
            row | {"group": "f", "other": "m", "quantity": "cost", "estimate": -0.3},
            row | {"group": "", "other": "", "quantity": "equal_opportunity", "estimate": 0.1},
        ]
    )
    assert stated_by_group(rows, "x", "EUR") == (
        "By group, x costs EUR a case: f 1.5, m 1.8; m costs 0.3 (0.1 to 0.5) EUR more than f; "
        "equal opportunity gap 0.1 (-0.5 to -0.1). Effective sample size below 30: m (9)."
    )
    assert stated_by_group(no_groups().assign(agent=""), "x", "EUR") == ""


def _prepared(tmp_path, **keys):
    described = load(tmp_path, document() | keys)
    (tmp_path / "small.csv").write_text(CSV)
    return prepare(described, {"small.csv": tmp_path / "small.csv"}, 0)


def test_a_column_s_values_are_groups_and_come_back_from_the_stored_table(tmp_path):
    found = _prepared(tmp_path, groups="smoker")
    assert found.belonging.names == ("no", "yes")
    stored, catalogue = table_to_frames(found.table, found.split, belonging=found.belonging)
    again = belonging_from_frames(stored, catalogue)
    assert again.group is not None
    assert again.group.tolist() == [1, 0, 0, 1, 0, 1]
    assert again.names == ("no", "yes")
    assert belonging_from_frames(*frames(small_table(N))).group is None


def test_rows_without_a_value_are_a_group_of_their_own(tmp_path):
    assert _prepared(tmp_path, groups="scan").belonging.names == (
        "0",
        "1",
        "2",
        "3",
        "not recorded",
    )


def test_more_than_two_groups_may_be_stated_apart_by_ranges(tmp_path):
    three = [
        {"name": "young", "below": 45},
        {"name": "middle", "from": 45, "below": 65},
        {"name": "old", "from": 65},
    ]
    found = _prepared(tmp_path, groups={"column": "age", "groups": three})
    assert found.belonging.group is not None
    assert found.belonging.group.tolist() == [1, 1, 1, 2, 2, 0]


def test_the_protected_attribute_states_groups_apart_unless_the_yaml_says_otherwise(tmp_path):
    two = [{"name": "f", "values": ["no"]}, {"name": "m", "values": ["yes"]}]
    protected = {"column": "smoker", "groups": two}
    assert _prepared(tmp_path, sensitive=protected).belonging.names == ("f", "m")
    assert _prepared(tmp_path, sensitive="smoker").belonging.names == ("no", "yes")
    assert _prepared(tmp_path, sensitive=protected, groups=None).belonging.group is None


def test_unknown_columns_and_senseless_groups_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"no column 'smokr', which 'groups' names.*'smoker'"):
        _prepared(tmp_path, groups="smokr")
    lines = CSV.strip().splitlines()
    many = "\n".join([lines[0], *(f"{k},yes,1,2,{k % 2}" for k in range(30))])
    described = load(tmp_path, document() | {"groups": "age"})
    (tmp_path / "small.csv").write_text(many)
    with pytest.raises(DataError, match=r"'age', which 'groups' names, holds 30 .*allowed are 20"):
        prepare(described, {"small.csv": tmp_path / "small.csv"}, 0)
    described = load(tmp_path, document() | {"groups": "smoker"})
    with pytest.raises(DataError, match="holds 'yes' alone; two groups"):
        prepare(described, {"small.csv": tmp_path / "small.csv"}, 0)
    overlapping = [{"name": "a", "below": 65}, {"name": "b", "from": 60}]
    with pytest.raises(ConfigError, match=r"groups\.groups has ranges that overlap"):
        Dataset.read(
            document() | {"groups": {"column": "age", "groups": overlapping}}, where="small.yaml"
        )
