"""Hostile names through the real commands: nothing is run, nothing is written outside."""

import re
import shlex
import shutil

import pytest
import yaml
from frugal.core.errors import ConfigError
from frugal.run.stage_words import require_plain_places

from tests.unit.hostile import NAMES
from tests.workflow.runs import BIN, ROOT, TEN_LINES, run, snakemake

pytestmark = pytest.mark.workflow

EXAMPLE = ROOT / "docs" / "examples"
TABLE = "results/data/dataset=ten_lines/table.parquet"
RULES = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
# several words each; LOGS is a quoted variable of the shell, or nothing
QUOTED_BY_SHLEX = {"params.arguments", "params.folders", "params.studies", "LOGS"}
STUB = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word" >> words; done
"""


def study_of(folder, **source):
    """The example of ten lines with another source, and its config; what comes back is its path."""
    described = yaml.safe_load((EXAMPLE / "ten_lines.yaml").read_text(encoding="utf-8"))
    described["source"] |= source
    (folder / "ten_lines.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    config = yaml.safe_load(TEN_LINES.read_text(encoding="utf-8"))
    config["datasets"] = {"ten_lines": str(folder / "ten_lines.yaml")}
    (folder / "study.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder / "study.yaml"


def canaries(folder):
    return [path for path in folder.rglob("PWNED*") if path.is_file()]


def test_every_field_of_every_shell_line_is_quoted():
    texts = [path.read_text(encoding="utf-8") for path in RULES]
    lines = [
        line for text in texts for line in re.findall(r'^ +r?f?"(?:python|cat| [|-]).*', text, re.M)
    ]
    assert len(lines) >= 6
    fields = [f for line in lines for f in re.findall(r"\{([\w.]+(?::q)?)\}", line)]
    loose = {f for f in fields if not f.endswith(":q")}
    assert loose <= QUOTED_BY_SHLEX | {
        "params.arguments.stage",
        "params.cores",
    }  # a word of ours, and a number


def test_file_names_reach_programs_as_words(tmp_path):
    files = [
        {"name": name, "url": f"https://example.org/$(touch PWNED)/{k}", "sha256": "0" * 64}
        for k, name in enumerate(NAMES)
    ]
    study = study_of(tmp_path, kind="download", files=files)
    done = snakemake(tmp_path, "-n", TABLE, configs=(study,))
    assert done.returncode == 0, done.stdout[-3000:]
    commands = re.findall(r"^Shell command: (.*)$", done.stdout, flags=re.MULTILINE)
    assert len(commands) == len(NAMES) + 1
    inside = tmp_path / "by hand"
    stub = tmp_path / "stub" / "python"
    stub.parent.mkdir()
    stub.write_text(STUB)
    stub.chmod(0o755)
    logs = {shlex.split(command)[-1] for command in commands}
    for log in logs:
        (inside / log).parent.mkdir(parents=True, exist_ok=True)
    script = "\n".join([f"PATH={shlex.quote(str(stub.parent))}:$PATH", *commands])
    assert run(["bash", "-c", script], inside).returncode == 0
    words = (inside / "words").read_text(encoding="utf-8").splitlines()
    stored = [w for w in words if w.startswith("file=results/raw/dataset=ten_lines/")]
    assert len({*stored}) == len(NAMES)
    assert sum("https://example.org/$(touch PWNED)/" in word for word in words) == len(NAMES)
    made = {path.relative_to(inside).as_posix() for path in inside.rglob("*") if path.is_file()}
    assert made == {"words", *logs}
    assert not canaries(tmp_path)


def clone(folder):
    """The files of the project that a run reads, in a folder of that name."""
    for name in ("config", "docs/examples", "envs", "profiles", "workflow"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Snakefile", "config.yaml", "requirements.lock"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def run_from(place, working, *words):
    command = [str(BIN / "snakemake"), "--cores", "1", "--directory", str(working)]
    configs = ["--configfile", "docs/examples/ten_lines_config.yaml"]
    return run([*command, *configs, "--", *words], place)


def test_the_clone_and_the_working_folder_may_have_any_ordinary_name(tmp_path):
    place = clone(
        tmp_path / "a b 'q' ;touch PWNED; &|<> (1)[x] * ~ %0A #! $(touch PWNED) é数🦊" / "-rf"
    )
    working = (
        tmp_path
        / "a b"
        / "'q'(1)[x] {dataset} <results> é数🦊"
        / ";touch PWNED; & | > *"
        / "-rf \n~%0A,=:"
    )
    working.mkdir(parents=True)
    done = run_from(place, working, TABLE)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (working / TABLE).is_file()
    assert not canaries(tmp_path)
    assert not canaries(ROOT / "docs")


@pytest.mark.parametrize(
    ("project", "found"),
    [
        ("/home/a:b", "the project's folder is '/home/a:b', and there ':' would"),
        ("/home/{dataset}", "there '{' would be read as more than a letter"),
    ],
)
def test_folders_that_cannot_be_are_one_sentence(project, found):
    with pytest.raises(ConfigError) as refusal:
        require_plain_places(project, "/home")
    assert found in str(refusal.value)


def test_a_run_in_such_a_folder_does_not_start(tmp_path):
    working = tmp_path / 'a"$(touch PWNED); "'
    working.mkdir()
    done = run_from(ROOT, working, "-n", TABLE)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    (sentence,) = [li for li in done.stdout.splitlines() if "Frugal cannot start: " in li]
    assert "the working folder is " in sentence
    assert "'\"' would be read as more" in sentence
    assert not canaries(tmp_path)


@pytest.mark.parametrize(
    ("key", "target", "word", "example"),
    [
        ("table", "decide", "<results>", "clinic.yaml clinic.csv"),  # and not the sibling
        ("transport", "decide", "a <z> b", "clinic.csv"),
        ("records", "over_time", "{dataset}", "wards.yaml wards.csv wards_units.csv"),
    ],
)
def test_a_file_whose_path_snakemake_would_read_as_a_pattern_is_one_sentence(
    key, target, word, example, tmp_path
):
    (place := tmp_path / word).mkdir()
    for name in example.split():
        (place / name).write_bytes((EXAMPLE / name).read_bytes())
    values = {"table": str(EXAMPLE / "clinic.yaml")} if target == "decide" else {}
    values[key] = str(place / example.split()[0])
    words = ["--config", *(f"{k}={v}" for k, v in values.items())]
    done = snakemake(tmp_path, "-n", *words, "--", target, configs=())
    assert done.returncode != 0
    assert f"Frugal cannot start: a file is '{place}/" in done.stdout
    assert "Snakemake reads a word in braces, or between < and >, as" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_config_is_never_run_as_a_program(tmp_path):
    """Nor where Snakemake loads no logger of ours, as with another profile."""
    (tmp_path / "profiles/default").mkdir(parents=True)
    (tmp_path / "profiles/default/config.yaml").write_text("printshellcmds: true\n")
    command = [str(BIN / "snakemake"), "--snakefile", str(ROOT / "Snakefile"), "-n"]
    done = run([*command, "afape", "--config", "__use_yte__=true"], tmp_path)
    assert f"Frugal: Snakemake uses the profile {tmp_path}/profiles/default, not" in done.stdout
    assert "Frugal cannot start: config" in done.stdout
    assert not canaries(tmp_path)
