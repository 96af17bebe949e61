"""Objects of the library keep what they were made of, in this process and in any other."""

import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.library import chain

from tests.workflow.runs import ROOT
from tests.workflow.shared import SMALL

CLINIC = ROOT / "docs" / "examples" / "clinic.yaml"
FAST = {"afape": SMALL["afape"] | {"nuisance": {"method": "logistic"}}}
AGENTS = ["always", "never"]
HEAD = "import numpy as np\ndef choose(values, acquired, available):\n"
STOPS = f'{HEAD}    return np.full(len(values), "stop", dtype=object)\n'
BUYS = f'{HEAD}    return np.where(available["crp"] & ~acquired["crp"], "crp", "stop")\n'
MINE = {"kind": "python", "file": "mine.py", "function": "choose"}
PANELS = ("crp", "procalcitonin", "lactate", "chest film")
CAUSES = "".join(f"{panel}: {{values: [age]}}\n" for panel in PANELS)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A working folder with the table of the clinic."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / CLINIC.name).write_bytes(CLINIC.read_bytes())
    rows = CLINIC.with_suffix(".csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "clinic.csv").write_text("".join(rows[:201]), encoding="utf-8")
    Path("mine.py").write_text(BUYS)
    return tmp_path


@pytest.fixture
def ran(monkeypatch) -> list[str]:
    """Stages that ran."""
    stages: list[str] = []
    shown = chain.progress_of
    monkeypatch.setattr(chain, "progress_of", lambda of: stages.append(of) or shown(of))
    return stages


def load(**options):
    return frugal.load("clinic.yaml", config=FAST, **options)


def edited(old: str, new: str) -> None:
    text = Path("clinic.yaml").read_text(encoding="utf-8")
    assert old in text
    Path("clinic.yaml").write_text(text.replace(old, new), encoding="utf-8")


def panels_bought(policy) -> int:
    return int((frugal.roll_out(policy).decisions["action"] < 4).sum())


def test_a_policy_file_is_read_anew_and_what_was_trained_keeps_its_own(place, monkeypatch):
    masks = frugal.missingness(load())
    buys = frugal.train(masks, MINE, name="buys")
    bought = panels_bought(buys)
    assert bought > 0
    Path("mine.py").write_text(STOPS)
    stops = frugal.train(masks, MINE, name="stops")
    assert panels_bought(stops) == 0
    assert panels_bought(frugal.train(masks, MINE, name="buys")) == 0  # the same name
    Path("mine.py").write_text("    return ((\n")
    with pytest.raises(DataError, match=r"mine\.py, line 1: the policy 'choose' cannot be read"):
        frugal.roll_out(frugal.train(masks, MINE, name="buys"))
    Path("mine.py").unlink()
    (elsewhere := place / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    judged = frugal.evaluate([buys, stops])
    assert panels_bought(judged.policy("buys")) == panels_bought(buys) == bought
    assert panels_bought(judged.policy("stops")) == 0
    cost = judged.estimates.groupby("agent")["estimate"].first()  # the first that is there
    assert cost["buys"] != cost["stops"]
    cases = CLINIC.with_suffix(".csv")
    assert set(buys.next(cases)) == {"crp", "stop"}
    assert set(stops.next(cases)) == {"stop"}
    kept = frugal.load_policy(buys.save(place / "kept"), function=_written(place, BUYS))
    assert kept.next(cases).tolist() == buys.next(cases).tolist()


def _written(place: Path, text: str) -> Path:
    path = place / "again.py"
    path.write_text(text)
    return path


def test_one_policy_of_ones_own_is_judged_alone(place):
    mine = frugal.train(frugal.missingness(load()), MINE, name="mine")
    assert frugal.evaluate([mine]).policies == ["mine"]


EDITS = {
    "levels": ("levels: [f, m]", "levels: [f, m], recode: {f: m, m: f}"),
    "order": ("levels: [f, m]", "levels: [m, f]"),
    "column": ("{name: crp, type", "{name: crp, from: lactate, type"),
    "missing": ('missing: [""]', 'missing: ["", "110"]'),
    "price": ("cost: 20", "cost: 2"),
    "no YAML": ("name: clinic", "name: ["),
}


def test_a_description_is_that_which_was_loaded(place):
    """Learning, and the first advice, come after the edit."""
    expected = frugal.train(frugal.missingness(load()), "always").advise("clinic.csv")
    described = Path("clinic.yaml").read_text(encoding="utf-8")
    for edit in EDITS.values():
        masks = frugal.missingness(load())
        edited(*edit)
        policy = frugal.train(masks, "always")
        pd.testing.assert_frame_equal(policy.advise("clinic.csv"), expected)
        Path("clinic.yaml").write_text(described, encoding="utf-8")


def test_data_causes_and_other_cases_are_those_that_were_loaded(place):
    Path("causes.yaml").write_text(CAUSES)
    other = pd.read_csv("clinic.csv", dtype=str).head(150)
    other.to_csv("other.csv", index=False)
    options = {"causes": "causes.yaml", "transport": "other.csv"}
    before = frugal.decide(load(**options), agents=AGENTS).document
    table = load(**options)
    Path("causes.yaml").write_text(CAUSES.replace("age", "temperature"))
    other.assign(age="20").to_csv("other.csv", index=False)
    Path("clinic.csv").unlink()
    Path("clinic.yaml").unlink()
    answer = frugal.decide(table, agents=AGENTS)
    assert answer.document == before
    assert len(frugal.missingness(table).frame) == len(answer.table.frame) == 200


CHILD = """
import pickle, sys
import frugal
from frugal.library import chain

ran, shown_bar = [], chain.progress_of
chain.progress_of = lambda of: ran.append(of) or shown_bar(of)
with open("objects.pkl", "rb") as stream:
    given = pickle.load(stream)
shown = {name: show(given[name]) for name, show in SHOWN.items()}
policies = [given["mine"], frugal.train(given["masks"], "never")]
shown["again"] = frugal.evaluate(policies).verdict
with open("shown.pkl", "wb") as stream:
    pickle.dump((shown, ran), stream)
"""
SHOWN = """{
    "table": lambda table: (table.frame, table.remarks, table.panels),
    "masks": lambda masks: (masks.frame, masks.graph),
    "answer": lambda answer: (answer.document, answer.summary(), answer.net_benefit),
    "policy": lambda policy: policy.advise("cases.csv"),
    "mine": lambda policy: (policy.advise("cases.csv"), policy.kind),
    "kept": lambda policy: policy.advise("cases.csv"),
    "played": lambda rollouts: (rollouts.blocked, rollouts.decisions),
    "judged": lambda judged: (judged.verdict, judged.estimates, judged.groups),
}"""


def test_pickled_objects_live_in_another_process_and_compute_nothing(place, monkeypatch, ran):
    """Its working folder is another one, and all files are gone."""
    table = load()
    answer = frugal.decide(table, agents=AGENTS)
    masks = frugal.missingness(table)
    mine = frugal.train(masks, MINE, name="mine")
    objects = {"table": table, "masks": masks, "answer": answer, "mine": mine}
    objects |= {"policy": answer.policy("always"), "played": frugal.roll_out(mine)}
    objects["judged"] = frugal.evaluate([mine, frugal.train(masks, "never")])
    objects["kept"] = frugal.load_policy(mine.save("kept"), function="mine.py")
    for path in ("elsewhere", "elsewhere/deeper"):
        Path(path).mkdir()
    Path("clinic.csv").rename("elsewhere/cases.csv")
    monkeypatch.chdir("elsewhere")
    expected = {name: show(objects[name]) for name, show in eval(SHOWN).items()}
    Path("objects.pkl").write_bytes(pickle.dumps(objects))
    for path in (place / "kept").iterdir():
        path.unlink()
    for name in ("clinic.yaml", "mine.py"):
        (place / name).unlink()
    program = CHILD.replace("SHOWN", SHOWN)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown, stages = pickle.loads(Path("shown.pkl").read_bytes())
    assert stages == []
    assert shown.pop("again") == objects["judged"].verdict
    for name, wanted in expected.items():
        for one, other in zip(_parts(shown[name]), _parts(wanted), strict=True):
            if isinstance(other, pd.DataFrame):
                pd.testing.assert_frame_equal(one, other, check_exact=True)
            else:
                assert one == other


def _parts(value) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def test_a_pool_of_processes_takes_policies(place):
    policy = frugal.train(frugal.missingness(load()), "always")
    cases = pd.read_csv("clinic.csv").head(40)
    expected = policy.predict_proba(cases)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(policy.predict_proba, cases).result()
    np.testing.assert_array_equal(found, expected)


def test_a_copy_does_not_depend_on_the_first(place, ran):
    table = load()
    answer = frugal.decide(table, agents=AGENTS)
    page, cases = answer.page.read_bytes(), pd.read_csv("clinic.csv").head(40)
    expected, text = answer.policy("never").predict_proba(cases), answer.summary()
    first = pickle.loads(pickle.dumps(answer))
    ran.clear()
    assert (first.summary(), first.page.read_bytes()) == (text, page)  # while both live
    content = pickle.dumps(first)
    del answer, table, first
    gc.collect()
    os.chdir("/")
    second = pickle.loads(content)
    assert (second.summary(), second.page.read_bytes()) == (text, page)
    np.testing.assert_array_equal(second.policy("never").predict_proba(cases), expected)
    assert ran == []


def test_policies_of_two_loads_of_one_content_are_judged_jointly(place, ran):
    one, other = (frugal.missingness(load()) for _ in range(2))
    policies = [frugal.train(one, "never"), frugal.train(other, MINE, name="mine")]
    assert sorted(frugal.evaluate(policies).policies) == ["mine", "never"]
    settings = {"afape": {"nuisance": {"method": "boosting"}}}
    third = frugal.missingness(frugal.load("clinic.yaml", config=settings))
    with pytest.raises(ConfigError, match="or was loaded with other settings"):
        frugal.evaluate([policies[0], frugal.train(third, "always")])
    edited("cost: 20", "cost: 2")
    with pytest.raises(ConfigError, match="'always' is of another table or missingness than"):
        frugal.evaluate([policies[0], frugal.train(frugal.missingness(load()), "always")])
