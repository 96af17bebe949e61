"""Visits of patients in three wards, a table of states among the policies: files to verdict."""

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.workflow.runs import ROOT, TEN_LINES, snakemake

pytestmark = [pytest.mark.workflow]

EXAMPLE = ROOT / "docs" / "examples"
PATIENTS, VISITS = 120, 3


def _records(rng: np.random.Generator) -> pd.DataFrame:
    """Three visits of each patient, with gaps in both tests."""
    patient = np.repeat(np.arange(PATIENTS), VISITS)
    n = len(patient)
    ward = rng.choice(["north", "south", "west"], size=PATIENTS)[patient]
    own = rng.normal(size=PATIENTS)[patient]
    age = 60 + 10 * own + rng.normal(size=n)
    troponin, narrowed = own + rng.normal(size=n), np.round(np.abs(own + rng.normal(size=n)))
    ill = np.where(own + troponin + rng.normal(size=n) > 0, "yes", "no")
    gap = rng.random((2, n)) < np.array([[0.2], [0.3]])
    return pd.DataFrame(
        {
            "age": age.round(2),
            "smoker": rng.choice(["no", "yes"], size=n),
            "troponin": pd.Series(troponin.round(3)).mask(gap[0]),
            "angiography": pd.Series(narrowed).mask(gap[1]),
            "infarction": ill,
            "ward": ward,
            "patient": patient,
        }
    )


def _states(records: pd.DataFrame) -> pd.DataFrame:
    """A table of states: blood first, angiography where troponin is high."""
    rows = []
    for row, troponin in enumerate(records["troponin"]):
        rows.append((row, [], "blood test", 1.0))
        rows.append((row, ["angiography"], "stop", 1.0))
        if not np.isnan(troponin):
            rows.append((row, ["blood test"], "angiography" if troponin > 0.5 else "stop", 1.0))
    return pd.DataFrame(rows, columns=["row", "acquired", "action", "probability"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    records = _records(np.random.default_rng(0))
    records.to_csv(folder / "ten_lines.csv", index=False)
    _states(records).to_parquet(folder / "mine.parquet")
    table = yaml.safe_load((EXAMPLE / "ten_lines.yaml").read_text())
    table |= {"groups": "ward", "cluster": "patient"}
    (folder / "ten_lines.yaml").write_text(yaml.safe_dump(table))
    config = yaml.safe_load(TEN_LINES.read_text())
    config["datasets"]["ten_lines"] = str(folder / "ten_lines.yaml")
    config["afape"]["agents"]["mine"] = {
        "kind": "table",
        "file": str(folder / "mine.parquet"),
        "dataset": "ten_lines",
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    target = "results/summary/verdict.txt"
    done = snakemake(folder, target, configs=(folder / "config.yaml",))
    assert done.returncode == 0, done.stdout[-5000:]
    return folder


def test_patients_stay_whole_and_wards_are_judged_apart(folder):
    data = pd.read_parquet(
        folder / "results/data/dataset=ten_lines/table.parquet", partitioning=None
    )
    assert (data.groupby("cluster_index")["part"].nunique() == 1).all()
    groups = pd.read_parquet(folder / "results/summary/groups.parquet", partitioning=None)
    assert {"north", "south", "west", ""} == set(groups["group"])
    assert {"never", "mine"} <= set(groups["agent"])
    said = (folder / "results/summary/verdict.txt").read_text()
    assert "By group" in said


def test_a_policy_by_its_table_is_judged_like_the_rule_that_it_copies(folder):
    """`by_troponin` is the same rule; both decide without chance."""
    rows = pd.read_parquet(folder / "results/summary/afape.parquet", partitioning=None)
    rows = rows.set_index(["agent", "estimator"])
    done = rows.loc["by_troponin"].query("status == 'ok'")
    mine = rows.loc["mine"].loc[done.index]
    assert "stabilised_ipw" in done.index
    np.testing.assert_allclose(mine["estimate"], done["estimate"], rtol=1e-9)


def test_estimates_stand_on_patients_not_on_visits(folder):
    rows = pd.read_parquet(folder / "results/summary/afape.parquet", partitioning=None)
    blocked = rows[rows["estimator"] == "blocking"]
    assert (blocked["n"] > 200).all()
    assert (blocked["ess"] <= 72 + 1).all()  # patients of the test part
