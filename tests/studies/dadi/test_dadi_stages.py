"""The stages of dadi on a small table: files in, files out, the same bytes, killed or not."""

import numpy as np
import pandas as pd
import pytest
from frugal.acquire.bundles import FILES, read_bundle
from frugal.core.columns import describe_columns
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.data.cases import Cases
from frugal.data.tables import table_from_frames
from frugal.judge.fairness import contingency, demographic_disparity
from frugal.results.files import payload_bytes
from frugal.run.advise import advise
from frugal.studies.dadi import columns
from frugal.studies.dadi.fair_scores import fairness_row, least_disparities, with_front
from frugal.studies.dadi.frames import decision_cut, fold_of
from frugal.studies.dadi.spec import FAMILIES
from frugal.studies.dadi.stages.agents import bundle_dadi, train_dadi
from frugal.studies.dadi.stages.tables import check_dadi, write_dadi_answer
from sklearn.metrics import roc_auc_score

from tests.defaults import DEFAULT
from tests.studies.dadi.fair_chain import (
    FOLDS,
    GAMMAS,
    ROOT,
    Notebook,
    given,
    loans,
    run_fold,
    study,
    summarised,
)
from tests.studies.diagnosis.diagnosis_chain import tiny_block
from tests.unit.stored_bundles import as_read
from tests.unit.test_agent_kinds import small

pytestmark = pytest.mark.trains

CHECKED = ("summary", "means", "selection", "least_disparity")


@pytest.fixture(scope="module")
def stored():
    frame, catalogue = loans()
    return {"table": frame, "catalogue": catalogue}


@pytest.fixture(scope="module")
def folds(stored):
    return {fold: run_fold(study(), fold, stored) for fold in FOLDS}


@pytest.fixture(scope="module")
def summary(folds):
    return summarised(folds)


def test_a_killed_training_ends_with_the_same_arrays(stored, folds):
    settings = study().train_settings("loans")
    notebook = Notebook(killed_after=3)
    with pytest.raises(KeyboardInterrupt):
        train_dadi(**stored, context=given(train_dadi, 0, settings), checkpoint=notebook)
    assert notebook.state is not None
    assert int(notebook.state["iteration"]) == 6
    notebook.killed_after = 10**9
    again = train_dadi(**stored, context=given(train_dadi, 0, settings), checkpoint=notebook)
    assert again["weights"].header == folds[0]["weights"].header
    for name, array in folds[0]["weights"].arrays.items():
        np.testing.assert_array_equal(again["weights"].arrays[name], array)
    pd.testing.assert_frame_equal(again["curves"], folds[0]["curves"])


def test_decisions_and_outcomes_state_the_same(folds):
    decisions, outcomes = folds[0]["decisions"], folds[0]["outcomes"]
    test = outcomes[outcomes["part"] == "test"]
    acquired = test.filter(like="acquired:")
    stops = acquired.shape[1]
    counted = decisions[decisions["action"] < stops].groupby(["member", "row_id"]).size()
    per_unit = counted.reindex(
        pd.MultiIndex.from_frame(test[["member", "row_id"]]), fill_value=0
    ).to_numpy()
    np.testing.assert_array_equal(per_unit, acquired.sum(axis=1))
    np.testing.assert_allclose(
        decisions.groupby("member")["cost"].sum(), test.groupby("member")["acquisition_cost"].sum()
    )
    assert (test["gamma"] == np.array(GAMMAS)[test["member"]]).all()
    assert set(decisions["member"]) == set(range(len(GAMMAS)))
    assert (decisions["probability"] == 1).all()
    assert (test["verdict"] == (test["probability"] >= test["decision_threshold"])).all()


def test_each_unit_stops_or_has_everything_and_never_repeats_a_panel(folds):
    decisions = folds[0]["decisions"]
    panels = folds[0]["outcomes"].filter(like="acquired:").shape[1]
    bought = decisions[decisions["action"] < panels]
    assert not bought.duplicated(["member", "row_id", "action"]).any()
    last = decisions.groupby(["member", "row_id"])["action"].last()
    assert (last == panels).all()


def test_scores_follow_from_the_rows(folds):
    for method, units in folds[0]["predictions"].groupby("method"):
        row = folds[0]["scores"].set_index("method").loc[str(method)]
        counts = contingency(*(units[c].to_numpy() for c in ("label", "sensitive", "decision")))
        assert row["disparity"] == pytest.approx(float(demographic_disparity(counts)))
        assert row["features_acquired"] == pytest.approx(units["features_acquired"].mean())


def test_summary_has_the_public_columns_first_and_a_row_for_each_result(summary):
    table = summary["summary"]
    public = ["dataset", "method", "gamma", "fold", "auc", "disparity", "features_acquired", "cost"]
    assert list(table.columns[:8]) == public
    assert not table.duplicated(["dataset", "method", "gamma", "fold"]).any()
    checks = check_dadi(
        **{name: summary[name] for name in CHECKED},
        context=Context(
            {"rows": study().wanted_rows(), **study().summary_settings()},
            Streams(1, "check_dadi", {}),
        ),
    )["checks"]
    assert checks["rows"] == len(table)


def test_a_lost_row_a_gap_out_of_range_and_a_fairer_solution_stop_the_run(summary):
    def check(**tables):
        check_dadi(
            **{name: summary[name] for name in CHECKED} | tables,
            context=Context(
                {"rows": study().wanted_rows(), **study().summary_settings()},
                Streams(1, "check_dadi", {}),
            ),
        )

    table = summary["summary"]
    with pytest.raises(DataError, match="lacks or adds 1 rows"):
        check(summary=table.iloc[1:])
    with pytest.raises(DataError, match="a gap is a share"):
        check(summary=table.assign(disparity=1.5))
    least = summary["least_disparity"]
    with pytest.raises(DataError, match="fairer than the one that is named"):
        check(least_disparity=least.assign(disparity=least["disparity"] + 0.1))


def test_a_coin_that_is_not_between_its_sides_stops_the_run(summary):
    means = summary["means"]
    accuracy = np.sort(means.loc[means["on_front"], "auc"])  # with all methods as one family
    reference = means.loc[means["method"] == "full_features", "auc"].item()
    families = dict.fromkeys(set(means["method"]) - {"full_features"}, "any")
    settings = {"rows": study().wanted_rows(), "families": families, "reference": "full_features"}
    settings["auc_slack"] = reference - accuracy[-2:].mean()
    tables = {name: summary[name] for name in CHECKED}
    tables["least_disparity"] = least_disparities(
        summary["summary"],
        families,
        reference="full_features",
        auc_slack=settings["auc_slack"],
        level=0.95,
    )
    context = Context(settings, Streams(1, "check_dadi", {}))
    assert tables["least_disparity"]["coin_share"].notna().all()
    check_dadi(**tables, context=context)
    for moved in ("coin_disparity", "coin_share", "coin_cut", "coin_gamma", "coin_other_method"):
        spoilt = {"coin_gamma": 0.123, "coin_other_method": "random_99"}.get(moved)
        table = tables["least_disparity"]
        wrong = table.assign(**{moved: table[moved] * 0.9 if spoilt is None else spoilt})
        with pytest.raises(DataError, match="a coin is the one that the means give"):
            check_dadi(**(tables | {"least_disparity": wrong}), context=context)
    none = table.assign(coin_share=np.nan)
    with pytest.raises(DataError, match="a coin is the one that the means give"):
        check_dadi(**(tables | {"least_disparity": none}), context=context)


def test_a_coin_of_two_agents_saves_what_both_save_fold_by_fold():
    """By hand: AUC 0.9 − 0.02 lies at 0.8 of the way from 0.8 to 0.9; folds save 0.16 and 0.26."""
    rows = [("full", np.nan, f, 0.9, d) for f, d in ((0, 0.5), (1, 0.6))]
    rows += [("dadi", 0.5, f, 0.8, 0.1) for f in (0, 1)]
    rows += [("dadi", 0.6, 0, 0.88, 0.4), ("dadi", 0.6, 1, 0.92, 0.4)]
    table = pd.DataFrame(rows, columns=["method", "gamma", "fold", "auc", "disparity"])
    table = table.assign(dataset="d", features_acquired=1.0, cost=1.0, degenerate=False)
    (row,) = least_disparities(
        table, {"dadi": "dadi"}, reference="full", auc_slack=0.02, level=0.95
    ).to_dict("records")
    assert (row["gamma"], row["coin_gamma"], row["coin_other_gamma"]) == (0.6, 0.6, 0.5)
    np.testing.assert_allclose(
        [row["coin_share"], row["coin_disparity"], row["coin_cut"]], [0.8, 0.34, 0.21]
    )
    half = 12.706205 * 0.05  # Student's 0.975 quantile at one degree of freedom, standard error
    np.testing.assert_allclose(
        [row["coin_cut_low"], row["coin_cut_high"]], [0.21 - half, 0.21 + half], rtol=1e-6
    )


def test_a_solution_without_a_score_in_one_fold_is_never_the_fairest():
    """By hand: one of two agents has no AUC in fold 0, the other cuts 0.1 in fold 2, 0.3 in 1."""
    rows = [("full", np.nan, f, 0.9, 0.5) for f in (0, 1, 2)]
    rows += [("dadi", 0.0, 0, np.nan, 0.0), ("dadi", 0.0, 1, 0.9, 0.0)]
    rows += [("dadi", 0.5, 2, 0.9, 0.4), ("dadi", 0.5, 1, 0.9, 0.2)]
    table = pd.DataFrame(rows, columns=["method", "gamma", "fold", "auc", "disparity"])
    table = table.assign(dataset="d", features_acquired=1.0, cost=1.0, degenerate=False)
    table.loc[table["method"] == "full", "disparity"] = [9.0, 0.5, 0.5]
    (row,) = least_disparities(
        table, {"dadi": "dadi"}, reference="full", auc_slack=0.02, level=0.95
    ).to_dict("records")
    assert (row["method"], row["gamma"], row["folds"]) == ("dadi", 0.5, 2)
    np.testing.assert_allclose([row["disparity"], row["disparity_cut"]], [0.3, 0.2])


def test_thresholds_come_from_validation_rows_of_which_as_many_are_decided_as_have_the_label(
    stored, folds
):
    fold = fold_of(
        stored["table"],
        stored["catalogue"],
        study().train_settings("loans")["design"],
        Streams(1, "roll_out_dadi", {"dataset": "loans", "fold": "0"}),
    )
    share = fold.label[fold.part != "test"].mean()
    probability = np.random.default_rng(0).random(200)
    cut = decision_cut("label_share", probability, fold)
    assert (probability >= cut).sum() == round(200 * share)
    assert decision_cut(0.5, probability, fold) == 0.5
    assert decision_cut("label_share", np.full(9, 0.2), fold) == 0.2  # all alike, and named so
    with pytest.raises(DataError, match="no row validates; allowed are a number"):
        decision_cut("label_share", np.zeros(0), fold)
    scores = folds[0]["scores"]
    assert scores["decision_threshold"].notna().all()
    outcomes = folds[0]["outcomes"].groupby("gamma")["decision_threshold"].first()
    agents = scores[scores["method"] == "dadi"].set_index("gamma")["decision_threshold"]
    pd.testing.assert_series_equal(agents, outcomes)


def test_who_decides_nearly_all_alike_is_neither_fairest_nor_on_the_front():
    label, group = np.arange(400) % 4 == 0, np.arange(400) % 2
    none, few = np.zeros(400, dtype=bool), np.arange(400) % 100 == 0
    rows = [
        fairness_row(
            label.astype(int),
            group,
            label * 0.5,
            said,
            level=0.95,
            resamples=20,
            rng=np.random.default_rng(0),
        )
        for said in (none, few, ~none, label)
    ]
    assert [row["degenerate"] for row in rows] == [True, True, True, False]
    keys = {"dataset": "d", "fold": 0, "features_acquired": 1.0, "cost": 1.0}
    keys |= {"adversary_auc": 0.5, "audit_auc": 0.5}
    methods = [("dadi", 0.0), ("dadi", 0.5), ("dadi", 1.0), ("full", np.nan)]
    table = pd.DataFrame(
        [row | keys | {"method": m, "gamma": g} for row, (m, g) in zip(rows, methods, strict=True)]
    )
    table.loc[2, ["degenerate", "disparity"]] = [False, 0.2]
    (row,) = least_disparities(
        table, {"dadi": "dadi"}, reference="full", auc_slack=0.02, level=0.95
    ).to_dict("records")
    assert (row["gamma"], row["solutions"]) == (1.0, 1)
    assert with_front(table)["on_front"].tolist() == [False, False, True, False]


def _answer(summary, catalogue, tmp_path, **changed):
    tables = {name: summary[name] for name in ("summary", "means", "least_disparity")}
    (tmp_path / "p.png").write_bytes(b"picture")
    return write_dadi_answer(
        **tables | changed,
        catalogue=catalogue,
        picture=tmp_path / "p.png",
        context=Context(
            study().answer_settings("loans"), Streams(1, "write_dadi_answer", {"dataset": "loans"})
        ),
    )


def test_the_run_ends_with_an_answer_and_nobody_flagged_is_none(summary, stored, tmp_path):
    catalogue = stored["catalogue"] | {"report": {"title": "Loans", "cost_unit": "EUR"}}
    made = _answer(summary, catalogue, tmp_path)
    text, page = made["sentence"].decode(), made["page"].decode()
    assert "the agent of γ = " in text.splitlines()[0]
    assert "instead of" in text.splitlines()[0]
    assert "← this one" in text
    assert "Effective sample size below" not in text
    shares = {"group_share": {"a": 0.98, "b": 0.001}}
    small = catalogue | {"report": catalogue["report"] | shares}
    small_text = _answer(summary, small, tmp_path)["sentence"].decode()
    assert "Effective sample size below 30: b (" in small_text.replace("\n", " ")
    assert "data:image/png;base64,cGljdHVyZQ==" in page
    agents = summary["means"]["method"] == "dadi"
    spoilt = summary["means"].assign(degenerate=agents, positive_share=0.0)
    none = summary["least_disparity"].assign(gamma=np.nan)
    text = _answer(summary, catalogue, tmp_path, means=spoilt, least_disparity=none)["sentence"]
    assert text.decode().startswith(
        "No answer: every agent gives nearly all cases the same decision"
    )
    assert (
        f"{len(GAMMAS)} of {len(spoilt)} methods give nearly all cases the same decision"
        in text.decode()
    )


def test_the_bundle_decides_about_new_cases_as_the_study_did(summary, stored, folds, tmp_path):
    catalogue = stored["catalogue"] | {"report": {"title": "Loans", "cost_unit": "EUR"}}
    choice = _answer(summary, catalogue, tmp_path)["choice"]
    made = bundle_dadi(
        choice=choice,
        table=stored["table"],
        catalogue=catalogue,
        description=ROOT / "config/datasets/telling_loans.yaml",
        weights=as_read(folds[choice["fold"]]["weights"]),
        context=Context(
            study().bundle_settings("loans"), Streams(1, "bundle_dadi", {"dataset": "loans"})
        ),
    )
    for name, payload in made.items():
        path = tmp_path / FILES[name]
        path.write_bytes(payload_bytes(path, payload))
    bundle = read_bundle(tmp_path)
    data, _ = table_from_frames(stored["table"], catalogue)
    units = folds[choice["fold"]]["outcomes"].query("part == 'test' and gamma == @choice['gamma']")
    rows = np.searchsorted(data.row_id, units["row_id"].to_numpy())
    seen = np.ones((len(rows), len(data.actions)), dtype=bool)
    cases = Cases("row", [str(row) for row in rows], data.values[rows], seen, [""] * len(rows))
    advice = advise(bundle, cases, [], simulate=True, rollout=None)
    last = advice.action == len(data.actions)
    assert (advice.label[last] == units["verdict"].to_numpy()).all()
    np.testing.assert_allclose(
        advice.probability[last][:, 1], units["probability"].to_numpy(), atol=1e-6
    )
    wanted = units.filter(like="acquired:").to_numpy(dtype=bool)
    np.testing.assert_array_equal(advice.acquired[last], wanted)


def test_the_fairest_of_a_family_is_nearly_as_accurate_as_who_reads_all(summary):
    table, compared = summary["least_disparity"], study().summary_settings()
    families = ["dadi", *(name for name in FAMILIES if name in compared["families"].values())]
    assert sorted(table["family"]) == sorted(families)
    assert "full_features" not in set(table["family"])
    rows = summary["summary"]
    for _, row in table.dropna(subset="method").iterrows():
        whole = rows[rows["method"] == "full_features"].set_index("fold")
        mine = rows[
            (rows["method"] == row["method"])
            & (rows["gamma"].fillna(-1) == (-1 if np.isnan(row["gamma"]) else row["gamma"]))
        ].set_index("fold")
        assert row["auc"] >= whole["auc"].mean() - compared["auc_slack"]
        assert row["reference_disparity"] == pytest.approx(whole["disparity"].mean())
        cut = (whole["disparity"] - mine["disparity"]).mean()
        assert row["disparity_cut"] == pytest.approx(cut)
        assert row["disparity_cut_low"] <= cut <= row["disparity_cut_high"]


def test_every_column_has_a_unit_and_a_meaning(folds, summary):
    for made in (*folds.values(), summary):
        for name, table in made.items():
            if isinstance(table, pd.DataFrame):
                assert describe_columns(table, {}, columns), name


def test_means_are_over_folds_and_someone_is_on_the_front(summary):
    means, table = summary["means"], summary["summary"]
    assert (means["folds"] == len(FOLDS)).all()
    half = means[(means["method"] == "dadi") & (means["gamma"] == 0.5)]
    rows = table[(table["method"] == "dadi") & (table["gamma"] == 0.5)]
    assert half["auc"].item() == pytest.approx(rows["auc"].mean())
    assert half["auc_least"].item() == rows["auc"].min()
    assert half["auc_most"].item() == rows["auc"].max()
    assert means["on_front"].any()


def test_the_audit_reads_agents_and_all_panels_with_every_learner(folds):
    audit = folds[0]["audit"]
    assert len(audit) == (len(GAMMAS) + 1) * 3 * 2
    assert audit.groupby("target").size().to_dict() == {"label": 9, "sensitive": 9}
    everything = audit[(audit["method"] == "all_panels") & (audit["target"] == "sensitive")]
    assert everything["auc"].max() > 0.7  # three unfair features in plain sight


def test_folds_share_no_test_row_and_stages_cut_alike(stored, folds):
    design = study().train_settings("loans")["design"]

    def part(stage, fold):
        streams = Streams(1, stage, {"dataset": "loans", "fold": str(fold)})
        return fold_of(stored["table"], stored["catalogue"], design, streams)

    one, other = part("train_dadi", 0), part("roll_out_dadi", 0)
    np.testing.assert_array_equal(one.part, other.part)
    np.testing.assert_array_equal(one.shown.row_id, other.shown.row_id)
    second = part("train_dadi", 1)
    assert not np.intersect1d(one.rows("test"), second.rows("test")).size
    tested = folds[0]["outcomes"]
    tested = set(tested.loc[tested["part"] == "test", "row_id"])
    assert tested == set(one.shown.row_id[one.rows("test")])


def test_agents_of_other_kinds_are_audited_next_to_dadi(stored, folds):
    agents = {
        "cascade": tiny_block()["agents"]["cascade"],
        "dqn": small(DEFAULT["afape"]["agents"]["dqn"]),
        "random_half": {"kind": "random", "probability": 0.5},
    }
    made = run_fold(study(agents=agents), 0, stored)
    own = made["outcomes"].query("policy == 'dadi'").reset_index(drop=True)
    alone = folds[0]["outcomes"]
    pd.testing.assert_frame_equal(own.assign(policy="dadi"), alone.assign(policy="dadi"))
    scores = made["scores"].set_index("method")
    dadi = folds[0]["scores"].query("method == 'dadi'").drop(columns="audit_auc")
    again = made["scores"].query("method == 'dadi'")[dadi.columns]
    pd.testing.assert_frame_equal(again.reset_index(drop=True), dadi.reset_index(drop=True))
    others = scores.loc[list(agents)]
    assert others["gamma"].isna().all()
    assert others["audit_auc"].between(0.5, 1).all()
    assert others["adversary_auc"].isna().all()
    for name, rows in made["outcomes"].query("part == 'test'").groupby("policy", observed=True):
        if name != "dadi":
            assert scores.loc[name, "cost"] == pytest.approx(rows["acquisition_cost"].mean())
            assert scores.loc[name, "auc"] == pytest.approx(
                roc_auc_score(rows["label"], rows["probability"])
            )
    assert set(made["decisions"]["policy"]) == {"dadi", *agents}
    assert set(made["audit"]["method"]) == {"dadi", "all_panels", *agents}


def test_withheld_panels_are_shown_to_no_agent_but_to_whoever_is_requested(stored):
    made = run_fold(study(withheld_panels=["unfair X5"], selection_by=None), 0, stored)
    assert "acquired:unfair X5" not in made["outcomes"]
    panels = made["panels"].set_index("method")["panel"]
    assert "unfair X5" in set(panels.loc["all_and_group"])
    assert "unfair X5" not in set(panels.loc["boosting"])


def test_a_withheld_panel_that_is_not_there_is_refused(stored):
    planned = study(withheld_panels=["X99"])
    with pytest.raises(ConfigError, match="X99"):
        train_dadi(
            **stored,
            context=given(train_dadi, 0, planned.train_settings("loans")),
            checkpoint=Notebook(),
        )


@pytest.mark.parametrize("objective", ["equal_opportunity", "equalised_odds"])
def test_other_objectives_run_through_all_stages(stored, objective):
    made = run_fold(study(training={"objective": objective}), 0, stored)
    assert made["scores"]["auc"].between(0, 1).all()
    assert made["audit"]["auc"].notna().all()
    agents = made["scores"][made["scores"]["method"] == "dadi"].set_index("gamma")
    test = made["outcomes"][made["outcomes"]["part"] == "test"]
    asked = {"equal_opportunity": [1], "equalised_odds": [0, 1]}[objective]
    for gamma, units in test.groupby("gamma"):
        told = [units[units["label"] == label] for label in asked]
        aucs = [roc_auc_score(rows["sensitive"], rows["adversary_probability"]) for rows in told]
        assert agents.loc[gamma, "adversary_auc"] == pytest.approx(max(aucs))


def test_gaps_and_parts_of_one_class_are_refused_before_anything_is_learnt(stored):
    table = stored["table"].copy()
    table.loc[[3, 5], "X1"] = np.nan
    with pytest.raises(DataError, match="X1 has none in 2 of"):
        run_fold(study(), 0, {**stored, "table": table})
    table = stored["table"].copy()
    table["sensitive"] = 0
    table.loc[0, "sensitive"] = 1
    with pytest.raises(DataError, match=r"of fold 0 has \d+ rows of one protected attribute only"):
        run_fold(study(), 0, {**stored, "table": table})


def test_more_rows_than_there_are_is_refused(stored):
    with pytest.raises(DataError, match=r"rows of loans is 9999; allowed are numbers up to \d+"):
        run_fold(study(rows=9999), 0, stored)


def test_a_table_without_groups_is_refused(stored):
    bare = {"table": stored["table"].drop(columns="sensitive"), "catalogue": stored["catalogue"]}
    with pytest.raises(DataError, match="no groups of a protected attribute"):
        run_fold(study(), 0, bare)
