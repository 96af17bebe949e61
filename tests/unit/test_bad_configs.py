"""A config that is wrong in any one place is one sentence at start, and never another error.

Hand-made mistakes, each with the words that must be in its sentence, and random ones: a value of
the embedded default replaced by something nasty, or removed.
"""

import copy
from pathlib import Path
from typing import Any

import pytest
from frugal.run.study import load_study
from frugal.studies.dadi.spec import load_dadi_study
from frugal.studies.diagnosis.spec import load_diagnosis_study
from frugal.studies.recourse.spec import load_recourse_study
from frugal.studies.treatment.spec import load_treatment_study
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.defaults import DEFAULT
from tests.unit.spoiling import DELETE, NASTY, places, sentence_of, spoilt

ROOT = Path(__file__).parents[2]
PLACES = list(places(DEFAULT))


def start(config: dict[str, Any]) -> None:
    """All that is checked before the first job."""
    study = load_study(config, ROOT)
    load_treatment_study(study.config, ROOT)
    load_recourse_study(study.config, ROOT)
    load_dadi_study(study.config, study.descriptions)
    load_diagnosis_study(study.config, study.descriptions)


def of(*keys: Any) -> tuple[Any, ...]:
    return keys


CASES: list[tuple[tuple[Any, ...], Any, str]] = [
    (of("seed"), -1, "'seed' is -1; allowed are values from 0 on"),
    (of("seed"), "1", "'seed' is '1'; allowed is a whole number"),
    (of("seed"), 1.0, "'seed' is 1.0; allowed is a whole number"),
    (of("seed"), True, "'seed' is True; allowed is a whole number"),
    (of("datasets"), DELETE, "key 'datasets' is missing"),
    (of("scale"), "papers", "allowed are default, paper; did you mean 'paper'?"),
    (of("sed"), 1, "unknown key 'sed' at top level"),
    (of("data_mirror"), 7, "'data_mirror' is 7; allowed is a text or null"),
    (of("datasets"), [], "'datasets' is []; allowed is a mapping of keys"),
    (
        of("datasets", "synthetic_mnar"),
        "no/such.yaml",
        "config: datasets.synthetic_mnar is 'no/such.yaml', and there is no such file",
    ),
    (
        of("datasets", "breast_cancer"),
        "config/datasets/breast_cancer_diagnosis.yaml",
        "'datasets.breast_cancer' is … config/datasets/breast_cancer_diagnosis.yaml', which "
        "describes the data set 'breast_cancer_diagnosis'; write one name in both",
    ),
    (of("datasets", "breast_cancer"), "u" * 300, "there is no such file"),
    (of("datasets", "breast_cancer"), DELETE, "names data set 'breast_cancer'"),
    (of("datasets", "../up"), "config/datasets/income.yaml", "'../up'"),
    (of("datasets", "breast_cancer"), "README.md", "README.md"),
    (of("datasets", ".."), "config/datasets/income.yaml", "'..'"),
    (of("afape", "agents", "."), {"kind": "random", "probability": 0.1}, "'.'"),
    (of("afape"), None, "'afape' is None; allowed is a mapping of keys"),
    (of("afape", "seeds"), [], "'afape.seeds' is []; it must hold at least 1"),
    (of("afape", "seeds"), [0, 0], "every entry must be unique"),
    (of("afape", "agents", "never", "panels"), "noone", "'noone'"),
    (of("afape", "agents", "random_10", "probability"), 1.5, "1.5"),
    (of("afape", "agents", "a/b"), {"kind": "random", "probability": 0.5}, "'a/b'"),
    (
        of("afape", "agents", "odd"),
        {"kind": "rnadom", "probability": 0.5},
        "'afape.agents.odd.kind' is 'rnadom' … did you mean 'random'?",
    ),
    (
        of("afape", "agents", "odd"),
        {"kind": "random", "probabilty": 0.2},
        "unknown key 'probabilty' under 'afape.agents.odd' … did you mean 'probability'?",
    ),
    (
        of("afape", "agents", "odd"),
        {"kind": "rule", "steps": [{"panel": "superX"}]},
        "afape.agents.odd.steps[0].panel names panel 'superX'; data set 'synthetic_mnar' has "
        "to acquire X2, superX3; did you mean 'superX3'?",
    ),
    (of("afape", "agents", "dqn"), None, "afape.figures names agent 'dqn'"),
    (
        of("afape", "agents"),
        dict.fromkeys(DEFAULT["afape"]["agents"]),
        "afape.agents has no agent that is not null; at least one is needed",
    ),
    (of("afape", "classifier", "trees"), "many", "is 'many'; allowed is a whole number"),
    (of("afape", "nuisance", "method"), "netwrok", "did you mean 'network'?"),
    (of("afape", "nuisance", "folds"), 1, "allowed are values from 2 on"),
    (of("afape", "nuisance", "network", "learning_rate"), 0, "allowed are values above 0"),
    (of("afape", "nuisance", "network", "learning_rate"), float("nan"), "allowed is a number"),
    (of("afape", "evaluation", "resample_share"), float("inf"), "allowed is a number"),
    (
        of("afape", "evaluation", "resample"),
        3,
        "unknown key 'resample' under 'afape.evaluation' … did you mean 'resamples'?",
    ),
    (
        of("afape", "figures", "frequency_agent"),
        "random_5",
        "afape.figures names agent 'random_5' … did you mean 'random_50'?",
    ),
    (
        of("afape", "figures", "estimators"),
        ["blocking", "stabilized_ipw"],
        "'afape.figures.estimators[1]' is 'stabilized_ipw'; allowed are ground_truth … "
        "did you mean 'stabilised_ipw'?",
    ),
    (of("afape", "scenarios"), {}, "allowed is a list"),
    (
        of("afape", "scenarios", 0, "dataset"),
        "synthetic_mna",
        "afape.scenarios[0] names data set 'synthetic_mna' … did you mean 'synthetic_mnar'?",
    ),
    (
        of("afape", "scenarios", 0, "missingness", "source"),
        DELETE,
        "key 'source' is missing under 'afape.scenarios[0].missingness'",
    ),
    (of("afape", "scenarios", 0, "mechanism"), "../../x", "'../../x'"),
    (of("afape", "scenarios", 0, "mechanism"), "a\nb", "without control characters"),
    (of("afape", "scenarios", 1, "mechanism"), "mar", "has breast_cancer with mar twice"),
    (of("afape", "scenarios", 0, "missingness", "complete_share"), 2, "complete_share"),
    (
        of("afape", "scenarios", 0, "missingness", "panels", "superX33"),
        {"intercept": 0},
        "names panel 'superX33' … did you mean 'superX3'?",
    ),
    (
        of("afape", "scenarios", 0, "missingness", "panels", "X2", "values"),
        {"X11": 1.0},
        "names column 'X11'; data set 'synthetic_mnar' has X1, X2, X3, X4; did you mean 'X1'?",
    ),
    (of("afape", "scenarios", 0, "s"), ["X7"], "s names panel 'X7'"),
    (
        of("afape", "scenarios", 0, "missingness", "panels", "X2", "values"),
        {1: 2},
        "'values' holds the key 1",
    ),
    (of("treatment", "stop_rule"), ">", "'treatment.stop_rule' is '>'"),
    (of("treatment", "forest", "trees"), 0, "'treatment.forest.trees' is 0"),
    (
        of("treatment", "scenarios", "synthetic", "seeds"),
        0,
        "'treatment.scenarios.synthetic.seeds'",
    ),
    (of("treatment", "scenarios", "synthetic", "dataset"), "x", "names data set 'x'"),
    (of("treatment", "scenarios", "synthetic", "grids", "sweep", "deltas"), [], "deltas"),
    (of("treatment", "scenarios", "../x"), {}, "'../x'"),
    (of("recourse", "train_share"), 1.5, "'recourse.train_share' is 1.5"),
    (of("recourse", "generators", "hamming", "kind"), "haming", "'haming'"),
    (
        of("recourse", "generators", "hamming", "epochs"),
        5,
        "config: unknown key 'epochs' under 'recourse.generators.hamming'",
    ),
    (
        of("recourse", "frequency_edges"),
        [1, 5],
        "config: recourse.frequency_edges is [1, 5]; allowed are whole numbers",
    ),
    (of("recourse", "scenarios", 0, "variant"), "a/../b", "'a/../b'"),
    (of("recourse", "scenarios", 0, "generators"), ["nothing"], "'nothing'"),
    (of("recourse", "scenarios", 0, "subsets"), ["nothing"], "'nothing'"),
    (of("recourse", "scenarios", 3, "source", "catalogue"), "no.csv", "no.csv"),
    (of("recourse", "figures", "mistakes_of"), ["nothing"], "'nothing'"),
]


@pytest.mark.parametrize(
    ("place", "value", "words"), CASES, ids=[".".join(map(str, place)) for place, _, _ in CASES]
)
def test_a_mistake_is_one_sentence_with_what_was_found(place, value, words):
    said = sentence_of(lambda: start(spoilt(DEFAULT, place, value)))
    assert said is not None, "was allowed"
    assert all(part in said for part in words.split(" … "))
    assert len(said) < 700, "a sentence, not a list of everything"


@settings(max_examples=20)
@given(place=st.sampled_from(PLACES), value=st.sampled_from([*NASTY, DELETE]))
def test_a_random_mistake_is_one_sentence_or_none(place, value):
    sentence_of(lambda: start(spoilt(DEFAULT, place, value)))


def test_the_default_itself_is_allowed():
    assert sentence_of(lambda: start(copy.deepcopy(DEFAULT))) is None
