"""Stages of the answer on one's own table: policies are judged, and the answer is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.decide import decide
from frugal.answer.evidence import Evidence
from frugal.answer.parts.elsewhere import costs
from frugal.answer.writing import written
from frugal.core.context import Context
from frugal.core.rows import Partitions, Rows
from frugal.data.case_document import TableColumns, case_document
from frugal.data.cases import read_cases
from frugal.data.description import load_description
from frugal.data.tables import StoredTable

ERRORS = "misclassification_cost"  # those of the table, which may be open in the YAML


def judge_candidates(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    paths: Partitions,
    joined: pd.DataFrame | Rows,
    context: Context,
) -> dict[str, Any]:
    """The answer as a document, the outcomes of every candidate, and their terms row by row.

    `paths` are those of the folds, `joined` those of the policies that are handed out.

    Each row is evaluated by policies that learned on the other folds. The missingness model is that
    of the graph, and once more with the causes that the records add.

    Settings: `agents` (names, in the order of preference), `margin` (share of the cost), `gamma`
    (the largest that is looked at), `objective` (cost or f1), `budgets` (of f1: the answer is for
    the first; `within_budgets` of the document has that of each, none of a lower F1 than that of a
    smaller budget), `recorded` (the protocol by which rows were recorded, or None), `most_missed`
    (group, or "" for all cases → share of the second of two classes that the named policy may
    miss), `parts` (name of a part that is requested → its settings).
    """
    evidence = Evidence.of(
        table, catalogue, masks, graph, paths, joined, context.settings, context.streams
    )
    return decide(evidence, context.progress)


def judge_elsewhere(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    terms: pd.DataFrame,
    description: Path,
    cases: Path,
    context: Context,
) -> dict[str, pd.DataFrame]:
    """Costs of every policy for the cases of another table, whose labels are not read."""
    stored = StoredTable(table, catalogue, unlabelled=True)
    columns = TableColumns(stored.layout, np.ones(len(table), dtype=bool), stored.column)
    described = load_description(description, {ERRORS: catalogue[ERRORS]})
    document = case_document(described, columns, catalogue)
    provides = stored.layout.provides
    read = read_cases(cases, document, provides=provides, id_column=None, complete=True)
    return {"elsewhere": costs(terms, table, catalogue, read.values)}


def write_answer(
    *,
    choice: Mapping[str, Any],
    outcomes: pd.DataFrame,
    catalogue: Mapping[str, Any],
    context: Context,
    page: bool = True,
    **frames: pd.DataFrame,
) -> dict[str, bytes]:
    """The answer in at most twelve lines; the page has a picture and the steps of the policy.

    `page` False leaves out the page, which needs packages for pictures. `frames` are tables of
    parts, by their names.

    Settings: `budget` (of panels, a case on average, or None), `causes` (name of their YAML, or
    None), `files` (key of a part → name of its file), `remarks` (changes that the question leaves
    out or adds), `reading` (words → file or command), `bundle` (folder of a policy, for POLICY its
    name), `kinds` (policy → kind of agent; the page describes the named one), `run` (term → words,
    on the version and on how to repeat the answer).
    """
    return written(choice, outcomes, catalogue, context.settings, frames, page=page)
