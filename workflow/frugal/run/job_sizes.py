"""How large the jobs of a config are, from which their time and memory follow.

Read by the Snakefile before any job has run, so it imports nothing heavy and opens no table: rows
are counted as lines of files, or given in a description. Knows which part of the config decides the
size of a job with which wildcards; must not know stages, nor the cost of a job.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from frugal.config.declared import declared_kinds
from frugal.core.blocks import Portion
from frugal.core.declarations import Declared, declared
from frugal.core.errors import FrugalError
from frugal.data.description import Description
from frugal.data.raw import locate_file
from frugal.run.study import Study
from frugal.studies.dadi.spec import DadiStudy
from frugal.studies.diagnosis.spec import DiagnosisStudy
from frugal.studies.recourse.spec import RecourseStudy
from frugal.studies.treatment.spec import TreatmentStudy

# A size that is unknown (of a file that is not there yet) has no entry.
SIZES = {
    "rows": "rows of the table; draws of a simulated world",
    "columns": "features of the table",
    "panels": "panels with a cost; actions of a search or of a catalogue",
    "seeds": "draws of the masks, repeats of a search",
    "policies": "policies, γ, classifiers or generators that one job handles",
    "steps": "transitions, iterations or epochs of training",
}
ANY = "*"  # a wildcard of any value
_BY_LINES = ("csv", "arff")  # formats in which a line is a record
_BLOCK = 2**20

Sizing = dict[str, Any]  # `keys` (wildcards), the `sizes` of jobs that have them, their `kind`


def sizes_of(
    keys: Mapping[str, str], sizings: Iterable[Sizing]
) -> tuple[dict[str, float], str | None]:
    """The sizes of one job by its wildcards, and the kind of its learner.

    Args:
        keys: wildcards; those of a portion of seeds or rows count these.
        sizings: as `config_sizes` makes them; of several that match a job the last one counts.
    """
    sizes: dict[str, float] = {}
    kind = None
    for sizing in sizings:
        required = sizing["keys"] or {"dataset": None}  # of the whole run: jobs of no data set
        if all(keys.get(k) == v or (v == ANY and k in keys) for k, v in required.items()):
            sizes |= {name: float(size) for name, size in sizing["sizes"].items()}
            kind = sizing["kind"] or kind
    portion = Portion.of(keys)
    if portion.seeds is not None:
        sizes["seeds"] = float(len(portion.seeds))
    if portion.rows is not None and "rows" in sizes:
        stop = sizes["rows"] if portion.rows.stop is None else portion.rows.stop
        sizes["rows"] = max(1.0, float(min(stop, sizes["rows"]) - portion.rows.start))
    return sizes, kind


def config_sizes(
    study: Study,
    dadi: DadiStudy,
    diagnosis: DiagnosisStudy,
    searches: TreatmentStudy,
    recourse: RecourseStudy,
    *,
    rows: Mapping[str, int],
    tables: Mapping[str, int | None] | None = None,
    own_records: tuple[int, int] | None = None,
) -> list[Sizing]:
    """Settings of the config that decide job sizes, as JSON values.

    Args:
        study: the config, and afape.
        dadi: its block.
        diagnosis: its block.
        searches: of treatment.
        recourse: its block.
        rows: of data sets whose files do not show them.
        tables: rows of each data set of `study`; None: `table_rows`.
        own_records: rows of the tables of one's own searches, and treatments.
    """
    tables = table_rows(study, rows) if tables is None else tables
    largest = max((n for n in tables.values() if n is not None), default=None)
    scenarios = len(study.config["afape"]["scenarios"])
    shared = {"seeds": len(study.config["afape"]["seeds"]), "policies": len(study.agents)}
    overall = shared | {"rows": largest, "seeds": shared["seeds"] * scenarios}
    if own_records is not None:
        overall |= {"rows": own_records[0], "panels": own_records[1]}
    return [
        _sizing({}, overall),
        *(_table(name, tables[name], described) for name, described in study.descriptions.items()),
        _sizing({"mechanism": ANY}, shared),
        *_of_afape(study),
        *_of_dadi(dadi, study, tables),
        *_of_diagnosis(diagnosis),
        *_of_searches(searches, rows),
        *_of_recourse(recourse, rows),
    ]


def table_rows(study: Study, recorded_rows: Mapping[str, int]) -> dict[str, int | None]:
    """Rows of each data set; None where neither its files nor `recorded_rows` show them."""
    mirror = study.config["data_mirror"]
    folder = None if mirror is None else Path(mirror)
    return {name: _rows(each, folder, recorded_rows) for name, each in study.descriptions.items()}


def training_steps(kind: Declared, settings: Mapping[str, Any]) -> int | None:
    """Transitions, updates or iterations of training by its settings, see `AgentKind.steps`."""
    products = kind.literals.get("steps", ())
    return sum(prod(_at(settings, path) for path in paths) for paths in products) or None


def _sizing(
    keys: Mapping[str, str], sizes: Mapping[str, int | None], kind: str | None = None
) -> Sizing:
    present = {name: size for name, size in sizes.items() if size is not None}
    return {"keys": dict(keys), "sizes": present, "kind": kind}


def _rows(
    described: Description, mirror: Path | None, recorded_rows: Mapping[str, int]
) -> int | None:
    """Rows of a table: of its parts, of its files where a line is a record, or as known."""
    if described.split.scheme == "counts":
        return sum(int(count) for count in described.split.parts.values())
    source = described.source
    if described.format is not None and described.format.kind in _BY_LINES:
        counts = [_lines(described, file.name, mirror) for file in source.files]
        if counts and None not in counts:
            each = [count for count in counts if count is not None]
            return max(each) if source.join else sum(each)
    return recorded_rows.get(described.name)


def _lines(described: Description, name: str, mirror: Path | None) -> int | None:
    try:
        path = locate_file(described, name, data_mirror=mirror)
    except FrugalError:
        return None
    if path is None or path.suffix == ".gz":
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))


def _table(name: str, rows: int | None, described: Description) -> Sizing:
    panels = sum(not panel.free for panel in described.panels)
    sizes = {"rows": rows, "columns": len(described.columns), "panels": panels}
    return _sizing({"dataset": name}, sizes)


def _of_afape(study: Study) -> Iterator[Sizing]:
    block = study.config["afape"]
    for entry in block["scenarios"]:
        keys = {key: entry[key] for key in ("dataset", "mechanism")}
        yield _sizing(keys, {}, str(study.nuisance_settings(*keys.values())["method"]))
    kinds = declared_kinds()
    for name, agent in study.agents.items():
        steps = training_steps(kinds[agent["kind"]], agent)
        yield _sizing({"agent": name}, {"steps": steps}, agent["kind"])
    grid = block["grid"]
    worlds = {"seeds": grid["draws"], "policies": len(grid["agents"])}
    worlds |= {key: grid[key] for key in ("rows", "panels")}
    yield _sizing({"missing_share": ANY}, worlds)


def _at(settings: Mapping[str, Any], path: str) -> int:
    """The number that keys lead to, `training.ppo.steps`; of a list how many it has."""
    value: Any = settings
    for key in path.split("."):
        value = value[key]
    return len(value) if isinstance(value, list) else int(value)


def _of_dadi(dadi: DadiStudy, study: Study, tables: Mapping[str, int | None]) -> Iterator[Sizing]:
    training = dadi.block["training"]
    for entry in dadi.block["scenarios"]:
        name = entry["dataset"]
        panels = sum(not panel.free for panel in study.descriptions[name].panels)
        sizes = {
            "rows": entry["rows"] or tables[name],
            "panels": panels - len(entry["withheld_panels"]),
            "policies": len(dadi.gammas(name)),
            "steps": training["iterations"] + training["pretraining_iterations"],
        }
        yield _sizing({"dataset": name, "fold": ANY}, sizes)


def _of_diagnosis(diagnosis: DiagnosisStudy) -> Iterator[Sizing]:
    block, training = diagnosis.block, diagnosis.block["training"]
    imputers = declared("frugal.learn.imputers", "ImputerKind")
    selections = declared("frugal.acquire.policies", "SelectionWay")
    baselines = []
    for entry in block["scenarios"]:
        grids = [block["baselines"][name]["grid"] for name in entry["baselines"]]
        tried = sum(prod(len(values) for values in grid.values()) for grid in grids)
        chosen = [block["selection"][name] for name in entry["selection"]]
        steps = sum(training_steps(selections[each["kind"]], each) or 0 for each in chosen)
        keys = {"dataset": entry["dataset"], "criterion": ANY}
        yield _sizing(keys, {"policies": tried, "steps": max(1, steps)})
        baselines.append(_sizing(keys | {"family": "baselines"}, {"policies": tried}))
    yield _sizing({"family": ANY}, {"policies": len(diagnosis.pairs())})
    yield from baselines  # the family is in the path of a file, and no wildcard
    for family, chosen in block["methods"].items():
        for g, group in enumerate(diagnosis.groups()):
            steps = training["outer_loops"] * training["policy_updates"] * training["ppo"]["steps"]
            sizes = {"policies": len(group), "steps": steps}
            yield _sizing({"family": family, "group": str(g)}, sizes, chosen["variant"])
    for name, encoder in block["encoders"].items():
        steps = training_steps(imputers[encoder["kind"]], encoder)
        yield _sizing({"encoder": name}, {"steps": steps}, encoder["kind"])


def _of_searches(searches: TreatmentStudy, rows: Mapping[str, int]) -> Iterator[Sizing]:
    for name, described in searches.descriptions.items():
        entry = searches.block["scenarios"][name]
        grids = entry["grids"].values()
        lists = [[v for v in grid.values() if isinstance(v, list)] for grid in grids]
        sizes = {
            "rows": sum(n for grid in grids for n in grid["n_train"] or ())
            or rows.get(described.name),
            "panels": len(described.actions),
            "seeds": entry["seeds"],
            "policies": sum(prod(map(len, each)) for each in lists),
        }
        yield _sizing({"dataset": name}, sizes)


def _of_recourse(recourse: RecourseStudy, rows: Mapping[str, int]) -> Iterator[Sizing]:
    for entry in recourse.block["scenarios"]:
        source = entry["source"]
        generators = [recourse.block["generators"][name] for name in entry["generators"]]
        sizes = {
            "rows": source.get("draws", rows.get(entry["dataset"])),
            "panels": source.get("actions"),
            "policies": len(generators),
            "steps": sum(generator.get("epochs", 1) for generator in generators),
        }
        yield _sizing({key: entry[key] for key in ("dataset", "variant")}, sizes)
