"""Config files that Snakemake would read itself, before the Snakefile: one sentence, no results."""

import shutil

import pytest
import snakemake_logger_plugin_frugal as plugin

from tests.malformed.configs import laughs
from tests.workflow.runs import BIN, ROOT, run, snakemake

pytestmark = pytest.mark.workflow

MAPPINGS = laughs(12, "{x: 1}", "k{k}: {anchor}", "{}")  # 8¹² values, were they spelt out
ALIASES = f"afape:\n  {MAPPINGS.replace(chr(10), chr(10) + '  ')}"


def test_a_config_file_that_would_hurt_snakemake_is_refused(tmp_path):
    """By what the plugin does before Snakemake reads a file, in this process."""
    path = tmp_path / "study.yaml"
    path.write_text("__use_yte__: true\nseed: ?open('PWNED', 'w')\n", encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        plugin.require_harmless(["--configfile", str(path)])
    assert str(end.value).startswith(f"Frugal cannot start: {path}")
    assert "unknown key '__use_yte__'" in str(end.value)
    assert not (ROOT / "PWNED").exists()


def test_snakemake_itself_refuses_such_a_file(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(ALIASES, encoding="utf-8")
    done = snakemake(tmp_path, "-n", "afape", configs=(path,), fresh=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    (said,) = [line for line in done.stdout.splitlines() if "Frugal cannot start: " in line]
    assert said.startswith(f"Frugal cannot start: {path}")
    assert "aliases expand to more than" in said


def test_a_key_twice_in_the_projects_own_config_is_refused(tmp_path):
    """By the Snakefile: this holds for a Snakemake that finds no plugin, too."""
    for name in ("workflow", "config", "envs", "profiles"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    (tmp_path / "config.yaml").write_text(f"{text}\nseed: 7\n", encoding="utf-8")
    done = run([str(BIN / "snakemake"), "-n", "afape"], tmp_path, fresh=True)
    assert done.returncode == 1
    assert f"Frugal cannot start: {tmp_path}/config.yaml, line " in done.stdout
    assert "key 'seed' is written twice" in done.stdout
    assert "Traceback" not in done.stdout
