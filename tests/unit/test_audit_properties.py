"""Whatever is changed in random results, the audit names the file; a property over the changes."""

import json
import shutil
from pathlib import Path

import pytest
from frugal.results.manifests import AuditError, load_record, manifest_path, manifest_paths
from frugal.run.audit import audit_command
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.random_chains import Chain, chains, payload, run_step, write_chain
from tests.unit.result_chains import forge, seal_anew

OPTIONS = settings(max_examples=15)
OTHER = {"path": "results/x", "sha256": "0" * 64, "bytes": 1}
CHAIN = Chain(reads=((), (0,), (0, 1)))


def audit(*words):
    return audit_command([*words, "--look-in", "outside"], run_step)


def refusal(*words):
    with pytest.raises(AuditError) as caught:
        audit(*words)
    return str(caught.value)


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Writes a chain in an empty folder, as often as wished."""

    def write(chain):
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        write_chain(tmp_path / "run", chain, monkeypatch)
        return sorted(p for p in Path("results/step").rglob("*") if p.is_file())

    return write


@pytest.mark.parametrize(("kind", "words"), [("payload", "SHA-256 is"), ("manifest", "")])
@OPTIONS
@given(chain=chains(), data=st.data())
def test_a_flipped_bit_of_any_file_is_named(fresh, kind, words, chain, data):
    paths = fresh(chain)
    path = data.draw(st.sampled_from(manifest_paths() if kind == "manifest" else paths))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(content))
    assert f"{path}: {words}" in refusal("--sample", "0")


@OPTIONS
@given(chain=chains(), data=st.data())
def test_a_finished_step_that_is_gone_without_a_trace_is_missed(fresh, chain, data):
    path = data.draw(st.sampled_from(fresh(chain)))
    shutil.rmtree(path.parent)
    assert f"{path}: is missing" in refusal("--sample", "0")


@OPTIONS
@given(chain=chains(), data=st.data(), with_manifests=st.booleans())
def test_two_swapped_files_are_named(fresh, chain, data, with_manifests):
    paths = [p for p in fresh(chain) if p.name == "table.parquet"]
    one, other = data.draw(st.permutations(paths))[:2]
    pairs = [(one, other)]
    if with_manifests:
        pairs.append((manifest_path(one), manifest_path(other)))
    for a, b in pairs:
        content = a.read_bytes()
        a.write_bytes(b.read_bytes())
        b.write_bytes(content)
    said = refusal("--sample", "0")
    one, other = pairs[-1]
    assert f"{one}: " in said
    assert f"{other}: " in said


@OPTIONS
@given(chain=chains(), data=st.data(), cut=st.floats(0.0, 1.0, exclude_max=True))
def test_a_truncated_file_is_named(fresh, chain, data, cut):
    paths = fresh(chain)
    path = data.draw(st.sampled_from([*paths, *manifest_paths()]))
    path.write_bytes(path.read_bytes()[: int(cut * path.stat().st_size)])
    assert f"{path}: " in refusal("--sample", "0")


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": [{"name": "a", "path": "/etc/passwd", "sha256": "0" * 64}]},
        {"inputs": [{"name": "a", "path": "../../x", "sha256": "0" * 64}]},
        {"inputs": [{"name": "../a", "path": "x", "sha256": "0" * 64}]},
        {"inputs": [{"name": "a", "path": "x", "sha256": "none"}]},
        {"inputs": [{"path": "x"}]},
        {"inputs": "none"},
        {"inputs": None},
        {"outputs": {"table": OTHER | {"path": "results/../../../x"}}},
        {"outputs": {"table": OTHER | {"path": "/tmp/x"}}},
        {"outputs": {"table": OTHER | {"path": "results/x\x1b[2J"}}},
        {"outputs": {"../../table": OTHER}},
        {"outputs": {"table": OTHER}},
        {"outputs": {"table": {}}},
        {"outputs": {}},
        {"outputs": []},
        {"tables": {"table": {}}},
        {"seed": "7"},
        {"seed": True},
        {"stage": None},
        {"source": 1},
        {"outputs": {"table": OTHER | {"sha256": None}}},
        {"wildcards": []},
    ],
    ids=str,
)
def test_a_forged_manifest_with_a_fitting_seal_is_refused_before_it_is_followed(fresh, change):
    fresh(CHAIN)
    path = manifest_path(payload(1))
    seal_anew(path, json.loads(path.read_text()) | change)
    assert f"{path}: is not a manifest that this project writes" in refusal()


def test_a_manifest_in_another_layout_was_edited(fresh):
    fresh(CHAIN)
    path = manifest_path(payload(1))
    path.write_text(path.read_text().replace("\n", "\n\n", 1))
    with pytest.raises(AuditError, match="was edited after it was written"):
        load_record(payload(1))


def test_one_row_is_shown_with_its_numbers_and_what_is_behind_it(fresh, capsys):
    fresh(CHAIN)
    assert audit(str(payload(2)), "--row", "seed=1", "--sample", "0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed = 1"
    assert lines[1].startswith("cost = ")
    assert lines[1].endswith("cost unit of the data set")
    assert any(f"{payload(0)}  sha256 " in line and "1 of 3 rows" in line for line in lines)
    assert sum(line.strip().startswith("0.yaml  sha256 ") for line in lines) == 1


def test_inputs_of_other_rows_are_left_out_of_the_chain(fresh, capsys):
    from frugal.results.audit import RowSelection, chain_lines

    fresh(CHAIN)
    lines = list(chain_lines(payload(2), RowSelection({"dataset": frozenset({"d1", "d2"})})))
    assert not any(line.startswith(f"  {payload(0)}") for line in lines)
    assert "  (1 more inputs hold other rows)" in lines
    everything = list(chain_lines(payload(2), RowSelection({"dataset": frozenset({"elsewhere"})})))
    assert any(line.startswith(f"  {payload(0)}") for line in everything), "never an empty chain"


def test_the_publishers_address_of_a_fetched_file_ends_its_chain(fresh):
    from frugal.results.audit import chain_lines

    fresh(CHAIN)
    settings_ = {"url": "https://example.org/a.csv", "sha256": "1" * 64}
    forge(payload(0), stage="fetch_file", settings=settings_, inputs=[])
    lines = list(chain_lines(payload(0)))
    assert lines[1] == f"  https://example.org/a.csv  sha256 {'1' * 64}  as published"
