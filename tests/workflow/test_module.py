"""The workflow as a module of another one: prefixes, two studies at once, a few keys."""

import re
from pathlib import Path
from textwrap import indent

import pytest
import yaml

from tests.workflow import shared
from tests.workflow.runs import BIN, ROOT, jobs, payloads, run, snakemake
from tests.workflow.shared import FEW_POLICIES

pytestmark = pytest.mark.workflow
EXAMPLES = ROOT / "docs" / "examples"


def module(name: str, *, prefix: str | None = None, config: str = "config") -> str:
    """A module and all its rules, as a user's Snakefile has them."""
    lines = [f"module {name}:", f"    snakefile: {str(ROOT / 'workflow' / 'Snakefile')!r}"]
    lines += [f"    config: {config}", *([f"    prefix: {prefix!r}"] if prefix else [])]
    return "\n".join([*lines, "", f"use rule * from {name} as {name}_*", ""])


def started(folder: Path, *words: str):
    """`snakemake` in a user's folder, which is not this project's."""
    cores = [] if "-n" in words else ["--cores", "1"]
    return run([str(BIN / "snakemake"), *cores, *words], folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two studies beside a rule of the user's own: folder and what the run said."""
    folder = tmp_path_factory.mktemp("user")
    for name in ("clinic.csv", "clinic.yaml", "ten_lines.csv", "ten_lines.yaml"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    own = {
        "visits": {"table": "clinic.yaml", **FEW_POLICIES},
        "ten": {"table": "ten_lines.yaml", "seed": 5},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(own))
    (folder / "Snakefile").write_text(
        'configfile: "config.yaml"\n'
        "rule all:\n    default_target: True\n    input:\n"
        '        "visits/results/verdict.txt",\n'
        '        "ten/results/missingness/dataset=ten_lines/mechanism=own/masks.parquet",\n'
        '        "mine.txt"\n'
        'rule mine:\n    output: "mine.txt"\n    shell: "env > {output}"\n'
        + module("visits", prefix="visits", config='config["visits"]')
        + module("ten", prefix="ten", config='config["ten"]')
    )
    done = started(folder)
    assert done.returncode == 0, done.stdout[-3000:]
    return folder, done.stdout


def test_two_studies_run_next_to_a_rule_of_ones_own(finished):
    _, said = finished
    assert jobs(said)["visits_learn_candidates"] == 5
    assert {name: jobs(said)[name] for name in ("ten_prepare_data", "mine")} == {
        "ten_prepare_data": 1,
        "mine": 1,
    }
    assert "ten_learn_candidates" not in jobs(said)


def test_the_bytes_are_those_of_a_run_without_a_module(finished, runs):
    plain = shared.finished("clinic", runs).folder
    theirs = payloads(plain / "results" / "decide" / "clinic")
    ours = payloads(finished[0] / "visits")
    # The answer names folders from where one stands; bundles, with their classifier, were not asked
    told = re.compile(r"results/(steps/)?(verdict|answer)\.[^/]*$")
    bundled = re.compile(r"/(bundles|classifiers)/")
    asked = {name for name in theirs if not bundled.search(name)}
    same = {name for name in asked if not told.fullmatch(name)}
    assert len(same) >= 30
    # the manifest of `prepare_data` names the table's YAML, which lies elsewhere here
    from_yaml = {n for n in same if n.startswith("results/steps/data/")}
    for name in same - from_yaml:
        assert ours[name] == theirs[name], name
    assert len(from_yaml) == 1
    differ = {name for name in ours if not told.fullmatch(name)} - same
    assert differ == set()


def test_the_users_own_rules_and_folder_are_left_alone(finished):
    folder, _ = finished
    environment = (folder / "mine.txt").read_text()
    assert "PYTHONSAFEPATH" not in environment
    made = {path.name for path in folder.iterdir()} - {".snakemake", "Snakefile", "config.yaml"}
    tables = {"clinic.csv", "clinic.yaml", "ten_lines.csv", "ten_lines.yaml"}
    assert made == {"visits", "ten", "mine.txt", *tables}


def test_the_results_pass_the_audit(finished):
    folder, _ = finished
    words = [str(BIN / "python"), "-m", "frugal", "audit", "--sample", "1", "--look-in", ".."]
    done = run(words, folder / "visits")
    assert done.returncode == 0, done.stdout


def test_what_runs_again_is_the_one_study_that_is_changed(finished):
    folder, _ = finished
    config = folder / "config.yaml"
    before = config.read_text()
    config.write_text(before.replace("seed: 5", "seed: 6"))
    again = jobs(started(folder, "-n").stdout)
    config.write_text(before)
    assert set(again) == {"ten_prepare_data", "ten_draw_missingness", "all"}


def test_the_default_of_all_studies_is_planned_from_one_key_and_without_a_network(tmp_path):
    (tmp_path / "Snakefile").write_text(module("frugal", config='{"seed": 7}'))
    done = started(tmp_path, "-n", "frugal_all")
    planned = jobs(done.stdout)
    alone = jobs(snakemake(tmp_path, "-n", "all", configs=()).stdout)
    assert {"check_afape", "train_dadi", "compare_planners"} <= alone.keys()
    assert "fetch_file" not in alone
    assert planned == {f"frugal_{name}": count for name, count in alone.items()}
    assert not (tmp_path / "results").exists()


def test_a_mistake_is_a_sentence(tmp_path):
    """All in one start, whose Snakefile goes on after each."""
    mistakes = {
        module("m0", config='{"sed": 7}'): "unknown key 'sed'.* did you mean 'seed'",
        module("m1").replace("config: config", 'replace_prefix: {"results": "out"}'): (
            "the module has a replace_prefix; allowed is prefix"
        ),
        module("m2").replace("rule * from m2 as m2_*", "rule prepare_data from m2 as tables"): (
            r"`use rule` takes or excludes prepare_data; allowed is `use rule \* from"
        ),
        module("m3").replace("from m3 as", "from m3 exclude all, draw_missingness as"): (
            "`use rule` takes or excludes draw_missingness; allowed is"
        ),
    }
    each = "try:\n{}\nexcept (Exception, SystemExit) as refused:\n    print(refused)\n"
    snakefile = "".join(each.format(indent(text, "    ")) for text in mistakes)
    (tmp_path / "Snakefile").write_text(snakefile)
    done = started(tmp_path, "-n")
    refused = re.findall(r"^Frugal cannot start: .*", done.stdout, re.MULTILINE)
    assert len(refused) == len(mistakes), done.stdout
    for line, sentence in zip(refused, mistakes.values(), strict=True):
        assert re.search(sentence, line), line


def test_the_catalogues_files_are_there_and_say_what_holds():
    catalogue = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())
    assert catalogue["usage"]["software-stack-deployment"] == {"conda": True}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{citation["version"]}"' in project
    assert f'license = "{citation["license"]}"' in project
    page = (ROOT / "config" / "README.md").read_text()
    assert 'snakefile: "frugal/workflow/Snakefile"' in page
