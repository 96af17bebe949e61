"""Bad input through the real commands: one sentence, a non-zero exit, no results."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from frugal.core.errors import FrugalError
from frugal.run.config_files import read_config_file
from snakemake.utils import update_config

from tests.defaults import DEFAULT
from tests.unit.test_bad_configs import start
from tests.workflow import sentences
from tests.workflow.runs import ROOT, TEN_LINES, frugal_here, snakemake

pytestmark = pytest.mark.workflow

EXAMPLE = ROOT / "docs" / "examples"
TABLE = (EXAMPLE / "ten_lines.csv").read_text(encoding="utf-8")
DESCRIPTION = yaml.safe_load((EXAMPLE / "ten_lines.yaml").read_text(encoding="utf-8"))
CONFIG = yaml.safe_load(TEN_LINES.read_text(encoding="utf-8"))


def write_study(folder, *, description=DESCRIPTION, table=TABLE, config=CONFIG):
    """One's own study in a folder: table, description and config, one of them spoilt."""
    (folder / "ten_lines.csv").write_text(table, encoding="utf-8")
    (folder / "ten_lines.yaml").write_text(yaml.safe_dump(description), encoding="utf-8")
    whole = config | {"datasets": {"ten_lines": str(folder / "ten_lines.yaml")}}
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return path


def changed(document, **values):
    return copy.deepcopy(document) | values


def results(folder):
    return [path for path in Path(folder, "results").rglob("*") if path.is_file()]


def refused_at_start(folder, **spoilt):
    """What is said of a study that cannot start, by what the Snakefile calls before its rules."""
    config = copy.deepcopy(DEFAULT)
    update_config(config, read_config_file(write_study(folder, **spoilt)))
    with pytest.raises(FrugalError) as refusal:
        start(config)
    assert str(refusal.value).isprintable()
    return str(refusal.value)


def refused_by_snakemake(folder, **spoilt):
    """The same of the real command."""
    done = snakemake(folder, "afape", configs=(write_study(folder, **spoilt),))
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    assert not results(folder)
    (sentence,) = [line for line in done.stdout.splitlines() if "Frugal cannot start: " in line]
    return sentence


def refused_in_a_stage(folder, *, stage="prepare_data", inputs=None, outputs=None, **command):
    """What a stage says of its input."""
    inputs = inputs or {"description": "ten_lines.yaml", "raw_0": "ten_lines.csv"}
    outputs = outputs or {"table": "results/table.parquet", "catalogue": "results/catalogue.json"}
    words = [stage, "--seed", "0", "--settings", command.get("settings", "{}")]
    words += [word for item in inputs.items() for word in ("--input", "=".join(item))]
    words += [word for item in outputs.items() for word in ("--output", "=".join(item))]
    done = frugal_here(folder, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout
    assert not results(folder)
    (sentence,) = [line for line in done.stdout.splitlines() if line.startswith(f"frugal {stage}:")]
    return sentence


COSTS_LESS = changed(DESCRIPTION)
COSTS_LESS["panels"][1]["cost"] = -30


def test_snakemake_tells_a_refusal_and_the_config_files(tmp_path):
    said = refused_by_snakemake(
        tmp_path, config=changed(CONFIG, recourse={"frequency_edges": [1, 5]})
    )
    assert "config (study.yaml over config.yaml): recourse.frequency_edges is [1, 5]" in said


UNKNOWN_PANEL, UNKNOWN_COLUMN = changed(CONFIG), changed(DESCRIPTION)
UNKNOWN_PANEL["afape"]["scenarios"][0]["missingness"]["panels"]["bood test"] = {}
UNKNOWN_COLUMN["panels"][1]["columns"] = ["troponine"]


@pytest.mark.parametrize(
    ("spoilt", "sentences"),
    [
        ({"config": UNKNOWN_PANEL}, ("names panel 'bood test'", "did you mean 'blood test'?")),
        ({"description": COSTS_LESS}, ("-30", "is -30; allowed are values from 0 on")),
        ({"description": UNKNOWN_COLUMN}, ("'troponine'", "did you mean 'troponin'?")),
    ],
    ids=["panel", "cost", "column"],
)
def test_what_is_wrong_is_refused_before_any_job(tmp_path, spoilt, sentences):
    said = refused_at_start(tmp_path, **spoilt)
    assert all(words in said for words in sentences), said


def test_a_missing_column_is_shown_on_the_terminal_of_a_run(tmp_path):
    table = TABLE.replace("troponin", "troponin_t", 1)
    done = snakemake(tmp_path, "afape", configs=(write_study(tmp_path, table=table),))
    assert done.returncode != 0
    assert not results(tmp_path)
    (said,) = [li for li in done.stdout.splitlines() if li.startswith("frugal prepare_data: ")]
    assert said.startswith(sentences.missing_column(tmp_path / "ten_lines.yaml"))
    assert "Traceback" not in done.stdout


def test_a_wrong_checksum_is_refused(tmp_path):
    description = changed(DESCRIPTION)
    description["source"]["files"] = [{"name": "ten_lines.csv", "sha256": "0" * 64}]
    write_study(tmp_path, description=description)
    said = refused_in_a_stage(tmp_path)
    assert "ten_lines.csv has SHA-256" in said
    assert "0" * 64 in said


def test_a_label_with_one_class_is_refused(tmp_path):
    write_study(tmp_path, table=TABLE.replace("yes\n", "no\n"))
    said = refused_in_a_stage(tmp_path)
    assert "class" in said


def law(panels):
    """Settings of `draw_missingness` on the tiny study."""
    missingness = {
        "source": "induced",
        "standardise": False,
        "complete_share": None,
        "panels": panels,
    }
    return json.dumps({"name": "spoilt", "seeds": [0], "missingness": missingness, "s": None})


def refused_law(tiny_run, folder, panels):
    data = tiny_run.folder / "results" / "data" / "dataset=tiny_world"
    return refused_in_a_stage(
        folder,
        stage="draw_missingness",
        inputs={"table": str(data / "table.parquet"), "catalogue": str(data / "catalogue.json")},
        outputs={name: f"results/{name}.json" for name in ("graph", "identification")}
        | {"masks": "results/masks.parquet"},
        settings=law(panels),
    )


def test_a_cyclic_graph_is_refused_with_its_cycle(tiny_run, tmp_path):
    panels = {
        "X2": {"intercept": 0.0, "indicators": {"superX3": 1.0}},
        "superX3": {"intercept": 0.0, "indicators": {"X2": 1.0}},
    }
    said = refused_law(tiny_run, tmp_path, panels)
    assert "has the cycle R_X2 → R_superX3 → R_X2" in said or "R_superX3 → R_X2 → R_superX3" in said


def test_no_complete_case_is_refused(tiny_run, tmp_path):
    said = refused_law(tiny_run, tmp_path, {"X2": {"intercept": -30.0}})
    assert "no complete case: none of 800 test rows" in said
    assert "mechanism 'spoilt' with seed 0" in said


def test_a_catalogue_of_ones_own_that_cannot_be_read_is_refused(tmp_path):
    actions = (EXAMPLE / "recourse_actions.csv").read_text(encoding="utf-8")
    (tmp_path / "actions.csv").write_bytes(actions.replace("course", "kürs").encode("latin-1"))
    said = refused_in_a_stage(
        tmp_path,
        stage="label_units",
        inputs={"catalogue": "actions.csv", "units": str(EXAMPLE / "recourse_units.csv")},
        outputs={"labels": "results/labels.parquet", "names": "results/names.json"}
        | {"instance": "results/instance.safetensors"},
        settings=json.dumps({"source": {"kind": "own"}, "most_actions": 3, "max_nodes": 1000}),
    )
    assert "actions.csv, line 8 is not UTF-8 text (byte 0xfc)" in said
