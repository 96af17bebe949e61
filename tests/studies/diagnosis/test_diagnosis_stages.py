"""The stages of `diagnosis` from a tiny clinic to the checked summary, the choice and figures."""

import copy
import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from frugal.acquire.bundles import FILES, read_bundle
from frugal.acquire.kinds import load_policy
from frugal.acquire.policies.fixed import FixedClassifiers
from frugal.acquire.rollouts import roll_out
from frugal.answer.stages.data import prepare_data
from frugal.config.root import effective
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.data.tables import table_from_frames
from frugal.results.files import payload_bytes
from frugal.run.config_files import laid_over
from frugal.studies.diagnosis.choice import BEST_FULL
from frugal.studies.diagnosis.frames import (
    Family,
    Solution,
    divided,
    judged_run,
    task_of,
    whole_sets,
)
from frugal.studies.diagnosis.stages.beliefs import tabulate_states, train_trees
from frugal.studies.diagnosis.stages.choosing import bundle_choice, choose_policy
from frugal.studies.diagnosis.stages.drawing import (
    draw_diagnosis_figures,
    draw_patient,
    group_of_units,
)
from frugal.studies.diagnosis.stages.fronts import roll_out_front, train_front
from frugal.studies.diagnosis.stages.tables import KEYS, check_diagnosis, summarise_diagnosis
from sklearn.metrics import f1_score

from tests.defaults import DEFAULT, shipped
from tests.oracles.diagnosis_counts import counted_scores
from tests.studies.dadi.fair_chain import loans
from tests.studies.diagnosis import diagnosis_chain
from tests.studies.diagnosis.diagnosis_chain import FRONT, NAME, PARTS, TinyRun, run
from tests.unit.stored_bundles import as_read
from tests.unit.test_agent_kinds import small

pytestmark = pytest.mark.trains

mpl.use("Agg")
RUN = (NAME, FRONT, "f1", "0")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> TinyRun:
    return TinyRun(tmp_path_factory.mktemp("clinic"))


def altered(table):
    """The table with other values and the opposite label in every test unit."""
    rows = (table["part"] == "test").to_numpy()
    rng, changed = np.random.default_rng(0), table.copy()
    for name in [c for c in table.columns if table[c].dtype == np.float64 and "=" not in c]:
        changed.loc[rows, name] = rng.normal(scale=3.0, size=rows.sum())
    changed.loc[rows, "label"] = 1 - changed.loc[rows, "label"]
    assert not changed[rows].equals(table[rows])
    return changed


def run_altered(stage, settings, wildcards, **inputs):
    made = run(stage, settings, wildcards, **inputs)
    return made | {"table": altered(made["table"])} if stage is prepare_data else made


@pytest.fixture(scope="module")
def altered_tiny(tmp_path_factory) -> TinyRun:
    """Seed 0 of the tiny study with other test units, which decide nothing that is learned."""
    seed = TinyRun._seed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnosis_chain, "run", run_altered)
        patch.setattr(TinyRun, "_seed", lambda self, s: s == "0" and seed(self, s))
        return TinyRun(tmp_path_factory.mktemp("altered"))


def test_other_test_units_leave_encoder_and_policies(tiny, altered_tiny):
    plain, other = (
        [t.encoders["0"]["encoder"], *(g["policies"].arrays for g in t.fronts["0"])]
        for t in (tiny, altered_tiny)
    )
    for one, two in zip(plain, other, strict=True):
        assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("family", [FRONT, "cascade", "baselines", "selection"])
def test_other_test_units_leave_diagnoses_of_validation_units(tiny, altered_tiny, family):
    for name in ("scores", "outcomes", "decisions"):
        plain, other = (t.runs[NAME, family, "f1", "0"][name] for t in (tiny, altered_tiny))
        for split, same in (("validation", True), ("test", False)):
            named = "split" if name == "scores" else "part"
            one, two = (f[f[named] == split].reset_index(drop=True) for f in (plain, other))
            fixed = (family, name) == ("baselines", "decisions")  # they order the same for all
            assert one.equals(two) == (same or fixed)


def test_other_test_units_leave_the_solutions_of_budgets(tiny, altered_tiny):
    columns = ["method", "score", "budget_share", "pair"]
    alone = tiny.scores[tiny.scores["seed"] == "0"]
    summary = run(summarise_diagnosis, diagnosis_chain.SHARES, {}, scores=alone)
    assert summary["budgets"][columns].equals(altered_tiny.summary["budgets"][columns])


def _checked(tiny, **changed):
    given = {"summary": tiny.summary["summary"], "hypervolumes": tiny.summary["hypervolumes"]}
    given |= {"recounted": tiny.recounted} | changed
    return run(check_diagnosis, {"rows": tiny.study.wanted_rows()}, {}, **given)


def test_rows_that_are_completed_when_requested_for_train_the_same_policies(tiny):
    """Where those of all sets of panels would take too much memory."""
    wild, given = {"seed": "0"}, tiny.given["0"]
    encoder = {"encoder": tiny.encoders["0"]["encoder"]}
    made = run(tabulate_states, {"memory_gib": 1e-9}, wild, **tiny.data, **encoder)["states"]
    assert {name.partition(".")[0] for name in made} <= {"encoder"}
    states = {"states": StoredArrays(made, "states.safetensors")}
    settings = tiny.study.training_settings(FRONT, "f1", 0)
    front = run(train_front, settings, wild | {"group": "0"}, **given | states)
    for name, array in tiny.fronts["0"][0]["policies"].arrays.items():
        np.testing.assert_array_equal(front["policies"].arrays[name], array)


def test_every_solution_is_one_row_of_the_summary(tiny):
    summary = tiny.summary["summary"]
    assert not summary.duplicated(["dataset", "method", "criterion", "seed", "pair"]).any()
    assert list(summary.columns[:5]) == KEYS[:5]
    others = {"baselines", "selection", "bayes", *tiny.study.agent_families()}
    assert set(summary["family"]) == {FRONT, *others}
    front = summary[(summary["method"] == FRONT) & (summary["seed"] == 0)]
    assert sorted(zip(front["lambda"], front["rho"], strict=True)) == [
        (2.0, -0.2),
        (2.0, -1 / 60),
        (8.0, -0.2),
        (8.0, -1 / 60),
    ]
    assert (front["n"] == PARTS["test"]).all()


def test_checks_pass_and_find_what_was_changed(tiny):
    assert len(_checked(tiny)["checks"]["passed"]) >= 9
    summary = tiny.summary["summary"]
    dominated = summary.assign(on_front=True)
    with pytest.raises(DataError, match="no dominated point"):
        _checked(tiny, summary=dominated)
    with pytest.raises(DataError, match="F1 from raw counts"):
        _checked(tiny, summary=summary.assign(f1=summary["f1"] + 0.001))
    with pytest.raises(DataError, match=r"AM from raw counts .*validation units"):
        _checked(tiny, summary=summary.assign(validation_am=summary["validation_am"] + 0.001))
    lost = tiny.recounted.assign(units=tiny.recounted["units"] - 1)
    on_validation = tiny.recounted["split"] == "validation"
    with pytest.raises(DataError, match=r"every unit has its decisions \(validation units"):
        _checked(tiny, recounted=lost.where(on_validation, tiny.recounted))
    with pytest.raises(DataError, match="log of decisions"):
        _checked(tiny, summary=summary.assign(cost=summary["cost"] * 1.01))
    areas = tiny.summary["hypervolumes"]
    with pytest.raises(DataError, match="rectangles"):
        _checked(tiny, hypervolumes=areas.assign(hypervolume=areas["hypervolume"] + 0.01))
    with pytest.raises(DataError, match="lacks 1 results"):
        _checked(tiny, summary=summary[(summary["method"] != "greedy") | (summary["seed"] == 0)])


def test_f1_and_cost_follow_from_the_rows_of_units(tiny):
    frames = tiny.runs[RUN]
    rows = tiny.summary["summary"].query("method == @FRONT and seed == 0")
    row = rows.loc[rows["f1"].idxmax()]
    assert row["f1"] > 0  # else precision is not defined
    here = f"member == {row['pair']} and part == 'test'"
    units = frames["outcomes"].query(here)
    columns = (units[c].tolist() for c in ("label", "verdict", "probability"))
    for name, counted in counted_scores(*columns).items():
        assert row[name] == pytest.approx(counted, abs=1e-12), name
    log = frames["decisions"].query(here)
    assert row["cost"] == pytest.approx(log["cost"].sum() / len(units))
    ends = log[log["action"] == 6]
    assert sorted(ends["row_id"]) == sorted(units["row_id"])
    assert log["belief"].between(0, 1).all()


def test_each_seed_has_units_of_its_own_in_parts_of_the_same_size(tiny):
    parts = {}
    for seed in ("0", "1", "2"):
        streams = Streams(7, "any", {"dataset": NAME, "seed": seed})
        data, part = divided(tiny.data["table"], tiny.data["catalogue"], streams)
        parts[seed] = part
        assert {name: int((part == name).sum()) for name in PARTS} == PARTS
        share = data.label.mean()
        assert data.label[part == "test"].mean() == pytest.approx(share, abs=0.02)
    assert (parts["0"] == tiny.data["table"]["part"].to_numpy()).all()
    assert (parts["1"] != parts["2"]).any()
    assert (parts["1"] != parts["0"]).any()
    again = divided(
        tiny.data["table"],
        tiny.data["catalogue"],
        Streams(7, "other", {"dataset": NAME, "seed": "1", "family": "x"}),
    )
    assert (again[1] == parts["1"]).all()


def test_no_unit_of_a_front_was_trained_on(tiny):
    table = tiny.data["table"]
    trained = set(
        table.loc[table["part"].isin(["encoder", "agent", "encoder_validation"]), "row_id"]
    )
    judged = tiny.runs[RUN]["outcomes"]
    assert not trained & set(judged["row_id"])
    test = set(judged.loc[judged["part"] == "test", "row_id"])
    assert test == set(table.loc[table["part"] == "test", "row_id"])


def test_training_is_the_same_twice_and_names_its_pairs(tiny):
    study, given = tiny.study, tiny.given["0"]
    wild = {"seed": "0", "group": "1"}
    again = run(train_front, study.training_settings(FRONT, "f1", 1), wild, **given)
    first = tiny.fronts["0"][1]
    pd.testing.assert_frame_equal(again["curves"], first["curves"])
    assert again["policies"].header == first["policies"].header
    arrays = first["policies"].arrays
    assert all(np.array_equal(again["policies"].arrays[k], v) for k, v in arrays.items())
    assert list(first["curves"]["pair"].unique()) == study.groups()[1]
    kept = first["curves"].query("kept and split == 'validation'")
    best = first["curves"].query("split == 'validation' and iteration > 0").groupby("pair")["f1"]
    assert kept.set_index("pair")["f1"].to_dict() == pytest.approx(best.max().to_dict())


def test_a_front_may_believe_by_a_boosted_model(tiny):
    """Kept completed rows and what a policy completes itself lead to the same episodes."""
    study, wild = tiny.study, {"seed": "0"}
    own = study.block["methods"]["sm_ddpo_boosted"]["classifier"]
    own["boosting"] |= {"trees": 20, "min_leaf": 10}
    settings = study.training_settings("sm_ddpo_boosted", "f1", 0)
    front = run(train_front, settings, wild | {"group": "0"}, **tiny.given["0"])
    stored, pairs = as_read(front["policies"]), [settings["pairs"]]
    given = tiny.data | {"states": tiny.given["0"]["states"]}
    shown = {"groups": pairs, "method": "sm_ddpo_boosted"}
    made = run(roll_out_front, shown, wild, policies_0=stored, **given)
    policy, _ = load_policy(stored)
    data, part = table_from_frames(tiny.data["table"], tiny.data["catalogue"])
    world = task_of(data, terminals=2).take(part == "test")
    uniforms = np.zeros((len(world), world.panels + 1))
    episodes = roll_out(policy, world, uniforms=uniforms, beliefs=True)
    outcomes = made["outcomes"].query("part == 'test' and member == 0")
    assert episodes.verdict is not None
    np.testing.assert_array_equal(outcomes["verdict"], episodes.verdict[0].argmax(axis=1))
    np.testing.assert_allclose(outcomes["acquisition_cost"], episodes.cost[0])


@pytest.mark.parametrize("kind", ["dadi", "dqn", "sm_ddpo", "random"])
def test_an_agent_without_a_front_is_one_policy_judged_next_to_the_fronts(tiny, kind, tmp_path):
    block = copy.deepcopy(tiny.study.block)
    agents = effective(laid_over(DEFAULT, shipped("config/every_agent.yaml")))["afape"]["agents"]
    agent = next(one for one in agents.values() if one and one["kind"] == kind)
    block["agents"][kind] = small(agent)
    settings = dataclasses.replace(tiny.study, block=block).agent_settings(kind, "f1")
    wild = {"seed": "0", "trees": kind}
    data = tiny.data
    if kind == "dadi":  # it tells groups apart, and takes no column that two panels have
        table, catalogue = loans()
        parts = np.resize(["encoder", "agent", "validation", "test"], len(table))
        data = {"table": table.assign(part=parts), "catalogue": catalogue}
    made = run(train_trees, settings, wild, **data)
    assert made["policies"].header["kind"] == kind
    assert made["pooled"].empty
    scores, outcomes = made["scores"], made["outcomes"]
    assert len(scores) == len(scores["split"].unique()) == 2
    tested = outcomes.query("part == 'test'")
    row = scores.query("split == 'test'").iloc[0]
    assert row["f1"] == pytest.approx(f1_score(tested["label"], tested["verdict"]))
    assert row["cost"] == pytest.approx(tested["acquisition_cost"].mean())
    pd.testing.assert_frame_equal(run(train_trees, settings, wild, **data)["scores"], scores)
    if kind == "dqn":  # it only stops: the bundle has the classifier that it was judged with
        stored = as_read(made["policies"])
        choice = {"family": kind, "policy": {"file": stored.source, "position": 0}}
        paths = {"description": tiny.path, "policies_0": stored}
        for name, payload in run(bundle_choice, {}, wild, choice=choice, **paths, **data).items():
            path = tmp_path / FILES[name]
            path.write_bytes(payload_bytes(path, payload))
        told = read_bundle(tmp_path)
        assert told.classifier is not None
        assert told.policy.members == 1


def test_other_groups_than_the_settings_name_are_refused(tiny):
    with pytest.raises(DataError, match="2 groups of policies, 1 were given"):
        run(
            roll_out_front,
            tiny.study.rollout_settings(FRONT),
            {"seed": "0"},
            **tiny.data,
            states=tiny.given["0"]["states"],
            policies_0=as_read(tiny.fronts["0"][0]["policies"]),
        )


def test_states_of_another_encoder_or_table_are_refused(tiny):
    study, wild = tiny.study, {"seed": "0", "group": "0"}
    settings, given = study.training_settings(FRONT, "f1", 0), tiny.given["0"]
    name = next(iter(given["encoder"]))
    other = given["encoder"] | {name: given["encoder"][name] + 1}
    with pytest.raises(DataError, match="made by another encoder than that of input 'encoder'"):
        run(train_front, settings, wild, **given | {"encoder": other})
    policies = {f"policies_{g}": as_read(f["policies"]) for g, f in enumerate(tiny.fronts["0"])}
    states = StoredArrays(given["states"] | {f"encoder.{name}": other[name]}, "s")
    with pytest.raises(DataError, match="made by another encoder than that of the stored policy"):
        run(
            roll_out_front,
            study.rollout_settings(FRONT),
            {"seed": "0"},
            **tiny.data,
            states=states,
            **policies,
        )
    cut = StoredArrays(given["states"] | {"states.agent": given["states"]["states.agent"][1:]}, "s")
    with pytest.raises(DataError, match=r"^s: the stored table of states has an array 'agent'"):
        run(train_front, settings, wild, **given | {"states": cut})


def test_the_exact_rule_is_not_beaten_by_classifiers_on_the_same_panels(tiny):
    summary = tiny.summary["summary"].query("seed == 0")
    exact = summary[(summary["method"] == "bayes_static") & (summary["setting"] == "all panels")]
    full = summary[summary["method"] == "logistic_full"]
    assert full["cost"].iloc[0] == pytest.approx(exact["cost"].iloc[0])
    assert full["auroc"].iloc[0] <= exact["auroc"].iloc[0] + 0.02  # 160 units


def test_budgets_hold_on_validation_and_name_the_best_full_baseline(tiny):
    budgets = tiny.summary["budgets"]
    assert (budgets["validation_cost"] <= budgets["budget"] * (1 + 1e-6)).all()
    assert BEST_FULL in set(budgets["method"])
    front = budgets[(budgets["method"] == FRONT) & (budgets["seed"] == 0)]
    assert front.sort_values("budget_share")["validation_f1"].is_monotonic_increasing


def test_classifiers_without_a_panel_read_the_free_columns_and_are_next_to_every_choice(tiny):
    runs = {name: tiny.runs[NAME, name, "f1", "0"] for name in (FRONT, "baselines")}
    free = runs["baselines"]["scores"].query("method == 'logistic_free'")
    assert (free["cost"] == 0).all()
    assert (free["setting"] == "columns known at the start").all()
    assert free["auroc"].min() > 0.55
    given = {
        name: pd.concat([frame[name].assign(family=run) for run, frame in runs.items()])
        for name in ("scores", "outcomes")
    }
    settings = _settings(400.0) | {"positive": "ill"}
    found = run(choose_policy, settings, {"seed": "0", "family": "all"}, **given)
    told = {one["method"]: one for one in found["choice"]["without_panels"]}["logistic_free"]
    test = free.query("split == 'test'")["f1"].iloc[0]
    assert told["expected_on_test"]["f1"]["value"] == test
    reached = found["choice"]["expected_on_test"]["f1"]["value"]
    assert told["less"] == pytest.approx(reached - test)
    assert told["less_low"] < told["less"] < told["less_high"]
    sentence = found["sentence"].decode()
    assert "Positive is 'ill' (" in sentence
    assert "At price 0 " in sentence
    nothing = run(choose_policy, _settings(0), {"seed": "0", "family": "all"}, **given)["choice"]
    assert (nothing["method"], nothing["expected_on_test"]["cost"]["value"]) == ("logistic_free", 0)
    assert nothing["without_panels"][0]["less"] is None


def _settings(budget):
    return {"budget": budget, "score": "f1", "cost_unit": "USD", "positive": "ill", "resamples": 50}


def _chosen(tiny, budget):
    settings = _settings(budget)
    settings |= {"policies": {FRONT: {str(k): {"file": "f", "position": k} for k in range(4)}}}
    frames = tiny.runs[RUN]
    given = {name: frames[name] for name in ("scores", "outcomes")}
    return run(choose_policy, settings, {"seed": "0", "family": FRONT}, **given)


def test_a_budget_is_answered_with_a_policy_and_intervals(tiny):
    found = _chosen(tiny, 400.0)
    choice, scores = found["choice"], tiny.runs[RUN]["scores"]
    seen = scores[(scores["split"] == "validation") & (scores["cost"] <= 400)]
    assert choice["chosen_by"]["value"] == seen["f1"].max()
    expected = choice["expected_on_test"]["f1"]
    row = scores[(scores["split"] == "test") & (scores["pair"] == choice["pair"])].iloc[0]
    assert expected["value"] == row["f1"]
    assert expected["low"] <= expected["value"] <= expected["high"]
    assert choice["policy"]["position"] == choice["pair"]
    assert found["sentence"].decode().startswith("Within 400 USD: policy ")


def test_a_budget_that_nothing_fits_is_one_sentence(tiny):
    frames = tiny.runs[RUN]
    dear = frames["scores"].assign(cost=frames["scores"]["cost"] + 10)
    settings = _settings(5)
    with pytest.raises(ConfigError, match="no solution costs at most 5 on average; the cheapest"):
        run(choose_policy, settings, {"seed": "0"}, scores=dear, outcomes=frames["outcomes"])
    with pytest.raises(ConfigError, match="needs the setting 'resamples'"):
        run(
            choose_policy,
            {k: v for k, v in settings.items() if k != "resamples"},
            {},
            scores=dear,
            outcomes=frames["outcomes"],
        )


def test_a_patient_is_drawn_and_another_refused(tiny):
    frames, table = tiny.runs[RUN], tiny.data["table"]
    given = tiny.data | {name: frames[name] for name in ("scores", "outcomes", "decisions")}
    row_id = int(table.loc[table["part"] == "test", "row_id"].iloc[0])
    settings = {"budget": 427.0, "score": "f1", "row_id": row_id}
    drawn = run(draw_patient, settings, {"seed": "0"}, **given)
    steps = drawn["patient_table"]
    assert steps["panel"].iloc[0] == "known at the start"
    assert steps["paid"].is_monotonic_increasing
    outside = int(table.loc[table["part"] == "agent", "row_id"].iloc[0])
    with pytest.raises(DataError, match=f"row_id {outside} is not among"):
        run(draw_patient, settings | {"row_id": outside}, {"seed": "0"}, **given)


def test_beliefs_are_stated_at_every_decision_and_the_last_is_the_outcome(tiny):
    frames = tiny.runs[NAME, "selection", "f1", "0"]
    log, units = frames["decisions"], frames["outcomes"]
    assert log["belief"].between(0, 1).all()
    keys = ["policy", "member", "part", "row_id"]
    last = log.drop_duplicates(keys, keep="last").astype({"policy": str, "part": str})
    both = last.merge(units.astype({"policy": str, "part": str}), on=keys, validate="one_to_one")
    assert len(both) == len(units)
    assert np.allclose(both["belief_x"], both["probability_y"], atol=1e-6)
    assert np.array_equal(both["belief_x"], both["belief_y"])
    many = log.groupby(keys, observed=True)["belief"].nunique()
    assert many.max() > 1  # it moves


def test_figures_are_drawn_from_the_same_tables(tiny):
    frames = tiny.runs[RUN]
    curves = pd.concat([front["curves"] for front in tiny.fronts["0"]])
    given = tiny.data | {name: frames[name] for name in ("scores", "outcomes", "decisions")}
    settings = dict(tiny.study.figure_settings())
    summary = tiny.summary["summary"]
    drawn = run(draw_diagnosis_figures, settings, {}, summary=summary, curves=curves, **given)
    assert len(drawn) == 20
    front = drawn["diagnosis_front_table"]
    assert set(front["seed"]) == {0}
    assert set(front["split"]) == {"test"}
    shares = drawn["diagnosis_panels_table"]
    assert shares.groupby(["group", "label"])["n"].first().sum() == PARTS["test"]
    assert shares["share"].between(0, 1).all()


def _table(costs, columns):
    panels = [Panel("free", ("a",), 0.0, True)]
    panels += [
        Panel(f"p{k}", tuple(c), cost, False)
        for k, (cost, c) in enumerate(zip(costs, columns, strict=True))
    ]
    names = tuple("abcde")
    values = np.zeros((2, 5))
    return Table(
        np.arange(2),
        values,
        names,
        (),
        np.array([0, 1]),
        ("n", "p"),
        tuple(panels),
        np.zeros((2, 2)),
    )


def test_groups_are_levels_or_halves_and_a_missing_value_is_unknown():
    table = _table([1.0], ["bcde"])
    values = np.array([[1.0, 2.0, 0.0, 1.0, np.nan], [3.0, 0.0, 0.0, 0.0, 1.0]])
    named = dataclasses.replace(
        table,
        values=values,
        columns=("age", "x", "sex=f", "sex=m", "z"),
        panels=(Panel("all", ("age", "x", "sex=f", "sex=m", "z"), 1.0, False),),
    )
    assert group_of_units(named, "sex").tolist() == ["m", "unknown"]
    assert group_of_units(named, "age").tolist() == ["age up to 2", "age above 2"]
    assert group_of_units(named, "z").tolist() == ["unknown", "z up to 1"]
    with pytest.raises(DataError, match="the table has age, x"):
        group_of_units(named, "weight")


def test_full_observation_leaves_out_panels_inside_others():
    inside = _table([3.0, 5.0, 1.0], ["bc", "bcd", "e"])
    np.testing.assert_array_equal(whole_sets(inside), [False, True, True])
    equal = _table([3.0, 2.0, 2.0], ["bc", "bc", "de"])
    np.testing.assert_array_equal(whole_sets(equal), [False, True, True])
    beside_free = _table([3.0, 5.0, 1.0], ["ac", "bcd", "e"])  # "a" is free
    np.testing.assert_array_equal(whole_sets(beside_free), [False, True, True])


def test_log_of_fixed_panels_orders_what_a_unit_can_have():
    """Two ways, two units: one unit's first panel has no value, so that it cannot be had."""
    data = _table([2.0, 3.0, 5.0], ["bc", "d", "e"])
    values = np.array([[0.0, 1, 1, 1, 1], [0.0, np.nan, np.nan, 1, 1]])
    data = dataclasses.replace(
        data, values=np.repeat(values, 2, axis=0), row_id=np.arange(4), label=np.array([0, 1, 1, 0])
    )
    part = np.array(["validation", "test", "validation", "test"])
    sets = np.array([[True, False, True], [False, False, False]])
    shown = []

    def share(visible: np.ndarray) -> np.ndarray:
        shown.append(visible)
        return np.nan_to_num(visible[:, 1]) * 0.4

    policies = FixedClassifiers(sets, [share, share], np.array([0.4, 0.0]))
    solutions = [Solution("one", k, np.nan, np.nan, "") for k in range(2)]
    streams = Streams(7, "any", {"dataset": NAME, "seed": "0"})
    family = Family(solutions, policies, cuts=policies.threshold)
    frames = judged_run([family], data, part, streams)
    log = frames["decisions"].query("part == 'test'")
    columns = ["member", "row_id", "step", "action", "cost", "probability"]
    assert list(log[columns].itertuples(index=False, name=None)) == [
        (0, 1, 0, 0, 2.0, 1.0),
        (0, 1, 1, 2, 5.0, 1.0),
        (0, 1, 2, 3, 0.0, 1.0),
        (0, 3, 0, 2, 5.0, 1.0),
        (0, 3, 1, 3, 0.0, 1.0),
        (1, 1, 0, 3, 0.0, 1.0),
        (1, 3, 0, 3, 0.0, 1.0),
    ]
    units = frames["outcomes"].query("part == 'test'")
    columns = ["member", "row_id", "label", "verdict", "acquisition_cost"]
    assert list(units[columns].itertuples(index=False, name=None)) == [
        (0, 1, 1, 1, 7.0),
        (0, 3, 0, 0, 5.0),
        (1, 1, 1, 1, 0.0),
        (1, 3, 0, 1, 0.0),
    ]
    assert np.isnan(shown[-1][:, 1:]).all()  # who orders nothing is shown the free column alone
