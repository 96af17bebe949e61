"""The published digests: equal, or which tables differ and on which CPU they were made."""

import json

import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.results.files import payload_bytes, write_bytes
from frugal.results.manifests import AuditError
from frugal.results.publishing import compare_published, publish, table_digest, this_cpu
from frugal.run.audit import audit_command

from tests.unit.result_chains import SUMMARISE, SUMMARY, run_step, write_chain

CPUINFO = """\
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Some Xeon
flags\t\t: fpu avx2 avx512f
"""


@pytest.fixture(autouse=True)
def published(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "published.json"
    monkeypatch.setattr("frugal.results.publishing.PUBLISHED", path)
    return path


def test_a_run_that_was_published_is_as_published(capsys):
    write_chain()
    assert audit_command(["--publish"], run_step) == 0
    assert audit_command(["--published"], run_step) == 0
    said = capsys.readouterr().out
    assert "1 tables have the published bytes (made on " in said
    assert "arithmetic fast)" in said


def test_a_table_that_differs_is_named_with_the_cpu_of_the_published_one(published):
    write_chain()
    publish()
    document = json.loads(published.read_text()) | {"cpu": "another CPU"}
    published.write_text(json.dumps(document))
    write_bytes(SUMMARY, payload_bytes(SUMMARY, pd.DataFrame({"seed": [1]})))
    with pytest.raises(AuditError) as caught:
        audit_command(["--published"], run_step)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{SUMMARY}: differs from the published one"
    assert lines[1] == "0 of 1 are as published"
    assert lines[2].startswith("published: made on another CPU, arithmetic fast; here: ")


def test_what_else_differs_is_stated(published):
    write_chain()
    publish()
    document = json.loads(published.read_text())
    document |= {"arithmetic": "portable 0123456789ab", "environment": "0" * 64}
    document["tables"][str(SUMMARY)] = "0" * 64
    published.write_text(json.dumps(document))
    with pytest.raises(AuditError) as caught:
        compare_published()
    said = str(caught.value)
    assert "arithmetic is portable 0123456789ab where they were published, fast here" in said
    assert "requirements.lock is 000000000000000000000 where they were published" in said


def test_a_table_that_is_not_there_is_named():
    write_chain()
    publish()
    SUMMARY.unlink()
    with pytest.raises(AuditError, match=f"{SUMMARY}: is not there"):
        compare_published()


def test_measured_seconds_do_not_count(tmp_path):
    frame = pd.DataFrame({"efficacy": [0.5], "cpu_s": [1.0]})
    digests = []
    for k, table in enumerate([frame, frame.assign(cpu_s=2.0), frame.assign(efficacy=0.6)]):
        path = tmp_path / f"{k}.parquet"
        write_bytes(path, payload_bytes(path, table))
        digests.append(table_digest(path))
    assert digests[0] == digests[1] != digests[2]


def test_tables_made_in_two_ways_are_not_published():
    write_chain()
    other = SUMMARY.with_name("other.parquet")
    from dataclasses import replace

    run_step(replace(SUMMARISE, outputs={"summary": other}, arithmetic="portable"))
    with pytest.raises(DataError, match="were made in 2 ways"):
        publish()


def test_nothing_is_not_published():
    with pytest.raises(DataError, match="holds no table"):
        publish()


def test_a_cpu_is_named_by_maker_family_and_model(tmp_path):
    told = tmp_path / "cpuinfo"
    told.write_text(CPUINFO)
    assert this_cpu(told).startswith("Some Xeon (family 6, model 85), with AVX-512, ")
    assert "model ?" in this_cpu(tmp_path / "none")
