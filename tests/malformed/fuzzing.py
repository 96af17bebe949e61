"""`python -m tests.malformed.fuzzing NUMBER [SEED]`: documents and arguments, spoilt at random.

Stored JSON (with a right seal, so that its content is read), YAML that names files, and arguments
of the library. Each mutation is taken, or refused in a sentence; anything else is a defect.
"""

import datetime
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import frugal
import numpy as np
import pandas as pd
import yaml
from frugal.core.layout import Bundle
from frugal.results.files import file_digest, payload_bytes, read_payload, seal, sealed
from frugal.run.own_records import own_records
from frugal.studies.over_time.order_support import OrderSupport
from frugal.studies.recourse.catalogue import catalogue_of, units_of
from frugal.studies.recourse.sheets import read_sheet

from tests.malformed.cases import ROOT, Case, Right, command
from tests.malformed.outcomes import Outcome, happened
from tests.studies.treatment.test_own_searches import _NAMES as SEARCH_POLICY
from tests.studies.treatment.test_own_searches import _TABLE as SEARCH_TABLE
from tests.unit.spoiling import DELETE, NASTY, places
from tests.unit.test_advice import HEAD, made

EXAMPLES = ROOT / "docs" / "examples"
CASES = HEAD + "".join(f"{name},60,{['no', 'yes'][k % 2]},,,\n" for k, name in enumerate("ab"))
LIMIT_S = 20
GROUP = "mutations"


def _deep(depth: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


_HOSTILE: tuple[Any, ...] = (  # of documents and arguments
    *(10**400, -(10**30), 2**63, 5e-324, "\ud800", "a\0b", "x" * 5000, "[", "(?P<", "\\"),
    *({"a": {"b": [1, {"c": None}]}}, [1, "x"], "2024-01-01", [0.5, 1], [-1], "nan"),
)
_OBJECTS: tuple[Any, ...] = (  # of arguments alone
    *(
        _deep(3000),
        object(),
        b"x",
        1j,
        {1, 2},
        (),
        (1, 2),
        np.nan,
        np.int64(3),
        np.array([1.0, np.nan]),
    ),
    *(pd.NA, pd.NaT, Path("a\0b"), Path("/"), Path("x" * 300), Path("/dev/null/x"), len, type),
    *(datetime.date(2024, 1, 1), pd.DataFrame(), pd.Series([1, "a"]), np.zeros((0, 3)), range(3)),
    *(iter("ab"), bytearray(b"x"), np.array("x"), {"x": object()}, [object()], {None: None}),
)


class Door(NamedTuple):
    """Where documents or arguments enter.

    Attributes:
        name: in words.
        whole: a valid document, or arguments by name.
        work: gives a spoilt one to the project, in an empty folder.
        values: that are put into places of `whole`.
        weight: mutations of it for each of a door with 1.
    """

    name: str
    whole: Mapping[str, Any]
    work: Callable[[Any], Any]
    values: tuple[Any, ...] = (*NASTY, *_HOSTILE)
    weight: int = 3


@cache
def _kept() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="frugal-fuzzing-")


@cache
def _bundle() -> Path:
    return made(Path(_kept().name, "bundle"))


@cache
def _wards() -> tuple[dict[str, Any], dict[str, np.ndarray], Any]:
    """Document and arrays of a policy over time, and the answer."""
    data = frugal.load_over_time(EXAMPLES / "wards.yaml")
    answer = frugal.over_time(data, learned=True, folds=2, seed=0)
    document = {
        "over_time": 1,
        "description": data.document,
        "levels": {name: list(texts) for name, texts in data.levels.items()},
        "named": answer.named,
        "tipping_gamma": 1.5,
        "sentences": ["a"],
        "regions": [],
        "unsupported": [],
    }
    learned = answer.learned
    assert learned is not None
    arrays = {f"learned.{name}": array for name, array in learned.to_arrays().items()}
    arrays |= {f"support.{name}": array for name, array in OrderSupport().to_arrays().items()}
    return json.loads(json.dumps(document)), {"delay": np.zeros(2, np.int64), **arrays}, answer


@cache
def _table() -> Any:
    return frugal.load(EXAMPLES / "clinic.yaml")


@cache
def _answer() -> Any:
    return frugal.decide(_table(), agents=["always", "never"])


@cache
def _masks() -> Any:
    return frugal.missingness(_table())


@cache
def _policy() -> Any:
    return frugal.train(_masks(), {"kind": "fixed", "panels": "none"}, name="nothing")


def _json(path: str | Path, document: Any) -> None:
    """A document as its writer would leave it, and NaN as Python writes it."""
    Path(path).write_text(json.dumps(document), encoding="utf-8")


def _copied(*, cases: Any = None, header: Any = None) -> None:
    """The bundle with another description of cases, or another header; digests and seal fit."""
    Path("bundle").mkdir()
    for file in _bundle().iterdir():
        Path("bundle", file.name).write_bytes(file.read_bytes())
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    document = json.loads(Path("bundle/cases.json").read_text()) if cases is None else cases
    if header is not None:
        place = Path("bundle/policy.safetensors")
        header = json.loads(json.dumps(header).replace("\\ud800", "?"))  # no file has such a letter
        place.write_bytes(payload_bytes(place, Bundle(header, dict(read_payload(place)))))
        document["digests"][place.name] = file_digest(place)
    document = {**document, "seal": seal(document)}
    _json("bundle/cases.json", document)


def _of_cases(document: Any) -> None:
    _copied(cases=document)
    command("advise", "bundle", "cases.csv", "--out", "o.csv")
    command("advise", "bundle", "cases.csv", "--simulate", "--rollout", "1", "--refer", "5")


def _of_header(header: Any) -> None:
    _copied(header=header)
    command("advise", "bundle", "cases.csv")


def _sealed(document: Any, files: Mapping[str, Any] | None = None) -> Any:
    """As it would be handed out: a wrong place is looked for behind the seal."""
    return sealed(document, files) if isinstance(document, Mapping) else document


def _of_answer(document: Any) -> None:
    _copied()
    _json("answer.json", _sealed(document))
    command("advise", "bundle", "cases.csv", "--refer", "answer.json")


def _of_orders(document: Any) -> None:
    Path("policy").mkdir()
    _json("policy/orders.json", _sealed(document, {"orders.safetensors": _wards()[1]}))
    arrays = Path("policy/orders.safetensors")
    arrays.write_bytes(payload_bytes(arrays, _wards()[1]))
    units = "stay,age,ward,died\na,50,medical,no\nb,60,surgical,\n"
    Path("units.csv").write_text(units)
    Path("new.csv").write_text("stay,item,ordered,result,value\na,lactate,1,2,3\n")
    command("advise", "policy", "new.csv", "--units", "units.csv", "--out", "o.csv")


def _of_search(document: Any) -> None:
    Path("policy").mkdir()
    _json("policy/policy.json", _sealed(document, {"policy.safetensors": SEARCH_TABLE}))
    arrays = Path("policy/policy.safetensors")
    arrays.write_bytes(payload_bytes(arrays, SEARCH_TABLE))
    Path("new.csv").write_text("who,drug,result\nx,A,bad\ny,,\n")
    command("advise", "policy", "new.csv", "--out", "o.csv")


def _of_records(document: Any) -> None:
    Path("r.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    Path("own.csv").write_text("who,day,drug,result\nx,1,A,bad\nx,3,B,good\ny,2,B,bad\n")
    own_records({"records": "r.yaml", "table": None}, ROOT, Path().absolute())


def _of_wards(document: Any) -> None:
    for name in ("wards.csv", "wards_units.csv"):
        Path(name).symlink_to(EXAMPLES / name)
    Path("w.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    frugal.load_over_time("w.yaml")


def _of_request(key: str, document: Any) -> None:
    """A file that a key of the config names."""
    Path("a.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    named: Any = {key: "a.yaml"}
    frugal.missingness(frugal.load(EXAMPLES / "clinic.yaml", **named))


def _rows(name: str) -> list[list[str]]:
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    return [line.split(",") for line in lines if not line.startswith("#")]


def _of_recourse(sheets: Mapping[str, Any]) -> None:
    """The two files of a catalogue of one's own, with cells as texts."""
    for name, cells in sheets.items():
        rows = cells if isinstance(cells, list) else [cells]
        lines = [",".join(map(str, row if isinstance(row, list) else [row])) for row in rows]
        text = "\n".join(lines) + "\n"
        Path(f"{name}.csv").write_text(text, encoding="utf-8", errors="surrogatepass")
    catalogue = catalogue_of(read_sheet(Path("actions.csv")), source="actions.csv")
    units_of(read_sheet(Path("units.csv")), catalogue, source="units.csv")


def _frame() -> pd.DataFrame:
    n, rng = 40, np.random.default_rng(0)
    crp = pd.Series(rng.normal(9, 2, n)).mask(rng.random(n) < 0.3)
    sexes, ages = rng.choice(["f", "m"], n), rng.integers(20, 90, n)
    return pd.DataFrame({"age": ages, "sex": sexes, "crp": crp, "ill": rng.random(n) < 0.4})


_LOADED: dict[str, Any] = {"table": _frame(), "label": "ill", "prices": {"lab": 12}}
_LOADED |= {"errors": {"missed": 900, "false alarm": 120}, "panels": {"lab": ["crp"]}}
_LOADED |= {"free": ["age", "sex"], "positive": True, "unit": "EUR", "leave_out": []}
_LOADED |= {"unlabelled": "drop", "predict": None, "name": "t"}
_LOADED |= {"config": {"seed": 1, "afape": {"answer": {"gamma": 1.5}}}, "sensitive": None}
_LOADED |= {"causes": None, "audit_habit": False, "design": None, "recorded": None}
_LOADED |= {"cases_a_year": None, "years": None, "record_price": None, "record_set_up": None}
_LOADED |= {"transport": None, "refer": None, "refer_risk": None, "most_missed": None, "cores": 1}
_FILED = {
    key: _LOADED[key]
    for key in ("config", "sensitive", "causes", "design", "recorded", "transport", "refer")
}


def _calls() -> Iterator[tuple[str, dict[str, Any], Callable[..., Any], int]]:
    """Name, arguments, function and weight of each call of the library."""
    cases = pd.read_csv(EXAMPLES / "clinic.csv").head(30)
    yield "load of a frame", _LOADED, frugal.load, 6
    yield "load of a file", {"table": EXAMPLES / "clinic.yaml", **_FILED}, frugal.load, 3
    yield "decide", {"agents": ["never"], **_LOADED}, frugal.decide, 1
    given = {"law": {"source": "own", "panels": None}, "name": "drawn"}
    law = partial(lambda **words: frugal.missingness(_table(), **words))
    yield "missingness", given, law, 2
    agent = {"kind": "fixed", "panels": "none"}
    yield (
        "train",
        {"masks": _masks(), "agent": agent, "name": "n", "panels": "all"},
        frugal.train,
        4,
    )
    yield "evaluate", {"policies": [_policy()]}, frugal.evaluate, 1
    yield "roll_out", {"policy": _policy()}, frugal.roll_out, 1
    yield "verdict", {"answer": _answer()}, frugal.verdict, 1
    advised = {"without": [], "simulate": False, "id_column": None, "rollout": None, "refer": None}
    given = {"policy": _bundle(), "cases": pd.read_csv(StringIO(CASES)), **advised}
    yield "advise", given, frugal.advise, 4
    yield "save", {"folder": Path("kept")}, _policy().save, 2
    exported = {"path": Path("a.sql"), "table": "cases", "id_column": None}
    yield "export", exported, _policy().export, 2
    yield "description", {"path": Path("a.yaml")}, _table_of_frame().description, 2
    yield "load_policy", {"folder": _bundle(), "function": None}, frugal.load_policy, 2
    yield "transport", {"cases": cases, "id_column": None}, _answer().transport, 1
    yield "design", {"cases": 10, "budget": None}, _answer().design, 1
    yield "policy", {"name": "never"}, _answer().policy, 1
    for name in ("next", "predict", "predict_proba"):
        yield name, {"cases": cases}, getattr(_answer().policy("never"), name), 1
    form = {"gammas": [0.5], "withheld": [], "folds": {"run": [0]}}
    yield "fair_form", {"table": 5, **form}, frugal.fair_form, 1
    over = {"hours": None, "static": (), "data_mirror": None}
    yield "load_over_time", {"path": EXAMPLES / "wards.yaml", **over}, frugal.load_over_time, 2
    data, timed = _wards()[2]._data, _wards()[2]
    again = [{"panels": ["lactate"], "every": 1, "above": ("lactate", 2)}]
    plan = {"name": "p", "at": {0: ["lactate"]}, "again": again, "stop": 2}
    yield "order_plan", {"data": data, **plan}, frugal.order_plan, 4
    settings = {"method": "linear", "folds": 2, "fold_draws": 1, "margin": 0.05, "seed": 0}
    settings |= {"learned": False, "learner": None, "cores": 1}
    plans = [frugal.order_plan(data, "p", {0: ["lactate"]})]
    yield "over_time", {"data": data, "policies": plans, **settings}, frugal.over_time, 2
    files = {"measurements": EXAMPLES / "wards.csv", "units": EXAMPLES / "wards_units.csv"}
    yield "advise over time", {**files, "hours": None, "policy": None}, timed.advise, 3


@cache
def _table_of_frame() -> Any:
    words = {key: value for key, value in _LOADED.items() if value is not None}
    return frugal.load(**words)


def doors() -> list[Door]:
    """All of them, with valid documents and arguments."""
    bundle = json.loads((_bundle() / "cases.json").read_text())
    header = read_payload(_bundle() / "policy.safetensors").header
    patterns = [{"missing": ["blood"], "threshold": 9.0}, {"missing": None, "threshold": 0.0}]
    answer = {"policy": "mine", "referral": {"price": 9.0, "patterns": patterns}}
    wards = yaml.safe_load((EXAMPLES / "wards.yaml").read_text(encoding="utf-8"))
    records = {**SEARCH_POLICY["description"], "covariates": {}, "delta": [0.2]}
    panels = ("crp", "procalcitonin", "lactate", "chest film")
    causes = {name: {"values": ["age", "sex=m"], "indicators": []} for name in panels}
    entry = {"panels": ["crp"], "probability": 0.5}
    where = {"age": {"from": 20, "below": 40}}
    protocol = {"first_row": 1, "strata": [{"where": where, "record": [entry]}]}
    sheets = {name: _rows(f"recourse_{name}.csv") for name in ("units", "actions")}
    found = [
        Door("description of cases", bundle, _of_cases, weight=6),
        Door("header of a policy", header, _of_header),
        Door("thresholds of an answer", answer, _of_answer),
        Door("policy over time", _wards()[0], _of_orders, weight=6),
        Door("search policy", SEARCH_POLICY, _of_search),
        Door("records of searches", records, _of_records),
        Door("records over time", wards, _of_wards),
        Door("recourse", sheets, _of_recourse),
        Door("causes", causes, partial(_of_request, "causes"), weight=1),
        Door("protocol", protocol, partial(_of_request, "recorded"), weight=1),
    ]
    values = (*NASTY, *_HOSTILE, *_OBJECTS)
    found += [
        Door(name, given, partial(_called, call), values, n) for name, given, call, n in _calls()
    ]
    return found


def _called(call: Callable[..., Any], words: Mapping[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(**words)


def mutation(door: Door, rng: np.random.Generator) -> tuple[str, Callable[[], Right]]:
    """The change in words, and the work with it."""
    changed, words = door.whole, []
    for _ in range(1 + int(rng.integers(3) == 0)):
        at = [place for place in places(door.whole) if _there(changed, place)]
        place = at[int(rng.integers(len(at)))]
        argument = len(place) == 1 and len(door.values) > len(NASTY) + len(_HOSTILE)
        gone = rng.random() < 0.05 and not argument
        value = DELETE if gone else door.values[int(rng.integers(len(door.values)))]
        changed = _with(changed, place, value)
        shown = "gone" if value is DELETE else _short(value)
        words.append(f"{'.'.join(map(str, place))}: {shown}")
    return "; ".join(words), partial(_taken, door.work, changed)


def _there(document: Any, place: tuple[Any, ...]) -> bool:
    """Whether a place of the whole document is still one after another change."""
    for key in place:
        if not isinstance(document, dict | list) or key not in (
            document if isinstance(document, dict) else range(len(document))
        ):
            return False
        document = document[key]
    return True


def _with(whole: Any, place: tuple[Any, ...], value: Any) -> Any:
    """As `spoilt`, of containers that hold objects which are not copied."""
    if not place:
        return value
    key, *rest = place
    new = dict(whole) if isinstance(whole, dict) else list(whole)
    if value is DELETE and not rest:
        del new[key]
    else:
        new[key] = _with(whole[key], tuple(rest), value)
    return new


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = "?"
    return f"{type(value).__name__} {text[:60]}"


def _taken(work: Callable[[Any], Any], changed: Any) -> Right:
    work(changed)
    return Right("taken")


def fuzzed(number: int, seed: int) -> Iterator[tuple[str, str, Outcome]]:
    """Door, change and outcome of each mutation."""
    rng, every = np.random.default_rng(seed), doors()
    for door in every:
        happened_whole(door)
    weights = np.array([door.weight for door in every], dtype=float)
    for k in range(number):
        door = every[int(rng.choice(len(every), p=weights / weights.sum()))]
        words, work = mutation(door, rng)
        yield door.name, words, happened(Case(GROUP, f"{k}", work, limit_s=LIMIT_S))


def happened_whole(door: Door) -> None:
    """Refuse a door whose valid input is not taken: its mutations would prove nothing."""
    outcome = happened(Case(GROUP, door.name, partial(_taken, door.work, door.whole), limit_s=60))
    expected = "refused" if door.name == "fair_form" else "accepted"  # it trains for minutes
    assert outcome.kind == expected, f"{door.name}: {outcome}"


def is_defect(outcome: Outcome) -> bool:
    """Whether it is neither taken nor a refusal."""
    return outcome.kind not in ("accepted", "warned", "refused", "unclear")


def main(number: int, seed: int) -> int:
    """Exit status 1 where a mutation ends in anything but a sentence."""
    kinds: dict[str, int] = {}
    bad = 0
    for door, words, outcome in fuzzed(number, seed):
        kinds[outcome.kind] = kinds.get(outcome.kind, 0) + 1
        if is_defect(outcome):
            bad += 1
            print(f"{outcome.kind}: {door}: {words}\n    {outcome.message[:300]}", flush=True)
    print(f"{number} mutations: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int((sys.argv[2:] or ["0"])[0])))
