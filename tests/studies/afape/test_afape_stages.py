"""The afape stages wired together on small tables: what is estimated, and what is said if not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError, NoSupportError
from frugal.core.streams import Streams
from frugal.judge.registry import ESTIMATORS
from frugal.studies.afape.stages.drawing import draw_scenario_figures, draw_study_figures
from frugal.studies.afape.stages.tables import check_afape, give_verdicts

from tests.unit.afape_chain import AGENTS, Chain, draw, frames, run_chain, small_table

pytestmark = pytest.mark.trains

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "ten_lines.yaml"
MNAR = {
    "P2": {"intercept": 1.0, "values": {"X1": 0.5}},
    "P3": {"intercept": 0.5, "values": {"X2": -0.5}},
}
SELF_CENSORING = {"P3": {"intercept": 1.0, "values": {"X3": 1.0}}}
NEEDS_PROPENSITY = [
    name for name in ESTIMATORS if "ipw" in name or "afais" in name or "robust" in name
]


@pytest.fixture(scope="module")
def induced() -> Chain:
    return run_chain(small_table(), MNAR, source="induced")


@pytest.fixture(scope="module")
def unidentified() -> Chain:
    return run_chain(small_table(), SELF_CENSORING, source="induced")


@pytest.fixture(scope="module")
def own() -> Chain:
    gaps = {"P2": 0.3, "P3": 0.3}
    panels = {"P2": {"values": ["X1"]}, "P3": {"indicators": ["P2"]}}
    return run_chain(small_table(gaps=gaps), panels, source="own")


@pytest.mark.parametrize("agent", AGENTS)
def test_every_estimator_has_a_row(induced, unidentified, own, agent):
    for chain in (induced, unidentified, own):
        assert list(chain.status(agent)) == list(ESTIMATORS)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_identified_graph_gives_every_estimate_but_that_on_all_rows(induced, agent):
    status = induced.status(agent)
    failed = {name for name, what in status.items() if what == "not_identified"}
    assert (
        {"afais", "stabilised_afais"}
        <= failed
        <= {"afais", "stabilised_afais", "off_policy_set", "off_policy_sequence"}
    )
    for name in ("ground_truth", "blocking", "complete_case", "ipw", "stabilised_afais_s"):
        assert status[name] == "ok"
    assert status["imputation_chained_trees"] == "not_available"


def test_the_truth_is_the_mean_cost_in_the_full_world(induced):
    full = induced.worlds[induced.worlds["world"] == "full"]
    expected = full.groupby("agent")["cost"].mean()
    truth = induced.rows("ground_truth").set_index("agent")["estimate"]
    for agent in AGENTS:
        assert truth[agent] == pytest.approx(expected[agent], rel=1e-12)
    frame = induced.estimates["estimates"]
    np.testing.assert_allclose(frame["truth"], frame["agent"].map(expected), rtol=1e-12)


def test_blocking_is_the_mean_cost_on_the_records(induced):
    test = induced.blocked.groupby("agent")["cost"].mean()
    found = induced.rows("blocking").set_index("agent")["estimate"]
    for agent in AGENTS:
        assert found[agent] == pytest.approx(test[agent], rel=1e-12)


def test_complete_cases_cost_the_always_agent_everything(induced):
    row = induced.rows("complete_case").set_index("agent").loc["always"]
    assert row["acquisition_cost"] == pytest.approx(2.0)


def test_a_policy_never_acquires_on_the_records_what_they_lack(induced):
    masks = induced.drawn["masks"].set_index("row_id")
    for panel in ("P2", "P3"):
        observed = masks.loc[induced.blocked["row_id"], f"observed:{panel}"].to_numpy()
        assert not (induced.blocked[f"acquired:{panel}"].to_numpy() & ~observed).any()


def test_a_graph_that_identifies_nothing_stops_what_needs_a_propensity(unidentified):
    for agent in AGENTS:
        status = unidentified.status(agent)
        for name in NEEDS_PROPENSITY:
            wanted = "ok" if name.endswith("_true") else "not_identified"
            assert status[name] == wanted, name
        for name in ("ground_truth", "blocking", "complete_case"):
            assert status[name] == "ok"
    reasons = unidentified.rows("stabilised_ipw")["reason"]
    assert reasons.str.contains("self-censoring").all()


def test_what_has_no_estimate_has_a_reason_and_no_numbers(unidentified):
    frame = unidentified.estimates["estimates"]
    failed = frame[frame["status"] != "ok"]
    assert (failed["reason"] != "").all()
    numbers = ["estimate", "ci_low", "ci_high", "std_error", "resample_sd", "acquisition_cost"]
    assert failed[numbers].isna().all(axis=None)
    assert (failed["ess"] == 0).all()


def test_unidentified_nuisances_are_tables_of_the_same_columns(induced, unidentified):
    for name, frame in induced.nuisances.items():
        assert set(unidentified.nuisances[name].columns) == set(frame.columns), name
    assert unidentified.nuisances["propensities"]["propensity"].isna().all()


def test_every_method_tried_has_its_loss_and_curves_name_the_one_taken(induced):
    network = {"hidden": 4, "layers": 1, "epochs": 2, "batch": 64, "learning_rate": 0.01}
    chosen = run_chain(
        small_table(),
        MNAR,
        source="induced",
        agents={"always": AGENTS["always"]},
        nuisance={"method": "lowest_loss", "network": network | {"ridge": 1.0}},
    )
    assert set(induced.nuisances["losses"]["method"]) == {"logistic", "boosting"}
    losses = chosen.nuisances["losses"]
    for name, rows in losses.groupby("nuisance", sort=False):
        tried = {"boosting"} if name == "mean cost, always" else {"logistic", "network", "boosting"}
        assert set(rows["method"]) == tried, name
        assert rows["taken"].sum() == 1
        (taken,) = rows[rows["taken"]].to_dict("records")
        assert taken["loss"] == rows["loss"].min()
        for table in ("calibration", "overlap"):
            shown = chosen.nuisances[table].query("nuisance == @name")["method"]
            assert set(shown) <= {taken["method"]}
    assert set(losses["nuisance"]) == {"p(R=P2)", "p(R=P3)", "AFA, always", "mean cost, always"}
    by_policy = chosen.nuisances["overlap"].query("nuisance == 'AFA by policy, always'")
    assert by_policy["method"].tolist() == [""]  # it follows from the factors


def test_ones_own_gaps_have_no_truth(own):
    frame = own.estimates["estimates"]
    assert frame["truth"].isna().all()
    assert set(own.worlds["world"].unique()) == {"retrospective"}
    assert "complete_probability" not in own.drawn["masks"]
    for agent in AGENTS:
        status = own.status(agent)
        assert status["ground_truth"] == "not_available"
        assert status["stabilised_ipw_true"] == "not_available"
        assert status["stabilised_ipw"] == status["stabilised_afais_s"] == "ok"


def test_ones_own_masks_are_the_gaps(own):
    table = small_table(gaps={"P2": 0.3, "P3": 0.3})
    masks = own.drawn["masks"]
    np.testing.assert_array_equal(masks["observed:P2"], ~np.isnan(table.values[:, 1]))
    np.testing.assert_array_equal(masks["observed:P3"], ~np.isnan(table.values[:, 2]))


def test_a_scenario_without_truth_has_a_sentence_for_convergence(own):
    frame = own.estimates["estimates"].assign(dataset="d", mechanism="m")
    key = {"dataset": "d", "mechanism": "m"}
    made = draw_study_figures(
        summary=frame,
        resamples=own.estimates["resamples"].assign(**key),
        convergence=own.estimates["convergence"].assign(**key),
        context=Context(
            {
                "convergence_agents": ["half"],
                "estimators": ["blocking", "stabilised_ipw"],
                "cost_unit": "EUR",
            },
            Streams(0, "draw_study_figures", {}),
        ),
    )
    (said,) = [text.get_text() for text in made["convergence_png"].texts]
    assert "truth is unknown" in said
    assert len(made["convergence_table"]) == 0


def verdicts_of(chain):
    key = {"dataset": "d", "mechanism": "m"}
    told = {"seed": [0], "p_value": [0.5], "graph_refuted": [False], "sentence": [""]}
    return give_verdicts(
        summary=chain.estimates["estimates"].assign(**key),
        comparisons=chain.estimates["comparisons"].assign(**key),
        groups=chain.estimates["groups"].assign(**key),
        sensitivity=chain.estimates["sensitivity"].assign(**key),
        tipping=chain.estimates["tipping"].assign(**key),
        graph_check=pd.DataFrame(told).assign(**key),
        context=Context(
            {"cost_units": {"d": "EUR"}, "gammas": [1, 2], "margin": 0.05},
            Streams(0, "give_verdicts", {}),
        ),
    )["verdicts"]


def scenario_figures(chain, catalogue):
    return draw_scenario_figures(
        catalogue=catalogue,
        estimates=chain.estimates["estimates"],
        frequencies=chain.estimates["frequencies"],
        calibration=chain.nuisances["calibration"],
        verdicts=verdicts_of(chain),
        context=Context(
            {"frequency_agent": "half"},
            Streams(0, "draw_scenario_figures", {"dataset": "d", "mechanism": "m"}),
        ),
    )


def test_a_graph_that_identifies_nothing_is_drawn_to_the_end(unidentified):
    _, catalogue = frames(small_table())
    catalogue["report"]["cost_unit"] = "EUR"
    made = scenario_figures(unidentified, catalogue)
    (said,) = [" ".join(text.get_text().split()) for text in made["calibration_png"].texts]
    assert said.startswith("Not identified, nothing fitted. p(R = 1 | X_adj) is not identified")
    assert "self-censoring" in said
    assert len(made["calibration_table"]) == 0
    words = [t.get_text() for axes in made["trust_png"].axes for t in axes.texts]
    assert "not identified" in words
    key = {"dataset": "d", "mechanism": "m"}
    for shown in (["stabilised_ipw"], ["blocking", "stabilised_ipw", "ground_truth"]):
        drawn = draw_study_figures(
            summary=unidentified.estimates["estimates"].assign(**key),
            resamples=unidentified.estimates["resamples"].assign(**key),
            convergence=unidentified.estimates["convergence"].assign(**key),
            context=Context(
                {"convergence_agents": ["half"], "estimators": shown, "cost_unit": "EUR"},
                Streams(0, "draw_study_figures", {}),
            ),
        )
        if shown == ["stabilised_ipw"]:
            (said,) = [text.get_text() for text in drawn["convergence_png"].texts]
            assert said == "None of the chosen estimators has an estimate: no error to show."


def test_nothing_to_calibrate_is_stated(own):
    _, catalogue = frames(small_table())
    catalogue["report"]["cost_unit"] = "EUR"
    empty = replace(own, nuisances={"calibration": own.nuisances["calibration"].iloc[:0]})
    estimates = own.estimates["estimates"]
    kept = estimates[estimates["status"] != "not_identified"]
    empty = replace(empty, estimates={**own.estimates, "estimates": kept})
    (said,) = [
        text.get_text() for text in scenario_figures(empty, catalogue)["calibration_png"].texts
    ]
    assert said == "No fitted probability serves any test row: nothing to calibrate."


def test_without_a_complete_case_nothing_is_drawn():
    with pytest.raises(NoSupportError, match="no complete case: none of 160 test rows has every"):
        draw(small_table(), {"P2": {"intercept": -40.0}}, source="induced")


def test_gaps_without_named_causes_are_refused():
    table = small_table(gaps={"P2": 0.3})
    with pytest.raises(ConfigError, match=r"panel 'P2' is missing in .* names no causes for it"):
        draw(table, {}, source="own")


def test_masks_of_a_seed_do_not_depend_on_the_seeds_next_to_it():
    alone = draw(small_table(), MNAR, source="induced", seeds=[2])["masks"]
    beside = draw(small_table(), MNAR, source="induced", seeds=[0, 1, 2])["masks"]
    kept = beside[beside["seed"] == 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, alone)


def summary_of(chain):
    frame = chain.estimates["estimates"].assign(dataset="d", mechanism="m")
    return frame.reset_index(drop=True)


def check(summary):
    settings = {"scenarios": [["d", "m"]], "agents": list(AGENTS), "seeds": [0]}
    streams = Streams(0, "check_afape", {})
    return check_afape(summary=summary, context=Context(settings, streams))


@pytest.mark.parametrize("chain", ["induced", "unidentified", "own"])
def test_the_check_passes_what_the_stages_make(chain, request):
    made = check(summary_of(request.getfixturevalue(chain)))["checks"]
    assert made["rows"] == len(AGENTS) * len(ESTIMATORS)
    assert sum(made["status"].values()) == made["rows"]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda t: t.iloc[1:], "lacks 1 of"),
        (lambda t: pd.concat([t, t.iloc[:1]], ignore_index=True), "rows, .* were requested"),
        (lambda t: t.assign(status="fine"), "a status is known"),
        (lambda t: t.assign(reason=""), "rows that are not ok have a reason"),
        (lambda t: t.assign(estimate=1.0), "rows that are not ok have no estimate"),
        (lambda t: t.assign(estimate=t["estimate"] * np.inf), "a cost is finite"),
        (lambda t: t.assign(ci_low=t["ci_high"] + 1), "an interval holds its estimate"),
        (lambda t: t.assign(ess=1e9), "effective sample size is at most"),
        (lambda t: t.assign(acquisition_cost=1e3), "the parts sum to the cost"),
    ],
)
def test_the_check_names_what_does_not_hold(induced, spoil, sentence):
    with pytest.raises(DataError, match=sentence):
        check(spoil(summary_of(induced)))
