"""A config that is wrong in any one place is one sentence at start, and never another error.

Random mistakes: a value of the embedded default replaced by something nasty, or removed. Those made
by hand are in `tests/malformed/mistakes.yaml`, with the words that each sentence must have.
"""

import copy
from pathlib import Path
from typing import Any

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


@settings(max_examples=20)
@given(place=st.sampled_from(PLACES), value=st.sampled_from([*NASTY, DELETE]))
def test_a_random_mistake_is_one_sentence_or_none(place, value):
    sentence_of(lambda: start(spoilt(DEFAULT, place, value)))


def test_the_default_itself_is_allowed():
    assert sentence_of(lambda: start(copy.deepcopy(DEFAULT))) is None
