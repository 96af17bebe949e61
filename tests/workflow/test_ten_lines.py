"""One's own small table, from the example's two files to a summary without a truth."""

import hashlib
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pandas as pd
import pytest
import yaml
from frugal.results.manifests import load_record

from tests.workflow import shared
from tests.workflow.runs import ROOT, TEN_LINES, frugal, jobs, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.trains]


@pytest.fixture(scope="module")
def folder(runs):
    done = shared.finished("ten_lines", runs)
    assert done.output.count("] roll_out") == 4
    return done.folder


@pytest.fixture(scope="module")
def summary(folder):
    return pd.read_parquet(folder / "results" / "summary" / "afape.parquet", partitioning=None)


def test_the_truth_is_unknown_and_stated_to_be(summary):
    assert summary["truth"].isna().all()
    truth = summary[summary["estimator"] == "ground_truth"]
    assert (truth["status"] == "not_available").all()
    assert truth["reason"].str.contains("the truth is unknown").all()


def test_what_needs_the_true_law_is_not_available(summary):
    true_law = summary[summary["estimator"].str.endswith("_true")]
    assert (true_law["status"] == "not_available").all()


def test_what_the_config_leaves_out_is_not_available(summary):
    imputed = summary[summary["estimator"].str.contains("imputation")]
    assert (imputed["status"] == "not_available").all()
    assert imputed["reason"].str.contains("leaves this imputation out").all()


def test_the_other_estimators_give_costs_that_the_table_allows(summary):
    done = summary[summary["status"] == "ok"].set_index(["agent", "estimator"])
    assert {"blocking", "complete_case", "stabilised_ipw", "stabilised_afais_s"} <= {
        estimator for _, estimator in done.index
    }
    # a self-normalised mean lies between the cheapest and the dearest case: tests cost 30 and 900,
    # a false alarm 1000, a missed infarction 5000
    for estimator in ("blocking", "complete_case", "stabilised_ipw", "stabilised_afais_s"):
        cost = done.xs(estimator, level="estimator")["estimate"]
        assert cost.between(0, 5930).all()
        assert cost["blood_first"] < cost["always"]  # tests only cost here
    assert done.loc[("always", "complete_case"), "acquisition_cost"] == pytest.approx(930)
    assert done.loc[("never", "blocking"), "acquisition_cost"] == 0


def test_ones_own_rule_looks_further_where_troponin_is_raised(folder, summary):
    table = pd.read_csv(ROOT / "docs" / "examples" / "ten_lines.csv")
    scenario = "dataset=ten_lines/mechanism=own/agent=by_troponin"
    path = folder / "results" / "rollouts" / scenario / "blocked.parquet"
    played = pd.read_parquet(path, partitioning=None)
    assert len(played) == 6
    rows = table.loc[played["row_id"]]
    blood = rows["troponin"].notna().to_numpy()
    further = ((rows["troponin"] > 0.5) & rows["angiography"].notna()).to_numpy()
    assert (played["acquired:blood test"] == blood).all()
    assert (played["acquired:angiography"] == further).all()
    blocking = summary.set_index(["agent", "estimator"]).loc[("by_troponin", "blocking")]
    cost = (30 * blood + 900 * further).mean()
    assert blocking["acquisition_cost"] == pytest.approx(cost)


def test_so_few_rows_are_warned_of(summary):
    done = summary[summary["status"] == "ok"]
    assert (done["n"] == 6).all()
    assert done["warning"].str.contains("ess_below_30").all()


def test_new_cases_are_advised_as_the_page_shows(folder, tmp_path):
    folder = shutil.copytree(folder, tmp_path / "run")
    made = snakemake(folder, "bundles", configs=(TEN_LINES,))
    assert made.returncode == 0, made.stdout[-5000:]
    assert jobs(made.stdout)["bundle_agent"] == 4
    bundle = "results/bundles/dataset=ten_lines/mechanism=own/agent=by_troponin"
    done = frugal(folder, "advise", bundle, str(ROOT / "docs/examples/new_cases.csv"))
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs/how-to/new_cases.md").read_text(encoding="utf-8")
    *table, last = done.stdout.strip().splitlines()
    assert "\n".join(table) in page
    assert last.startswith("1 of 3 cases have values that training did not see")


EXAMPLE = ROOT / "docs" / "examples"
HOSTILE = {  # plain name → what stands for it; longer ones first, so that no other is part of them
    "no infarction": '"none" `touch PWNED`',
    "narrowed vessels": "µ $ ; touch PWNED $",
    "blood test": "bl'ood; touch PWNED; $x^{2}$",
    "ten_lines.csv": "ärzte & 数 [1] (2); $(touch PWNED) {dataset}.csv",
    "angiography": "../../$(touch PWNED) $y$",
    "infarction": "<script>alert(1)</script>",
    "interview": "-rf ~ * | > PWNED",
    "troponin": "$tro_{p}$ `touch PWNED` 🦊",
    "smoker": "{log} %s %0A",
    "Ten lines": "$$ \\frac{",
    "ng/mL": "$ per $\\mu$L",
    "year": "a,b",
    "EUR": "US$ and $x$",
    "age": "#a ge",
}


def renamed(value: Any) -> Any:
    """A document or text with every plain name replaced."""
    if isinstance(value, dict):
        return {renamed(k): renamed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(item) for item in value]
    if isinstance(value, str):
        return HOSTILE.get(value, value)
    return value


def plainly(text):
    """A text with every hostile name replaced by the plain one."""
    for plain, hostile in HOSTILE.items():
        text = text.replace(hostile, plain)
    return text


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory):
    """The same study, its table downloaded, with hostile names wherever a free text stands."""
    folder = tmp_path_factory.mktemp("hostile") / "a b 'c' ;touch PWNED; é"
    folder.mkdir()
    table = (EXAMPLE / "ten_lines.csv").read_bytes()
    head, _, lines = table.decode().partition("\n")
    named = [f'"{renamed(name)}"' if name != "infarction" else name for name in head.split(",")]
    table = f"{','.join(named)}\n{lines}".encode()

    class Publisher(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(table)))
            self.end_headers()
            self.wfile.write(table)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    described = yaml.safe_load((EXAMPLE / "ten_lines.yaml").read_text(encoding="utf-8"))
    described["label"] = renamed(described["label"]) | {"column": "infarction"}
    told = {**renamed({k: v for k, v in described.items() if k != "label"})}
    told |= {"label": described["label"], "name": "ten_lines"}
    (file,) = told["source"]["files"]
    address = f"http://127.0.0.1:{server.server_port}/$(touch$IFS'PWNED');"
    file |= {"url": address, "sha256": hashlib.sha256(table).hexdigest()}
    told["source"]["kind"] = "download"
    (folder / "des'c $x.yaml").write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    config = renamed(yaml.safe_load(TEN_LINES.read_text(encoding="utf-8")))
    config["datasets"] = {"ten_lines": "des'c $x.yaml"}
    (folder / "stu'dy $x.yaml").write_text(
        yaml.safe_dump(config, sort_keys=False), encoding="utf-8"
    )
    done = snakemake(folder, "afape", configs=(folder / "stu'dy $x.yaml",))
    server.shutdown()
    assert done.returncode == 0, done.stdout[-5000:]
    return folder


def test_hostile_names_run_nothing_and_stay_in_the_folder(hostile_folder):
    assert {path.name for path in hostile_folder.parent.iterdir()} == {hostile_folder.name}
    inside = {path.name for path in hostile_folder.iterdir()}
    ours = {"results", "logs", "benchmarks", ".snakemake", "des'c $x.yaml", "stu'dy $x.yaml"}
    assert inside == ours
    assert not list(hostile_folder.rglob("PWNED*"))
    assert not list(ROOT.glob("PWNED*"))


def test_hostile_names_change_no_result(folder, hostile_folder):
    paths = {p.relative_to(folder) for p in (folder / "results").rglob("*.parquet")}
    assert len(paths) > 30
    for path in sorted(paths):
        plain = pd.read_parquet(folder / path, partitioning=None)
        other = pd.read_parquet(hostile_folder / path, partitioning=None)
        other = other.rename(columns=plainly)
        for column in other:
            if any(isinstance(value, str) for value in other[column]):
                text = other[column].map(plainly, na_action="ignore")
                other[column] = text.astype(plain[column].dtype)
        pd.testing.assert_frame_equal(plain, other, obj=str(path))
    figures = {p.relative_to(folder) for p in (folder / "results").rglob("*.png")}
    assert all((hostile_folder / path).is_file() for path in figures)


def test_a_page_shows_a_hostile_name_as_text(hostile_folder):
    pages = [p.read_text(encoding="utf-8") for p in (hostile_folder / "results").rglob("*.html")]
    assert pages
    assert not any("<script" in page for page in pages)


def test_the_stored_download_states_the_declared_name(hostile_folder):
    (raw,) = (p for p in (hostile_folder / "results" / "raw").rglob("*.csv"))
    assert raw.name.startswith("+C3+A4rzte+20+26+20")
    path = raw.relative_to(hostile_folder)
    assert load_record(path, hostile_folder)["path"] == path.as_posix()
