"""A misspelt panel or column of a scenario is refused at start, with what was meant."""

import pytest
from frugal.answer.requirements import require_known_names
from frugal.core.errors import ConfigError

from tests.unit.dataset_documents import document, load


def entry(panels, s=None):
    return {"missingness": {"source": "induced", "panels": panels}, "s": s}


@pytest.mark.parametrize(
    ("panels", "s", "sentence"),
    [
        ({"blod": {}}, None, "x.missingness.panels names panel 'blod'; data set 'small' has"),
        ({"blood": {"values": {"agee": 1.0}}}, None, "panels.blood.values names column 'agee'"),
        ({"blood": {"values": ["agee"]}}, None, "did you mean 'age'?"),
        ({"blood": {"values": ["smoker"]}}, None, "name a level, for example 'smoker=yes'"),
        ({"blood": {"indicators": {"scn": 1.0}}}, None, "names panel 'scn'"),
        ({"interview": {}}, None, "names panel 'interview'"),  # free: always known
        ({"blood": {}}, ["blood", "x"], "x.s names panel 'x'"),
    ],
)
def test_an_unknown_name_is_refused_with_its_key(tmp_path, panels, s, sentence):
    with pytest.raises(ConfigError) as caught:
        require_known_names("x", entry(panels, s), load(tmp_path, document()))
    assert sentence in str(caught.value)


def test_a_column_may_have_an_equals_sign_in_its_name(tmp_path):
    made = document()
    assert made["columns"][0]["name"] == "age"
    made["columns"][0]["name"] = "age>=18"
    for panel in made["panels"]:
        panel["columns"] = ["age>=18" if name == "age" else name for name in panel["columns"]]
    described = load(tmp_path, made)
    law = {"values": {"age>=18": 1.0, "smoker=yes": 0.5}}
    require_known_names("x", entry({"blood": law}), described)
    assert described.column_of("age>=18") == "age>=18"
    assert described.column_of("smoker=yes") == "smoker"
    assert described.column_of("age>") is None


def test_columns_levels_and_panels_that_exist_pass(tmp_path):
    law = {"values": {"age": 1.0, "smoker=yes": 0.5}, "indicators": {"scan": 1.0}}
    described = load(tmp_path, document())
    require_known_names("x", entry({"blood": law, "scan": {}}, ["scan"]), described)
