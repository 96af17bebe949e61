"""A user's own catalogue and units, and a catalogue on a real table: what is read and refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.data.description import load_description
from frugal.data.parsing import raw_from_frame
from frugal.studies.recourse.capabilities import capabilities_of, load_capability_rules
from frugal.studies.recourse.catalogue import catalogue_of, refusal_sentences, units_of
from frugal.studies.recourse.sheets import read_sheet
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers, unreachable_features

CONFIG = Path(__file__).parents[3] / "config"
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
OWN = (EXAMPLES / "recourse_actions.csv").read_text()
UNITS = (EXAMPLES / "recourse_units.csv").read_text()


@pytest.fixture
def table_of(tmp_path):
    """The cells of a text."""

    def read(text, name):
        (tmp_path / name).write_text(text)
        return read_sheet(tmp_path / name, *(("action", "cost") if "cost" in text else ("unit",)))

    return read


def test_an_own_catalogue_is_solved_and_a_refusal_explained(table_of):
    catalogue = catalogue_of(table_of(OWN, "own.csv"), source="own.csv")
    assert catalogue.actions == ("save", "inherit", "save_more", "course", "apply")
    assert catalogue.features == ("savings", "skills", "permit")
    assert catalogue.groups == ("old", "young")
    assert catalogue.instance.access.astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 0, 1, 1, 1]]
    names, features, group = units_of(table_of(UNITS, "units.csv"), catalogue, source="units.csv")
    assert features.tolist() == [[1, 0, 0], [0, 1, 0], [3, 1, 1]]
    covers = cheapest_covers(features, group, catalogue.instance, max_nodes=10**6)
    assert covers.cost.tolist() == [11.0, np.inf, 0.0]  # save_more, course, apply
    unreachable = unreachable_features(features, group, catalogue.instance)
    assert refusal_sentences(names, features, group, unreachable, catalogue) == {
        "bob": "unit 'bob' cannot be covered: no set of actions open to 'old' is enough for "
        "'permit' (needs 1, all its actions together reach 0)"
    }


def test_a_catalogue_without_groups_is_for_everyone(table_of):
    sheet = table_of("action,cost,f\nthreshold,,1\na,1,1\n", "own.csv")
    catalogue = catalogue_of(sheet, source="own.csv")
    assert catalogue.groups == ("everyone",)
    units = table_of("unit,f\nann,0\n", "units.csv")
    _, features, group = units_of(units, catalogue, source="units.csv")
    assert (features.tolist(), group.tolist()) == ([[0]], [0])


@pytest.mark.parametrize(
    ("actions", "units", "sentence"),
    [
        ("a,5,1.0", "ann,2.0", ""),
        ("a,5,TRUE", "ann,FALSE", ""),
        ("a,5,yes", "ann,No", ""),
        ("a,5.50,1", "ann,0", ""),
        ("a,5,1.5", "ann,0", "a.csv, line 3: column 'f' holds '1.5'; allowed is a whole number"),
        ("a,5,<2", "ann,0", "a.csv, line 3: column 'f' holds '<2'; allowed is a whole number"),
        ("a,5,-1", "ann,0", "a.csv, line 3: column 'f' holds '-1'; allowed is a whole number"),
        ("a,5,", "ann,0", "a.csv, line 3: column 'f' holds ''; allowed is a whole number"),
        ("a,,1", "ann,0", "a.csv, line 3: the cost is ''"),
        ("a,<5,1", "ann,0", "a.csv, line 3: the cost is '<5'"),
        ("a,5,1", "NA,0", "u.csv, line 2: the unit is 'NA', which means no value"),
        ("a,5,1", "ann,NA", "u.csv, line 2: column 'f' holds ''; allowed is a whole number"),
        ("a,5,1,2", "ann,0", "a.csv, line 3 has 4 cells, but there are 3 columns"),
        ("#a,5,1", "ann,0", "a.csv, line 3 begins with '#'; comments are allowed above"),
    ],
)
def test_cells_of_actions_and_units_are_read_as_those_of_tables(table_of, actions, units, sentence):
    def read():
        cells = table_of(f"action,cost,f\nthreshold,NA,1\n{actions}\n", "a.csv")
        catalogue = catalogue_of(cells, source="a.csv")
        return units_of(table_of(f"unit,f\n{units}\n", "u.csv"), catalogue, source="u.csv")

    if not sentence:
        assert read()[0] == ("ann",)
        return
    with pytest.raises(DataError) as refusal:
        read()
    assert str(refusal.value).startswith(sentence)


def german_rows(**changes):
    good = {"checking": "A14", "savings": "A63", "employment": "A73", "duration": "24"}
    good |= {"amount": "4000", "property": "A121", "other_plans": "A143", "telephone": "A192"}
    other = {"checking": "A12", "savings": "A64", "employment": "A74", "duration": "6"}
    third = {"checking": "A13", "employment": "A75", "property": "A122", "amount": "100"}
    return pd.DataFrame([good, good | other, good | third, good | changes])


def test_bins_of_german_credit_are_capabilities():
    rules = load_capability_rules(CONFIG / "recourse" / "german_credit.yaml")
    described = load_description(CONFIG / "datasets" / "german_credit.yaml")
    assert described.name == rules.dataset
    columns = {column.raw_name: column for column in described.columns}
    for capability in rules.capabilities:
        levels = columns[capability.column].levels
        assert set(capability.levels) <= set(levels or ())
    changes = {"checking": "A11", "duration": "25", "amount": "4001", "telephone": "A191"}
    raw = raw_from_frame(german_rows(**changes), source="test")
    has = capabilities_of(raw, rules)
    assert has[:3].all()
    lacking = [c.name for c, h in zip(rules.capabilities, has[3], strict=True) if not h]
    assert lacking == [
        "account_not_overdrawn",
        "at_most_24_months",
        "at_most_4000_marks",
        "telephone",
    ]
    group = np.zeros(4, dtype=np.int64)
    covers = cheapest_covers(has, group, rules.catalogue.instance, max_nodes=10**6)
    assert covers.cost.tolist() == [0.0, 0.0, 0.0, 9.0]  # overdraft 2, both at once 6.5, 0.5
    nothing = np.zeros((1, 8), dtype=bool)
    assert not unreachable_features(nothing, group[:1], rules.catalogue.instance).any()


def test_a_level_that_no_record_has_is_refused():
    rules = load_capability_rules(CONFIG / "recourse" / "german_credit.yaml")
    raw = raw_from_frame(german_rows().replace("A13", "A14"), source="test")
    with pytest.raises(DataError, match="'account_not_overdrawn': no record has 'A13'"):
        capabilities_of(raw, rules)
    raw = raw_from_frame(german_rows().replace(["A12", "A13"], "A14"), source="test")
    with pytest.raises(DataError, match="no record has 'A12'"):  # the first of those that lack
        capabilities_of(raw, rules)
