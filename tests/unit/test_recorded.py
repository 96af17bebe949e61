"""Rows that a protocol recorded: their probabilities are known."""

import json
import runpy
from dataclasses import replace

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.answer.recorded import known_law
from frugal.core.errors import ConfigError, DataError
from frugal.core.table import Panel, Table
from frugal.learn.record_law import Causes, RecordLaw
from frugal.run.study import load_study

from tests.unit.test_own_table import folder, question
from tests.workflow.runs import ROOT
from tests.workflow.shared import SMALL

__all__ = ["folder"]
N = 400


def table() -> Table:
    rng = np.random.default_rng(0)
    return Table(
        row_id=np.arange(N),
        values=rng.normal(size=(N, 3)),
        columns=("age", "a", "b"),
        onehot=(),
        label=rng.integers(0, 2, N),
        classes=("no", "yes"),
        panels=(
            Panel("known", ("age",), 0.0, True),
            Panel("A", ("a",), 1.0, False),
            Panel("B", ("b",), 1.0, False),
        ),
        misclassification_cost=np.array([[0.0, 4.0], [10.0, 0.0]]),
    )


def entry(panels, probability):
    return {"panels": panels, "probability": probability}


PROTOCOL = {
    "first_row": 201,
    "strata": [
        {"where": {"age": {"below": 0.0}}, "record": [entry(["A", "B"], 0.25)]},
        {"where": {}, "record": [entry(["A"], 0.5), entry(["A", "B"], 0.5)]},
    ],
}


def observed_by(data: Table) -> np.ndarray:
    """As before in the first 200 rows, by the protocol in the others. (n, 2)"""
    rng = np.random.default_rng(1)
    habit, lot = rng.random((N, 2)) < 0.6, rng.random(N)
    young = data.values[:, 0] < 0
    by_lot = np.column_stack([~young | (lot < 0.25), np.where(young, lot < 0.25, lot < 0.5)])
    return np.where(np.arange(N)[:, None] < 200, habit, by_lot)


def law_of(data, observed, known) -> RecordLaw:
    values = np.where(data.columns_observed(observed), data.values, np.nan)
    causes = [Causes((0,))] * 2
    return RecordLaw(
        observed, values, data.label, np.arange(N) % 5, causes, data.provides, protocol=known
    )


def test_probabilities_are_means_of_the_fitted_and_the_known_ones():
    data = table()
    observed = observed_by(data)
    known = known_law(PROTOCOL, data, observed)
    assert known.designed.sum() == 200
    young = data.values[:, 0] < 0
    law, before = law_of(data, observed, known), np.arange(N) < 200
    alone = replace(known, designed=np.ones(N, dtype=bool))
    for panels, among_old in ((np.array([True, True]), 0.5), (np.array([True, False]), 1.0)):
        by_protocol = np.where(young, 0.25, among_old)
        assert known.probability(panels) == pytest.approx(by_protocol)
        fitted = 2 * law.probability(panels) - by_protocol
        assert fitted[~before].mean() == pytest.approx(
            observed[before][:, panels].all(1).mean(), abs=0.05
        )
        assert law_of(data, observed, alone).probability(panels) == pytest.approx(by_protocol)
    assert law.probability(np.zeros(2, dtype=bool)) == pytest.approx(np.ones(N))


def test_rows_that_are_not_as_the_protocol_states_are_named():
    data = table()
    observed = observed_by(data)
    wrong = observed.copy()
    wrong[300] = (False, True)
    with pytest.raises(DataError, match="row 301 of the file, holds panels that the protocol"):
        known_law(PROTOCOL, data, wrong)
    few = {"first_row": None, "strata": PROTOCOL["strata"][:1]}
    with pytest.raises(DataError, match="is in no stratum of the protocol"):
        known_law(few, data, observed)
    column = {"first_row": 201, "strata": [{"where": {}, "record": [entry(["A"], "a")]}]}
    gaps = replace(data, values=np.where(data.columns_observed(observed), data.values, np.nan))
    with pytest.raises(DataError, match="names column 'a'; allowed are free columns that all rows"):
        known_law(column, gaps, observed)
    much = {"first_row": 201, "strata": [{"where": {}, "record": [entry(["A"], "age")]}]}
    with pytest.raises(DataError, match="probabilities below 0, or above 1 in sum"):
        known_law(much, data, observed)
    late = PROTOCOL | {"first_row": len(data) + 1}
    with pytest.raises(DataError, match=f"the table ends with row {len(data)}"):
        known_law(late, data, observed)


def test_a_protocol_is_read_from_a_file_and_its_panels_are_checked(folder):
    path = folder / "protocol.yaml"
    text = "strata: [{where: {age: {from: 60}}, record: [{panels: [crp], probability: 0.5}]}]"
    path.write_text(text)
    study = load_study(question(folder, recorded=str(path)).config, ROOT)
    assert study.judging_settings()["recorded"] == {
        "first_row": None,
        "strata": [
            {"where": {"age": {"from": 60.0}}, "record": [{"panels": ["crp"], "probability": 0.5}]}
        ],
    }
    path.write_text(text.replace("crp", "crq"))
    with pytest.raises(ConfigError, match="records panel 'crq'; allowed are"):
        question(folder, recorded=str(path))
    path.write_text(text.replace("0.5", "1.5"))
    with pytest.raises(ConfigError, match="probability"):
        question(folder, recorded=str(path))


CLINIC = ROOT / "docs" / "examples" / "clinic.yaml"
PANELS = {
    "crp": "crp",
    "procalcitonin": "procalcitonin",
    "lactate": "lactate",
    "chest film": "xray",
}
AGENTS = ["never", "fixed", "cascade"]
PLAIN = ["never", "always"]  # nothing is learned


def further_cases(rows: pd.DataFrame, design: dict, rng: np.random.Generator) -> pd.DataFrame:
    """Cases that the design records: complete visits without the panels that a draw leaves out."""
    drawn = rows.dropna().sample(design["cases"], random_state=0).reset_index(drop=True)
    for i, case in drawn.iterrows():
        stratum = next(
            each
            for each in design["protocol"]["strata"]
            if all(
                ends.get("from", -np.inf) <= case[column] < ends.get("below", np.inf)
                for column, ends in each["where"].items()
            )
        )
        (entry,) = stratum["record"]
        recorded = entry["panels"] if rng.random() < entry["probability"] else []
        for panel, column in PANELS.items():
            if panel not in recorded:
                drawn.loc[i, column] = np.nan
    return drawn


def test_records_of_an_answers_design_are_judged_by_its_probabilities(tmp_path):
    first = frugal.decide(frugal.load(CLINIC, config=SMALL, design=200), agents=AGENTS)
    earlier = tmp_path / "answer.json"
    earlier.write_text(json.dumps(first.document))
    design = first.document["design"]
    assert design == first.design(200)
    assert design["protocol"]["first_row"] == 801
    old = pd.read_csv(CLINIC.with_suffix(".csv"))
    new = further_cases(old, design, np.random.default_rng(0))
    path = tmp_path / "clinic.yaml"
    path.write_text(CLINIC.read_text(encoding="utf-8"), encoding="utf-8")
    pd.concat([old, new]).to_csv(path.with_suffix(".csv"), index=False)
    table = frugal.load(path, config=SMALL, recorded=earlier)
    second = frugal.decide(table, agents=PLAIN)
    assert second.question.study.judging_settings()["recorded"] == design["protocol"]
    paid = [
        answer.outcomes.set_index("agent").loc["practice", "acquisition_cost"]
        for answer in (first, second)
    ]
    assert paid[0] == pytest.approx(paid[1], rel=1e-12)  # rows of a design are no practice
    habit = frugal.decide(frugal.load(path, config=SMALL), agents=PLAIN)
    known, fitted = (one.outcomes.set_index("agent")["cost"] for one in (second, habit))
    assert abs(known["always"] - fitted["always"]) > 1e-6

    design["protocol"]["first_row"] = 700  # of the document, which is a copy
    earlier.write_text(json.dumps(first.document | {"design": design}))
    with pytest.raises(DataError, match="is not as it was written: its digest is another"):
        frugal.load(path, config=SMALL, recorded=earlier)
    earlier.write_text(json.dumps(first.document))

    new.loc[0, list(PANELS.values())] = [3.0, np.nan, np.nan, np.nan]
    pd.concat([old, new]).to_csv(path.with_suffix(".csv"), index=False)
    with pytest.raises(DataError, match="row 801 of the file, holds panels that the protocol"):
        frugal.decide(frugal.load(path, config=SMALL, recorded=earlier), agents=PLAIN)


def test_where_a_protocol_made_all_rows_no_cause_is_tested_or_hidden():
    """Answers depend on a trait, so by any fitted law other questions would be causes."""
    made = runpy.run_path(str(CLINIC.with_name("questionnaire.py")))
    draw = np.random.default_rng(0)
    log = made["logged"](made["people"](600, draw), draw)
    answer = frugal.decide(
        log,
        label="disorder",
        free=["q1", "q2", "first_two"],
        prices=dict.fromkeys(made["ITEMS"][2:], 1),
        errors={"missed": 4000, "false alarm": 1000},
        recorded=made["RULE"],
        config=SMALL,
        agents=["always"],
    )
    assert answer.document["graph"] == "known"
    assert answer.document["tipping_gamma"] is None
    assert "The protocol states the probability of every record" in answer.summary()
    assert "missingness of" not in answer.summary()
