"""Records over time lead to a policy by the workflow, with the numbers of the library."""

import json
import pickle
import re
from dataclasses import replace
from html import escape
from pathlib import Path

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.config.root import Config
from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError, FrugalError
from frugal.core.streams import Streams
from frugal.results.files import read_payload
from frugal.studies.over_time.stages.exploring import explore_over_time

from tests.studies.over_time.test_over_time_files import EXAMPLES, written
from tests.workflow.runs import jobs, snakemake

FILES = [str(EXAMPLES / name) for name in ("wards.csv", "wards_units.csv")]
READ = (".safetensors", ".json", ".parquet")
_SOME = ("st", "s0", "s1", "s2", "s3")  # the head, and 400 stays


def test_the_workflow_and_the_library_give_one_answer(tmp_path, capsys, warm_engine):
    """Both ways together, by one run of the workflow on 400 stays: 15 CPU seconds."""
    texts = [Path(file).read_text(encoding="utf-8").splitlines(True) for file in FILES]
    some = ["".join(line for line in text if line[:2] in _SOME) for text in texts]
    plans = {"both once": {"at": [{"windows": [0], "panels": ["chemistry", "lactate"]}]}}
    (tmp_path / "here").mkdir()
    data = frugal.load_over_time(written(tmp_path / "here", *some, plans=plans, folds=2))
    answer = frugal.over_time(data, learned=True)
    stored = frugal.over_time(data, learned=True, folder=tmp_path)
    for name in ("outcomes", "estimates", "support"):
        pd.testing.assert_frame_equal(
            getattr(answer, name), getattr(stored, name), rtol=1e-8, check_dtype=False
        )
    assert stored.summary() == answer.summary()
    assert stored.tipping_gamma == pytest.approx(answer.tipping_gamma, rel=1e-6)
    assert stored.named == answer.named
    assert stored.page.read_text("utf-8") == answer.page.read_text("utf-8")

    place = tmp_path / "results/over_time/wards"
    assert (place / "verdict.txt").read_text() == stored.summary() + "\n"
    words = ("--config", f"records={tmp_path / 'wards.yaml'}")
    again = snakemake(tmp_path, "over_time", "-n", *words, configs=())
    assert jobs(again.stdout) == {"over_time": 1}  # which prints the answer

    read = {p.stem: read_payload(p) for p in (place / "results").iterdir() if p.suffix in READ}
    parts = {name: read[name] for name in ("records", "catalogue", "policies", "cases", "outcomes")}
    orders = read_payload(place / "results/policy/orders.json")
    streams = Streams(int(Config.model_fields["seed"].default), "explore_over_time", {})
    section = explore_over_time(**parts, orders=orders, context=Context({}, streams))["section"]
    assert section["answers"][0]["sentence"] == stored.summary().splitlines()[0]
    page = stored.page.read_text("utf-8")
    for stay in section["stays"]:
        assert all(
            re.search(f">{re.escape(escape(cell))}</t[dh]>", page)
            for row in stay["rows"]
            for cell in row
        )

    advice = answer.advise(*FILES, hours=9)
    pd.testing.assert_frame_equal(stored.advise(*FILES, hours=9), advice, rtol=1e-9)
    copied = pickle.loads(pickle.dumps(answer))
    pd.testing.assert_frame_equal(copied.advise(*FILES, hours=9), advice)
    assert copied.page != answer.page
    assert copied.page.read_bytes() == answer.page.read_bytes()
    capsys.readouterr()
    command = ["advise", str(place / "results/policy"), FILES[0], "--units", FILES[1]]
    assert main([*command, "--hours", "9", "--out", str(tmp_path / "advice.csv")]) == 0
    lines, first = capsys.readouterr().out.splitlines(), advice.iloc[0]
    assert lines[0] == f"s000, 8 to 16 h: {first['next']}; {first['why']}."
    assert lines[2].startswith("  expected cost: nothing ")
    table = pd.read_csv(tmp_path / "advice.csv")
    assert table["next"].tolist() == advice["next"].tolist()
    assert main([*command, "--policy", "both twice"]) != 0
    assert "policy is 'both twice'; allowed are both once" in capsys.readouterr().err
    edited = orders | {"named": None}
    (place / "results/policy/orders.json").write_text(json.dumps(edited))
    assert main([*command, "--policy", "both once"]) == 2
    assert "orders.json is not as it was written: its digest" in capsys.readouterr().err
    assert main(command[:3]) != 0
    assert "--units is missing" in capsys.readouterr().err

    changed = replace(data, records=replace(data.records, label=1 - data.records.label))
    with pytest.raises(DataError, match="'label' of the data is not that of the files"):
        frugal.over_time(changed, learned=True, folder=tmp_path)

    (place / ".snakemake/locks").mkdir(exist_ok=True)
    (place / ".snakemake/locks/0.output.lock").write_text("results/verdict.txt\n")
    with pytest.raises(
        FrugalError, match=r"another run works in .*delete .*wards/\.snakemake/locks$"
    ):
        frugal.over_time(data, learned=True, folder=tmp_path)

    class Never:
        """A policy of one's own."""

        name = "never"

        def order(self, state):
            return np.zeros((len(state.since), 3), dtype=bool)

    with pytest.raises(ConfigError, match="'never' is none of order_plan"):
        frugal.over_time(data, [Never()], folder=tmp_path)
    with pytest.raises(ConfigError, match=r"wards\.yaml would be overwritten"):
        frugal.over_time(data, folder=tmp_path / "here")
