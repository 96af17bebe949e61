"""How large the jobs of a config are, from which their time and memory follow.

Read by the Snakefile before any job has run, so it imports nothing heavy and opens no table: rows
are counted as lines of files, or stand in a description. Knows which part of the config decides the
size of which stage; must not know what a job costs.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from frugal.config.declared import declared_kinds
from frugal.core.declarations import Declared, declared
from frugal.core.errors import FrugalError
from frugal.data.description import Description
from frugal.data.raw import locate_file
from frugal.run.portions import Portions
from frugal.run.study import Study
from frugal.studies.dadi.spec import DadiStudy
from frugal.studies.diagnosis.spec import DiagnosisStudy
from frugal.studies.recourse.spec import RecourseStudy
from frugal.studies.treatment.spec import TreatmentStudy

# Of a size that is not told (a file that is not there yet) there is no entry.
SIZES = {
    "rows": "rows of the table; draws of a simulated world",
    "columns": "features of the table",
    "panels": "panels with a cost; actions of a search or of a catalogue",
    "seeds": "draws of the masks, repeats of a search",
    "policies": "policies, γ, classifiers or generators that one job handles",
    "steps": "transitions, iterations or epochs of training",
}
_AFAPE = ("draw_missingness", "impute_features", "train_agent", "roll_out", "fit_nuisances",
          "check_graph", "estimate_costs", "join_seeds", "draw_scenario_figures",
          "learn_candidates", "judge_candidates")  # fmt: skip
_BY_SEEDS = ("impute_features", "roll_out", "fit_nuisances", "check_graph", "estimate_costs")
_DADI = ("train_dadi", "train_fair_agent", "roll_out_dadi", "audit_fairness", "fit_fair_baselines",
         "score_dadi", "draw_dadi_figures")  # fmt: skip
_PLANNERS = ("prepare_searches", "compare_planners", "time_planners", "draw_world_figures",
             "draw_table_figures")  # fmt: skip
_BY_LINES = ("csv", "arff")  # formats in which a line is a record
_BLOCK = 2**20

Sizing = dict[str, Any]


def sizes_of(
    stage: str, keys: Mapping[str, str], sizings: Iterable[Sizing]
) -> tuple[dict[str, float], str | None]:
    """The sizes of one job, and the kind that tells its stage's jobs apart, if there are kinds.

    Args:
        stage: name of its rule.
        keys: its wildcards.
        sizings: as `config_sizes` makes them; of several that speak of a job the last one counts.
    """
    sizes: dict[str, float] = {}
    kind = None
    for sizing in sizings:
        if sizing["stages"] and stage not in sizing["stages"]:
            continue
        if sizing["keys"].items() <= keys.items():
            sizes |= {name: float(size) for name, size in sizing["sizes"].items()}
            kind = sizing["kind"] or kind
    return sizes, kind


def config_sizes(
    study: Study,
    dadi: DadiStudy,
    diagnosis: DiagnosisStudy,
    searches: TreatmentStudy,
    recourse: RecourseStudy,
    *,
    rows: Mapping[str, int],
    portions: Portions | None = None,
    own_records: tuple[int, int] | None = None,
) -> list[Sizing]:
    """What the config says of the size of its jobs.

    Args:
        study: the config, and afape.
        dadi: its block.
        diagnosis: its block.
        searches: of treatment.
        recourse: its block.
        rows: of data sets whose files do not tell them.
        portions: how large scenarios are divided; None: none is.
        own_records: rows of the tables of one's own searches, and treatments; None: there are none.

    Returns:
        `stages` (none: every one), `keys` and `sizes` each, and `kind` or None. All of it JSON.
    """
    tables = table_rows(study, rows) if portions is None else portions.rows
    largest = _told(rows=max((n for n in tables.values() if n is not None), default=None))
    return [
        _sizing(("audit",), {}, largest),
        *(_table(name, tables[name], described) for name, described in study.descriptions.items()),
        *_of_classifiers(study, tables),
        *_of_afape(study),
        *(() if portions is None else _of_portions(portions)),
        *_of_dadi(dadi, study, tables),
        *_of_diagnosis(diagnosis, tables),
        *_of_searches(searches, rows),
        *_of_own_records(own_records),
        *_of_recourse(recourse, rows),
    ]


def table_rows(study: Study, known: Mapping[str, int]) -> dict[str, int | None]:
    """Rows of each data set of a config; None where its files do not tell them, nor is it known."""
    mirror = study.config["data_mirror"]
    folder = None if mirror is None else Path(mirror)
    return {name: _rows(one, folder, known) for name, one in study.descriptions.items()}


def _sizing(
    stages: tuple[str, ...],
    keys: Mapping[str, str],
    sizes: Mapping[str, int],
    kind: str | None = None,
) -> Sizing:
    return {"stages": list(stages), "keys": dict(keys), "sizes": dict(sizes), "kind": kind}


def _told(**sizes: int | None) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size is not None}


def _rows(described: Description, mirror: Path | None, known: Mapping[str, int]) -> int | None:
    """Rows of a table: of its parts, of its files where a line is a record, or as known."""
    if described.split.scheme == "counts":
        return sum(int(count) for count in described.split.parts.values())
    source = described.source
    if described.format is not None and described.format.kind in _BY_LINES:
        counts = []
        for file in source.files:
            try:
                path = locate_file(described, file.name, data_mirror=mirror)
            except FrugalError:
                path = None
            counts.append(None if path is None or path.suffix == ".gz" else _lines(path))
        if counts and None not in counts:
            each = [count for count in counts if count is not None]
            return max(each) if source.join else sum(each)
    return known.get(described.name)


def _lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_BLOCK), b""))


def _table(name: str, rows: int | None, described: Description) -> Sizing:
    panels = sum(not panel.free for panel in described.panels)
    sizes = _told(rows=rows, columns=len(described.columns), panels=panels)
    return _sizing((), {"dataset": name}, sizes)


def _of_classifiers(study: Study, tables: Mapping[str, int | None]) -> Iterator[Sizing]:
    """A classifier reads its part alone. The tables that were measured learn from up to a half."""
    for name, rows in tables.items():
        split = study.descriptions[name].split
        if rows is not None and split.scheme == "counts" and "train" in split.parts:
            sizes = {"rows": min(rows, 2 * int(split.parts["train"]))}
            yield _sizing(("fit_classifier",), {"dataset": name}, sizes)


def _of_afape(study: Study) -> Iterator[Sizing]:
    block = study.config["afape"]
    shared = {"seeds": len(block["seeds"]), "policies": len(study.agents)}
    yield _sizing(_AFAPE, {}, shared)
    scenarios = block["scenarios"]
    yield _sizing(
        ("summarise_afape", "give_verdicts", "check_afape", "draw_study_figures"),
        {},
        shared | {"seeds": len(block["seeds"]) * len(scenarios)},
    )
    grid = block["grid"]
    worlds = {"seeds": grid["draws"], "policies": len(grid["agents"]), "rows": grid["rows"]}
    yield _sizing(("judge_world",), {}, worlds | {"panels": grid["panels"]})
    kinds = declared_kinds()
    for name, agent in study.agents.items():
        steps = _told(steps=_steps(kinds[agent["kind"]], agent))
        yield _sizing(("train_agent", "roll_out"), {"agent": name}, steps, agent["kind"])
    for entry in scenarios:
        keys = {key: entry[key] for key in ("dataset", "mechanism")}
        method = study.nuisance_settings(*keys.values())["method"]
        yield _sizing(("fit_nuisances",), keys, {}, str(method))


def _of_portions(portions: Portions) -> Iterator[Sizing]:
    """What one job of a scenario takes whose seeds or rows are divided."""
    for name in portions.rows:
        keys = {"dataset": name}
        if name in portions.divided:
            each = {"seeds": portions.seeds_each(name)}
            yield _sizing(_BY_SEEDS, keys, each)
        for agent in portions.study.agents:
            if len(portions.row_folders(name, agent)) > 1:
                rows = _told(rows=portions.rows_each(name))
                yield _sizing(("roll_out",), keys | {"agent": agent}, rows)


def _steps(kind: Declared, settings: Mapping[str, Any]) -> int | None:
    """Transitions, updates or iterations of training by its settings, see `AgentKind.steps`."""
    products = kind.says.get("steps", ())
    return sum(prod(_at(settings, path) for path in paths) for paths in products) or None


def _at(settings: Mapping[str, Any], path: str) -> int:
    """The number that keys lead to, `training.ppo.steps`; of a list how many it has."""
    found: Any = settings
    for key in path.split("."):
        found = found[key]
    return len(found) if isinstance(found, list) else int(found)


def _of_dadi(dadi: DadiStudy, study: Study, tables: Mapping[str, int | None]) -> Iterator[Sizing]:
    training = dadi.block["training"]
    steps = training["iterations"] + training["pretraining_iterations"]
    for entry in dadi.block["scenarios"]:
        name = entry["dataset"]
        panels = sum(not panel.free for panel in study.descriptions[name].panels)
        own = _told(
            rows=entry["rows"] or tables[name],
            panels=panels - len(entry["withheld_panels"]),
            policies=len(dadi.gammas(name)),
            steps=steps,
        )
        yield _sizing(_DADI, {"dataset": name}, own)
        fitted = {"policies": len(dadi.baselines)}
        yield _sizing(("fit_fair_baselines",), {"dataset": name}, fitted)


def _front_steps(training: Mapping[str, Any]) -> int:
    return training["outer_loops"] * training["policy_updates"] * training["ppo"]["steps"]


def _of_diagnosis(diagnosis: DiagnosisStudy, tables: Mapping[str, int | None]) -> Iterator[Sizing]:
    block = diagnosis.block
    steps = _front_steps(block["training"])
    for family, chosen in block["methods"].items():
        for g, group in enumerate(diagnosis.groups()):
            keys = {"family": family, "group": str(g)}
            yield _sizing(("train_front",), keys, {"policies": len(group), "steps": steps},
                          chosen["variant"])  # fmt: skip
    policies = {"policies": len(diagnosis.pairs())}
    yield _sizing(("roll_out_front", "recount_diagnoses"), {}, policies)
    imputers = declared("frugal.learn.imputers", "ImputerKind")
    ways = declared("frugal.studies.diagnosis.stages.fronts", "SelectionWay")
    for name, encoder in block["encoders"].items():
        if drawn := _steps(imputers[encoder["kind"]], encoder):
            sizes = {"steps": drawn}
            yield _sizing(("train_encoder",), {"encoder": name}, sizes, encoder["kind"])
    compared = block["imputer_comparison"]
    for entry in block["scenarios"]:
        keys = {"dataset": entry["dataset"]}
        grids = [block["baselines"][name]["grid"] for name in entry["baselines"]]
        tried = sum(prod(len(values) for values in grid.values()) for grid in grids)
        yield _sizing(("train_baselines",), keys, {"policies": tried})
        rows = min(tables[entry["dataset"]] or compared["most_rows"], compared["most_rows"])
        sizes = {"rows": rows, "seeds": len(compared["seeds"])}
        yield _sizing(("compare_imputers",), keys, sizes)
        chosen = [block["selection"][name] for name in entry["selection"]]
        transitions = sum(_steps(ways[one["kind"]], one) or 0 for one in chosen)
        yield _sizing(("train_selection",), keys, {"steps": max(1, transitions)})


def _of_searches(searches: TreatmentStudy, rows: Mapping[str, int]) -> Iterator[Sizing]:
    for name, described in searches.descriptions.items():
        entry = searches.block["scenarios"][name]
        grids = entry["grids"].values()
        lists = [[v for v in grid.values() if isinstance(v, list)] for grid in grids]
        learnt_from = [n for grid in grids for n in grid["n_train"] or ()]
        sizes = _told(
            rows=sum(learnt_from) or rows.get(described.name),
            panels=len(described.actions),
            seeds=entry["seeds"],
            policies=sum(prod(map(len, each)) for each in lists),
        )
        yield _sizing(_PLANNERS, {"dataset": name}, sizes)


def _of_own_records(size: tuple[int, int] | None) -> Iterator[Sizing]:
    if size is not None:
        yield _sizing(("judge_searches",), {}, _told(rows=size[0], panels=size[1]))


def _of_recourse(recourse: RecourseStudy, rows: Mapping[str, int]) -> Iterator[Sizing]:
    for entry in recourse.block["scenarios"]:
        source = entry["source"]
        keys = {"dataset": entry["dataset"], "variant": entry["variant"]}
        if source["kind"] == "simulated":
            sizes = _told(rows=source["draws"], panels=source["actions"])
        else:
            sizes = _told(rows=rows.get(entry["dataset"]))
        yield _sizing(("label_units", "answer_units"), keys, sizes)
        generators = [recourse.block["generators"][name] for name in entry["generators"]]
        learnt = {
            "policies": len(generators),
            "steps": sum(generator.get("epochs", 1) for generator in generators),
        }
        yield _sizing(("answer_units",), keys, learnt)
