"""A user's own catalogue and units, and a catalogue on a real table: what is read and refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.cover.capabilities import capabilities_of, load_capability_rules
from frugal.cover.catalogue import parse_catalogue, parse_units, refusal_sentences
from frugal.cover.solvers.branch_and_bound import cheapest_covers, unreachable_features
from frugal.data.description import load_description
from frugal.data.parsing import raw_from_frame

CONFIG = Path(__file__).parents[2] / "config"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
OWN = (EXAMPLES / "recourse_actions.csv").read_text()
UNITS = (EXAMPLES / "recourse_units.csv").read_text()


def test_an_own_catalogue_is_solved_and_a_refusal_explained():
    catalogue = parse_catalogue(OWN, source="own.csv")
    assert catalogue.actions == ("save", "inherit", "save_more", "course", "apply")
    assert catalogue.features == ("savings", "skills", "permit")
    assert catalogue.groups == ("old", "young")
    assert catalogue.instance.access.astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 0, 1, 1, 1]]
    names, features, group = parse_units(UNITS, catalogue, source="units.csv")
    assert features.tolist() == [[1, 0, 0], [0, 1, 0], [3, 1, 1]]
    covers = cheapest_covers(features, group, catalogue.instance, max_nodes=10**6)
    assert covers.cost.tolist() == [11.0, np.inf, 0.0]  # save_more, course, apply
    unreachable = unreachable_features(features, group, catalogue.instance)
    assert refusal_sentences(names, features, group, unreachable, catalogue) == {
        "bob": "unit 'bob' cannot be covered: no set of actions open to 'old' is enough for "
        "'permit' (needs 1, all its actions together reach 0)"
    }


def test_a_catalogue_without_groups_is_for_everyone():
    catalogue = parse_catalogue("action,cost,f\nthreshold,,1\na,1,1\n", source="own.csv")
    assert catalogue.groups == ("everyone",)
    _, features, group = parse_units("unit,f\nann,0\n", catalogue, source="units.csv")
    assert (features.tolist(), group.tolist()) == ([[0]], [0])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("action,cost", "name,cost", "own.csv has no column 'action'"),
        ("threshold,", "treshold,", "own.csv has no row named 'threshold'"),
        ("threshold,,", "threshold,1,", "line 4: the threshold row has a cost"),
        ("save,2.5,,1", "save,2.5,,half", "line 5: column 'savings' holds 'half'"),
        ("save,2.5,,1", "save,2.5,,-1", "line 5: column 'savings' holds '-1'"),
        ("save,2.5", "save,much", "line 5: the cost is 'much'; allowed is a number from 0"),
        ("save,2.5", "save,-2.5", "line 5: the cost is '-2.5'; allowed is a number from 0"),
        ("save_more", "save", "own.csv has two rows for action 'save', lines 5 and 7"),
        ("save_more", "", "own.csv, line 7: the action has no name"),
        ("save_more", "save;more", "line 7: action 'save;more' has a ';'"),
        ("save,2.5", "save,1_0", "^own.csv, line 5: the cost is '1_0'"),
        ("save,2.5", "save,nan", "line 5: the cost is 'nan'"),
        ("save,2.5", "save,1e15", "^own.csv: the costs sum to 1e"),
    ],
)
def test_a_wrong_catalogue_is_refused_in_one_sentence(old, new, sentence):
    with pytest.raises(DataError, match=sentence):
        parse_catalogue(OWN.replace(old, new, 1), source="own.csv")


def test_a_catalogue_with_nothing_in_it_is_refused():
    with pytest.raises(DataError, match="holds thresholds and no action"):
        parse_catalogue("action,cost,f\nthreshold,,1\n", source="own.csv")
    with pytest.raises(DataError, match="has no feature columns"):
        parse_catalogue("action,cost\nthreshold,\n", source="own.csv")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("permit", "permits", "units.csv has no column 'permit'.*if 'permits' is meant, rename"),
        ("bob,old", "bob,odd", "line 3: group 'odd' is not in the catalogue.*did you mean 'old'"),
        ("bob,old,0", "bob,old,yes", "line 3: column 'permit' holds 'yes'"),
        ("bob,", "ann,", "units.csv has two rows for unit 'ann', lines 2 and 3"),
        ("bob,", ",", "units.csv, line 3: the unit has no name"),
    ],
)
def test_wrong_units_are_refused_in_one_sentence(old, new, sentence):
    catalogue = parse_catalogue(OWN, source="own.csv")
    with pytest.raises(DataError, match=sentence):
        parse_units(UNITS.replace(old, new, 1), catalogue, source="units.csv")


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


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("provides: [security]", "provides: [secure]", "provides 'secure', which is no capability"),
        ("cost: 2,", "price: 2,", "unknown key 'price'"),
        ("cost: 2,", "cost: -2,", "allowed are values from 0 on"),
        ("name: telephone,", "name: security,", "'security' is written twice"),
        ("at_most: 24}", "at_most: 24, levels: [A11]}", "needs either 'levels' or bounds"),
    ],
)
def test_wrong_rules_are_refused_in_one_sentence(tmp_path, old, new, sentence):
    text = (CONFIG / "recourse" / "german_credit.yaml").read_text()
    assert old in text
    path = tmp_path / "rules.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=sentence):
        load_capability_rules(path)
