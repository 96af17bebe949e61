"""The audit finds what was changed, removed, swapped or cannot be repeated, and names it."""

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from frugal.results.audit import chain_lines
from frugal.results.files import file_digest, payload_bytes, write_bytes
from frugal.results.manifests import AuditError, commit_here, load_manifest, manifest_path
from frugal.results.publishing import SIGNATURE
from frugal.run.audit import audit_command

from tests.unit.result_chains import (
    CATALOGUE,
    OUTSIDE,
    PREPARE,
    SUMMARISE,
    SUMMARY,
    TABLE,
    forge,
    run_step,
    seal_anew,
    write_chain,
)

LOOK = ["--look-in", str(OUTSIDE.parent)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_chain()


def audit(*words):
    return audit_command([*words], run_step)


def refusal(*words):
    with pytest.raises(AuditError) as caught:
        audit(*words)
    return str(caught.value)


def forge_new(payload, **changes):
    """A manifest for a file that no step has made."""
    output = {"path": payload.as_posix(), "sha256": file_digest(payload), "bytes": 1}
    document = load_manifest(manifest_path(TABLE)) | {"outputs": {"text": output}, "inputs": []}
    seal_anew(manifest_path(payload), document | {"tables": {}, **changes})


@pytest.mark.parametrize("name", ["verdict.txt", "answer.html"])
def test_an_edited_answer_next_to_the_results_is_named(name):
    """`decide` and `search` copy their answers out of results/, where people read them."""
    answer = Path("results", name)
    answer.write_text("Take cascade.")
    forge_new(answer)
    Path(name).write_text("Take cascade.")
    assert audit(*LOOK, "--sample", "0") == 0
    Path(name).write_text("Take always.")
    said = f"{name}: is not as results/{name}, of which it should be a copy"
    assert said in refusal(*LOOK, "--sample", "0")


def test_an_untouched_folder_passes_and_every_step_is_repeated(capsys):
    assert audit(*LOOK) == 0
    out = capsys.readouterr().out
    assert "3 files agree" in out
    assert "2 of 2 steps were run again, all with the same bytes" in out
    assert "another version" not in out
    assert commit_here() is None or f"by the code of commit {commit_here()}" in out


def test_all_files_at_fault_are_named_at_once():
    CATALOGUE.write_bytes(b"{}\n")
    SUMMARY.write_bytes(b"")
    said = refusal()
    assert str(CATALOGUE) in said
    assert str(SUMMARY) in said


@pytest.mark.parametrize("path", [SUMMARY, CATALOGUE])
def test_a_removed_payload_is_named(path):
    path.unlink()
    assert f"{path}: is missing, but " in refusal()


def test_a_removed_manifest_is_named_by_its_files():
    manifest_path(SUMMARY).unlink()
    assert f"{SUMMARY}: no manifest names it" in refusal()


def test_a_payload_removed_with_its_manifest_is_missed_by_those_made_from_it():
    TABLE.unlink()
    manifest_path(TABLE).unlink()
    assert f"{TABLE}: is missing" in refusal()


def test_a_manifest_copied_with_its_file_is_named():
    other = Path("results/data/dataset=b/table.parquet")
    write_bytes(other, TABLE.read_bytes())
    write_bytes(manifest_path(other), manifest_path(TABLE).read_bytes())
    assert f"writes: its place is {manifest_path(TABLE)}" in refusal()


def test_what_another_step_has_replaced_is_held_against_the_newer_manifest():
    outputs = {"catalogue": TABLE.with_name("a.json"), "table": TABLE}
    run_step(replace(PREPARE, outputs=outputs, seed=8))
    forge(CATALOGUE, path=TABLE.as_posix(), sha256="0" * 64)
    CATALOGUE.unlink()
    os.utime(manifest_path(TABLE), (0, 0))
    assert audit("--sample", "0") == 0


def test_an_input_replaced_consistently_is_named_by_its_digest():
    frame = pd.DataFrame({"row_id": [0], "age": [1.0], "smoker": [0.0]})
    content = payload_bytes(TABLE, frame)
    TABLE.write_bytes(content)
    forge(TABLE, sha256=hashlib.sha256(content).hexdigest())
    assert f"{TABLE}: is not the file that {SUMMARY} was made from" in refusal()


def test_a_forged_payload_with_a_forged_manifest_does_not_survive_a_repetition():
    content = payload_bytes(SUMMARY, pd.DataFrame({"seed": [0], "estimate": [9.99]}))
    SUMMARY.write_bytes(content)
    forge(SUMMARY, sha256=hashlib.sha256(content).hexdigest())
    assert audit("--sample", "0") == 0  # digests alone agree
    said = refusal("--sample", "2", *LOOK)
    assert f"{SUMMARY}: running stage summarise_afape again gives other bytes" in said


def test_a_step_whose_raw_file_is_not_at_hand_is_stated_to_be_skipped(capsys):
    assert audit() == 0
    said = capsys.readouterr().out
    assert "1 could not be run again: a.yaml from outside was not found" in said
    assert "1 inputs from outside are not here and were not compared, first a.yaml" in said


def test_a_raw_file_that_has_changed_is_named(capsys):
    kept = OUTSIDE.read_text()
    OUTSIDE.write_text("name: changed\n")
    said = refusal(*LOOK, "--sample", "0")
    assert f"{OUTSIDE}: is not the file that {TABLE} was made from" in said
    Path("elsewhere").mkdir()
    Path("elsewhere/a.yaml").write_text(kept)  # one of that name is the right one
    assert audit(*LOOK, "--look-in", "elsewhere") == 0


@pytest.mark.parametrize("name", ["policy.py", "policy.txt", "results/policy.txt"])
def test_code_from_outside_is_not_run_unless_it_is_named(capsys, name):
    """A manifest of somebody else may name an agent of kind python and any file as its code."""
    code = OUTSIDE.with_name(Path(name).name)
    code.write_text("open('PWNED', 'w')\n")
    if name.startswith("results/"):  # a link that leads out of the folder that no code is run from
        Path(name).symlink_to(code.resolve())
        code = Path(name)
        forge_new(code, stage="fetch_file")
    (record,) = json.loads(manifest_path(SUMMARY).read_text())["inputs"]
    other = {"name": "policy", "path": name, "sha256": file_digest(code)}
    nested = {"agents": [{"kind": "python", "file": name, "function": "f"}]}
    forge(SUMMARY, settings=nested, inputs=[record, other])
    ran = []

    def noted(job):
        ran.append(job.stage)
        run_step(replace(SUMMARISE, outputs=job.outputs) if "policy" in job.inputs else job)

    assert audit_command([*LOOK, "--sample", "9"], noted) == 0
    said = capsys.readouterr().out
    assert "were run again, all with the same bytes" in said
    assert f"1 could not be run again: it would run the code of {code}, which --trust-code" in said
    assert "summarise_afape" not in ran
    with pytest.raises(AuditError, match="there is no such file"):
        audit(*LOOK, "--trust-code", "gone.py")
    with pytest.raises(AuditError, match="gives other bytes"):  # it is run now; its bytes are ours
        audit_command([*LOOK, "--sample", "9", "--trust-code", str(code)], spoilt_by(noted))
    assert "summarise_afape" in ran


def spoilt_by(run):
    """A run whose summary is another."""

    def spoil(job):
        run(job)
        if job.stage == "summarise_afape":
            job.outputs["summary"].write_bytes(b"other")

    return spoil


@pytest.fixture
def keys(tmp_path):
    """Two pairs of keys, of OpenSSH and PEM, private and public."""
    found = []
    forms = (
        (PrivateFormat.OpenSSH, Encoding.OpenSSH, PublicFormat.OpenSSH),
        (PrivateFormat.PKCS8, Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )
    for k, (form, encoding, public) in enumerate(forms):
        key = Ed25519PrivateKey.generate()
        paths = tmp_path / f"key{k}", tmp_path / f"key{k}.pub"
        paths[0].write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
        paths[1].write_bytes(key.public_key().public_bytes(encoding, public))
        found.append([str(path) for path in paths])
    return found


def test_a_signature_shows_what_was_made_anew_with_fitting_seals(keys, capsys):
    for private, public in keys:
        assert audit("--sample", "0", "--sign", private) == 0
        assert audit("--sample", "0", "--verify", public) == 0
        assert f"3 files are those that the holder of {public} signed" in capsys.readouterr().out
    assert "was not signed with the key of" in refusal("--sample", "0", "--verify", keys[0][1])
    public = keys[1][1]
    content = payload_bytes(SUMMARY, pd.DataFrame({"seed": [0], "estimate": [9.99]}))
    before = SUMMARY.read_bytes(), manifest_path(SUMMARY).read_bytes()
    SUMMARY.write_bytes(content)
    forge(SUMMARY, sha256=hashlib.sha256(content).hexdigest())
    assert audit("--sample", "0") == 0  # digests alone agree
    assert f"{SUMMARY}: differs from the signed file" in refusal(
        "--sample", "0", "--verify", public
    )
    SUMMARY.write_bytes(before[0])
    manifest_path(SUMMARY).write_bytes(before[1])
    SIGNATURE.write_bytes(SIGNATURE.read_bytes().replace(b"afape.parquet", b"dadi.parquet"))
    assert "was not signed" in refusal("--sample", "0", "--verify", public)
    SIGNATURE.write_text("{}")
    assert "is no signature that audit --sign" in refusal("--sample", "0", "--verify", public)


def test_what_is_no_key_and_a_part_of_the_results_are_refused(keys):
    assert "holds no private Ed25519 key" in refusal("--sample", "0", "--sign", keys[0][1])
    assert "gone: cannot be read" in refusal("--sample", "0", "--verify", "gone")
    assert "results.signature.json: cannot be read" in refusal(
        "--sample", "0", "--verify", keys[0][1]
    )
    assert "take all of results/" in refusal(str(SUMMARY), "--sign", keys[0][0])
    assert not SIGNATURE.exists()


def test_results_of_an_earlier_version_are_counted(capsys):
    forge(SUMMARY, source="0" * 64)
    assert audit("--sample", "0") == 0
    assert "1 files were made by another version" in capsys.readouterr().out


def test_results_of_a_stage_that_is_gone_are_counted_too(capsys):
    forge(SUMMARY, stage="renamed_since")
    assert audit("--sample", "0") == 0
    assert "1 files were made by another version" in capsys.readouterr().out


def test_a_fetched_file_is_not_fetched_again(capsys):
    forge(TABLE, stage="fetch_file", inputs=[])
    assert audit() == 0
    assert "1 of 2 steps were run again" in capsys.readouterr().out


def test_one_file_is_traced_back_to_where_it_came_from(capsys):
    assert audit(str(SUMMARY), *LOOK) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{SUMMARY}  sha256 ")
    assert lines[1].startswith(f"  {TABLE}  sha256 ")
    assert lines[2].startswith("    a.yaml  sha256 ")
    assert lines[2].endswith("from outside")
    assert lines[3].startswith("2 files agree")


def test_tracing_one_file_checks_only_what_is_behind_it():
    CATALOGUE.write_bytes(b"changed")
    assert audit(str(SUMMARY), "--sample", "0") == 0


def test_a_chain_names_a_file_twice_but_follows_it_once():
    run_step(replace(SUMMARISE, inputs={"estimates": [TABLE, TABLE]}))
    lines = list(chain_lines(SUMMARY))
    assert [line.endswith("(shown above)") for line in lines] == [False, False, False, True]


def test_an_absolute_path_into_the_folder_is_the_same_file(capsys):
    assert audit(str(SUMMARY.resolve()), "--sample", "0") == 0
    assert capsys.readouterr().out.startswith(str(SUMMARY))


def test_an_empty_folder_is_refused():
    assert "nothing to audit" in refusal("results/none")


def test_results_of_a_table_in_its_own_folder_are_audited_there(capsys):
    own = Path("results/decide/clinic")
    shutil.copytree("results", own / "results")
    assert audit(*LOOK, "--sample", "0") == 0
    assert f"audit the results of {own} in that folder" in capsys.readouterr().out
    for path in (own, own / "results", own / SUMMARY):
        assert f"run the audit in {own}, which" in refusal(str(path))


def test_the_guide_needs_no_manifest():
    Path("results/README.md").write_text("#")
    assert audit("--sample", "0") == 0


@pytest.mark.parametrize(
    "name",
    [
        "results/summary/README.md",
        "results/summary/report.html",
        "results/report.html",
        "results/_notes.txt",
        "results/data/.DS_Store",
        "results/steps/notes.txt",
        "results/data/dataset=a/.table.parquet.elsewhere.1.0.part",
    ],
)
def test_a_stray_file_is_named_whatever_its_name(name):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("x")
    assert f"{name}: " in refusal()


def test_the_checkpoint_of_a_step_at_work_is_no_stray():
    TABLE.with_name(f".table.parquet.checkpoint-{'0' * 16}.safetensors").write_text("x")
    assert audit("--sample", "0") == 0


def test_results_of_another_lock_are_named(capsys):
    forge(SUMMARY, environment="0" * 64)
    assert audit("--sample", "0") == 0
    said = capsys.readouterr().out
    assert f"1 files were made under another requirements.lock, first {SUMMARY}" in said
