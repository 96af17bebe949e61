"""Hostile names: what they become where they are stored, drawn and refused."""

import copy
import re
from pathlib import Path

import pytest
from frugal.config.root import effective
from frugal.core.errors import ConfigError
from frugal.data.raw import LONGEST, stored_names
from frugal.draw import style
from frugal.results.files import payload_bytes
from frugal.run.study import Study, published_file
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from tests.defaults import DEFAULT
from tests.unit.dataset_documents import document, load
from tests.unit.hostile import NAMES, REFUSED

SAFE = re.compile(r"[A-Za-z0-9+-][A-Za-z0-9_.+-]*")


def decoded(stored: str) -> str:
    return re.sub(
        rb"\+([0-9A-F]{2})", lambda found: bytes.fromhex(found[1].decode()), stored.encode()
    ).decode()


@pytest.mark.parametrize("name", NAMES)
def test_a_download_is_stored_under_a_plain_name_that_states_the_declared_one(name):
    (stored,) = stored_names([name])
    assert SAFE.fullmatch(stored)
    assert len(stored) <= LONGEST
    assert Path(stored).suffix not in {".json", ".parquet", ".safetensors", ".html", ".png"}
    if len(name.encode()) < 70:
        assert decoded(stored) == name


def test_stored_names_are_all_different_and_plain_ones_stay():
    assert len({*stored_names(NAMES)}) == len(NAMES)
    plain = ["adult.data", "MICROBIOLOGYEVENTS.csv.gz", "set-a.tar.gz", "P_DEMO.XPT", "a..b"]
    assert stored_names([f"some/folder/{name}" for name in plain]) == plain


def test_two_files_of_one_last_name_are_stored_apart():
    assert stored_names(["a/x.csv", "b/x.csv", "c/y.csv"]) == ["a+2Fx.csv", "b+2Fx.csv", "y.csv"]


def everywhere(name: str) -> dict:
    """The small document with this name for its file, panel, column, level, class and unit."""
    told = document()
    told["source"]["files"] = [{"name": name, "url": "https://example.org/x", "sha256": "0" * 64}]
    told["source"]["kind"] = "download"
    told["cost_unit"] = told["title"] = name
    told["columns"][2] |= {"name": name, "unit": name, "from": "marker"}
    told["columns"][1]["levels"] = ["no", f"{name}!"]
    told["panels"][1] |= {"name": name, "columns": [name]}
    told["label"]["classes"][1]["name"] = name
    return told


@pytest.mark.parametrize("name", NAMES)
def test_every_such_name_is_accepted_in_a_description_and_stays_inside_the_folder(tmp_path, name):
    described = load(tmp_path, everywhere(name))
    assert described.panels[1].name == described.cost_unit == name
    study = Study({"data_mirror": None}, {"small": described.path}, {"small": described}, {})
    (path,) = [p for key, p in study.raw_inputs("small").items() if key.startswith("raw_")]
    assert Path(path).parent == Path("results/raw/dataset=small")
    told = published_file([study.fetch_settings], "small", Path(path).name)
    assert told["url"] == "https://example.org/x"


def named(name: str) -> dict:
    """The default config with this name for an agent, a mechanism and a data set."""
    config = copy.deepcopy(DEFAULT)
    config["afape"]["agents"][name] = {"kind": "random", "probability": 0.5}
    config["afape"]["scenarios"][0]["mechanism"] = name
    config["datasets"][name] = "config/datasets/synthetic_mnar.yaml"
    return config


def test_agents_mechanisms_and_data_sets_have_plain_names():
    plain = [name for name in NAMES if re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name)]
    assert {"--help", "-rf", "CON"} <= {*plain}
    for name in plain:
        effective(named(name))
    for name in [*NAMES, *REFUSED]:
        if name not in plain:
            with pytest.raises(ConfigError) as refusal:
                effective(named(name))
            assert len(str(refusal.value).splitlines()) == 1
            assert str(refusal.value).isprintable()


@style.printed
def drawn(name: str) -> Figure:
    figure = style.new_figure(height_in=2.0)
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.plot([0, 1], [1.0, 1e4], marker="$–$")
    axes.set_xticks([0, 1], [name, name])
    axes.set_xlabel(name)
    axes.set_title(name)
    style.add_legend(figure, [Line2D([], [], label=f"x {name}")])
    return figure


@pytest.mark.parametrize("name", [n for n in NAMES if {*n} & {*"$^\\{%"}])
def test_a_name_is_drawn_as_text(name):
    figure = drawn(name)
    payload_bytes(Path("a.png"), figure)
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    shown = [t for t in texts if name in t.get_text() and "mathdefault" not in t.get_text()]
    assert len(shown) >= 5
    assert not any(text.get_parse_math() for text in shown)


def test_powers_of_ten_are_still_formulas():
    powers = [
        t for t in drawn("$x$").axes[0].yaxis.get_ticklabels() if "mathdefault" in t.get_text()
    ]
    assert powers
    assert all(text.get_parse_math() for text in powers)
