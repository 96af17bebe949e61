"""Susceptibility tables: concentrations, letters, contexts, and refusals."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.isolate_tables import (
    BREAKPOINTS,
    amr_table,
    ecoli_table,
    interpret_mic,
    kpneumoniae_table,
)
from frugal.studies.treatment.data.susceptibility import age_group, code_results, cross_contexts
from hypothesis import given
from hypothesis import strategies as st

from tests.studies.treatment.search_files import (
    AMR_DRUGS,
    DRUGS,
    amr_file,
    kpneumoniae_file,
    write_rows,
)
from tests.studies.treatment.search_files import BREAKPOINTS as CLSI


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("4", "S"),
        ("<=0.5", "S"),
        ("8", "I"),
        ("16", "R"),
        (">16", "R"),
        (">8", "R"),
        (">=16", "R"),
        ("<8", "S"),
        ("<=8", ""),
        (">4", ""),
        ("8/4", "I"),
        ("", ""),
        (" 4 ", "S"),
    ],
)
def test_a_concentration_by_its_bounds(text, letter):
    """Breakpoints 4 and 16 mg/L; a text that leaves two letters open gives none."""
    found = interpret_mic(np.array([text]), susceptible_mg_l=4.0, resistant_mg_l=16.0)
    assert found.tolist() == [letter]


@given(st.integers(-4, 9), st.sampled_from(sorted(BREAKPOINTS[CLSI])))
def test_every_doubling_dilution_has_the_letter_of_the_definition(power, drug):
    low, high = BREAKPOINTS[CLSI][drug]
    value = 2.0**power
    letter = "S" if value <= low else "R" if value >= high else "I"
    found = interpret_mic(np.array([f"{value:g}"]), susceptible_mg_l=low, resistant_mg_l=high)
    assert found[0] == letter


def test_kpneumoniae_by_hand(tmp_path):
    texts = {
        "K1": [">16", ">64/4", "<=1"],
        "K2": ["8", "16/4", "2"],
        "K3": ["<=8", "4/4", "1"],  # the first leaves S and I open: not all tested
        "K4": ["4", "32/4", ">8"],
    }
    path = kpneumoniae_file(tmp_path, texts)
    table = kpneumoniae_table(path, drugs=DRUGS, breakpoints=CLSI, results=["R", "I", "S"])
    assert table.outcome.tolist() == [[0, 0, 2], [1, 2, 1], [2, 1, 0]]
    assert table.report["concentrations_left_open"]["ceftazidime"] == 1
    assert table.contexts.names == ("all",)


def test_ecoli_has_two_results(tmp_path):
    rows = [["i1", "S", "R"], ["i2", "R", "R"], ["i3", "", "S"]]
    path = write_rows(tmp_path / "e.csv", ["Isolate", "CTZ", "GEN"], rows)
    drugs = {"ceftazidime": "CTZ", "gentamicin": "GEN"}
    table = ecoli_table(path, drugs=drugs, results=["R", "S"])
    assert table.outcome.tolist() == [[1, 0], [0, 0]]
    assert table.report["susceptible"] == {"ceftazidime": 1, "gentamicin": 0}
    assert table.outcome_value.tolist() == [0.0, 2.0]
    untested = write_rows(tmp_path / "u.csv", ["Isolate", "CTZ", "GEN"], [["i1", "", "R"]])
    with pytest.raises(DataError, match="none of 1 units was tested against all"):
        ecoli_table(untested, drugs=drugs, results=["R", "S"])


def test_amr_contexts_cross_the_factors_that_are_named(tmp_path):
    path = amr_file(tmp_path, 200, 0)
    table = amr_table(
        path,
        drugs=AMR_DRUGS,
        organisms={"E. coli": "B_ESCHR_COLI"},
        factors=["gender", "ward"],
        results=["R", "I", "S"],
    )
    assert table.contexts.features.shape == (6, 5)
    sex = np.array(["gender F" in table.contexts.names[x] for x in table.context])
    assert set(table.patient[sex]).isdisjoint(table.patient[~sex])
    assert table.report["rows_read"] == 200
    assert 100 < len(table) < 200
    with pytest.raises(ConfigError, match="no covariate 'age'"):
        amr_table(path, drugs=AMR_DRUGS, organisms={}, factors=["age"], results=["R", "I", "S"])


def test_age_groups_close_on_the_right():
    ages = np.array([0.0, 15.0, 15.5, 31.0, 32.0, 60.0, 61.0, 300.0])
    assert age_group(ages).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 50))
def test_crossed_contexts_can_be_read_back(lengths, seed):
    rng = np.random.default_rng(seed)
    levels = [rng.integers(m, size=7) for m in lengths]
    factors = {
        f"f{i}": (level, [f"v{j}" for j in range(m)])
        for i, (level, m) in enumerate(zip(levels, lengths, strict=True))
    }
    index, contexts = cross_contexts(factors, 7)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for i, level in enumerate(levels):
        block = contexts.features[:, starts[i] : starts[i] + lengths[i]]
        assert (block[index].argmax(axis=1) == level).all()
        assert all(f"f{i} v{v}" in contexts.names[x] for x, v in zip(index, level, strict=True))


def test_letters_become_indices():
    import pandas as pd

    text = pd.DataFrame({"a": ["R", "S", ""], "b": ["I", "R", "S"]})
    assert code_results(text, ["R", "I", "S"]).tolist() == [[0, 1], [2, 0], [-1, 2]]
