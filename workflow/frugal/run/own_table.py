"""The config of `snakemake decide`: one's own table, judged alone.

Read by the Snakefile where `table` is given. Reads the table once, to see which panels have gaps.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from frugal.config.declared import kinds_with
from frugal.config.root import effective
from frugal.core.errors import ConfigError, FrugalError
from frugal.core.schema_check import asked_file, did_you_mean, listed, read_yaml
from frugal.core.table import Table
from frugal.data.description import Description, load_description
from frugal.data.raw import locate_file

Files = Mapping[str, Path]  # name in the YAML → where it lies
if TYPE_CHECKING:
    from frugal.data.prepare import Prepared

MECHANISM = "own"
K = 5  # folds of the rows: policies learn on all but one, and are judged on that one
LEAST_ROWS = 60  # with a gap, and without it, for other panels' missingness to depend on that panel
LEAST_TOGETHER = 30  # without two panels that are always missing together
SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)  # of the price of all panels, that F1 is given for


@dataclass(frozen=True)
class Decision:
    """The request of `snakemake decide`.

    Attributes:
        dataset: name of the table.
        folder: where everything of it lies.
        place: the same, from the working folder on.
        config: of the run.
        remarks: assumptions, a sentence each.
    """

    dataset: str
    folder: Path
    place: Path
    config: dict[str, Any]
    remarks: tuple[str, ...]

    def answer_settings(self) -> dict[str, Any]:
        """Settings of `write_answer`."""
        budget = None if self.config["objective"] == "f1" else self.config["budget"]
        bundles = self.place / f"results/bundles/dataset={self.dataset}/mechanism={MECHANISM}"
        bundle = (bundles / "agent=POLICY").as_posix()
        return {
            "budget": None if budget is None else float(budget),
            "remarks": list(self.remarks),
            "bundle": bundle,
            "reading": {
                "A new case": f"python -m frugal advise {bundle} cases.csv",
                "All on one page": (self.place / "answer.html").as_posix(),
            },
        }


def decision(
    config: Mapping[str, Any], base: Path, folder: Path, within: Path | None = None
) -> Decision:
    """The config in which the table that `table` names is the only one.

    Args:
        config: config.yaml with config/decide.yaml and `--config` over it.
        base: the project's folder.
        folder: the working folder; relative paths start there.
        within: where everything is made, from there on; None: results/decide/NAME.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and the values
            allowed.
    """
    config = effective(config)
    writes = "the YAML of a table, which `python -m frugal init TABLE --label COLUMN` writes"
    path, mirror = _file_of(config, "table", base, writes).absolute(), config["data_mirror"]
    mirror = None if mirror is None else Path(mirror).absolute()
    instead = _error_costs_of_f1(path) if config["objective"] == "f1" else {}
    described = load_description(path, instead)
    classes = len(described.label.classes)
    if config["objective"] == "f1" and classes != 2:
        raise ConfigError(
            f"config: 'objective' is f1, and the label of {path.name} has {classes} classes; "
            "allowed are two, or objective=cost"
        )
    place = within or Path("results", "decide", described.name)
    changed, remarks = _changes(config["sensitive"], described)
    described = load_description(path, instead | changed)
    files = _files(described, mirror)
    changed_config = copy.deepcopy(config)
    changed_config["data_mirror"] = None if mirror is None else str(mirror)
    changed_config["datasets"] = {**config["datasets"], described.name: str(path)}
    answer = changed_config["afape"]["answer"]
    answer["instead"] = {described.name: instead | changed | _sources(path, described, files)}
    missing = _gaps(described, files, int(config["seed"]))
    if config["objective"] == "f1":
        answer["budgets"] = _budgets(changed_config["budget"], described)
    yaml = "a YAML of panels with their causes, see docs/how-to/own_table.md"
    causes_file = None if config["causes"] is None else _file_of(config, "causes", base, yaml)
    causes, causes_remark = _causes(causes_file, missing)
    missingness = {"source": "own", "panels": causes}
    scenario = {"dataset": described.name, "mechanism": MECHANISM, "missingness": missingness}
    changed_config["afape"]["scenarios"] = [scenario | {"nuisance_method": None, "s": None}]
    remarks += [
        causes_remark,
        *_without_learners(changed_config["afape"]["agents"], described),
        *missing.suspicions,
    ]
    return Decision(described.name, folder / place, place, changed_config, tuple(remarks))


def _file_of(config: Mapping[str, Any], key: str, base: Path, allowed: str) -> Path:
    """The file that a key names."""
    path = asked_file(str(config[key]), base)
    if path is None:
        raise ConfigError(
            f"config: {key!r} is {str(config[key])!r}, and there is no such file; allowed is "
            f"{allowed}"
        )
    return path


def _budgets(budget: Any, described: Description) -> list[float]:
    """The budget that is asked for, or a fifth of the price of all panels; then shares of that."""
    costs = [panel.cost for panel in described.panels]
    costs_given = [float(cost) for cost in costs if cost is not None]
    if budget is None and len(costs_given) < len(costs):
        raise ConfigError(
            "config: 'budget' is null, and the costs of panels are drawn; objective=f1 needs a "
            "number, which panels may cost a case on average"
        )
    price = sum(costs_given)
    shares = [round(share * price, 6) for share in SHARES] if len(costs_given) == len(costs) else []
    return [float(budget) if budget is not None else shares[2], *shares]


def _error_costs_of_f1(path: Path) -> dict[str, Any]:
    """Costs of errors, which F1 does not ask for, in place of those that are still open."""
    document = read_yaml(path)
    rows = document.get("misclassification_cost") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return {}
    if not all(isinstance(row, list) and len(row) == len(rows) for row in rows):
        return {}
    if not any(cell is None for row in rows for cell in row):
        return {}
    counted = [[int(j != k) for j in range(len(rows))] for k in range(len(rows))]
    return {"misclassification_cost": counted}


def _changes(sensitive: str | None, described: Description) -> tuple[dict[str, Any], list[str]]:
    """Keys of the table's YAML that the question changes, and a sentence on each."""
    changed = {"split": {"scheme": "folds", "seed": described.split.seed, "k": K}}
    if sensitive is None:
        return changed, []
    if sensitive == described.label.column:
        raise ConfigError(
            f"config: 'sensitive' is {sensitive!r}, the label; allowed are other columns, since a "
            "group has to be known before the label is"
        )
    return changed | {"groups": sensitive}, [f"Groups are the values of {sensitive!r}."]


def _sources(path: Path, described: Description, files: Files) -> dict[str, Any]:
    """The files of the table by full paths, as jobs run in another folder; none of downloads."""
    if described.source.kind != "path":
        return {}
    source = read_yaml(path)["source"]
    full = [entry | {"name": str(files[entry["name"]].absolute())} for entry in source["files"]]
    return {"source": source | {"files": full}}


def _files(described: Description, mirror: Path | None) -> Files:
    """Where the files of the table lie on this machine.

    Raises:
        ConfigError: they are to be downloaded.
        DataError: there is no such file.
    """
    files = {}
    for file in described.source.files:
        path = locate_file(described, file.name, data_mirror=mirror)
        if path is None:
            raise ConfigError(
                f"config: 'table' names data set {described.name!r}, whose files are downloaded; "
                "decide reads files on this machine: set data_mirror to the folder that holds them"
            )
        files[file.name] = path
    return files


@dataclass(frozen=True)
class _MissingPanels:
    """Panels that can be missing, and those known for every row.

    Attributes:
        share: panel → share of rows without it, of panels that are missing somewhere.
        together: panel → an earlier one that is missing in the same rows.
        always_observed: encoded columns that vary, have no gap, and are in a panel without one.
        rows: of the table.
        layout: the table without its rows.
        suspicions: probable mistakes, a sentence each.
    """

    share: Mapping[str, float]
    together: Mapping[str, str]
    always_observed: tuple[str, ...]
    rows: int
    layout: Table
    suspicions: tuple[str, ...]

    @classmethod
    def of(cls, prepared: "Prepared", described: Description) -> "_MissingPanels":
        """Of a table in memory."""
        table = prepared.table
        observed_cells = np.isfinite(table.values)
        observed = {
            panel.name: np.asarray(observed_cells[:, inside].all(axis=1))
            for panel, inside in zip(table.actions, table.provides, strict=True)
        }
        lacking = {name: present for name, present in observed.items() if not present.all()}
        patterns: dict[bytes, str] = {}
        first = {
            name: patterns.setdefault(present.tobytes(), name) for name, present in lacking.items()
        }
        shown = {c for panel in table.panels if panel.name not in lacking for c in panel.columns}
        varied = [
            name
            for name, values, present in zip(
                table.columns, table.values.T, observed_cells.T, strict=True
            )
            if name in shown and present.all() and np.ptp(values) > 0
        ]
        return cls(
            {name: float(1 - present.mean()) for name, present in lacking.items()},
            {name: other for name, other in first.items() if name != other},
            tuple(varied),
            len(table),
            table.take(np.arange(0)),
            (
                *_dropped(prepared.report["rows_dropped"]),
                *_suspicions(table, described),
                *_never_recorded(lacking, prepared.split),
            ),
        )


def _gaps(described: Description, files: Files, seed: int) -> _MissingPanels:
    """Read the table."""
    from frugal.data.prepare import prepare

    return _MissingPanels.of(prepare(described, files, seed), described)


def _dropped(rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows that a rule on a number leaves out because they have none."""
    for rule in rules:
        if count := rule.get("rows_without_value"):
            yield (
                f"Look: of {rule['rows']:,} rows that are left out for {rule['reason']!r}, "
                f"{count:,} have no value in the column of the rule."
            )


def _never_recorded(observed: Mapping[str, np.ndarray], split: np.ndarray) -> Iterator[str]:
    """Panels that no row has outside of some fold, where the policies of that fold learn."""
    for name, recorded in observed.items():
        if not all(recorded[split != fold].any() for fold in np.unique(split)):
            yield (
                f"Look: panel {name!r} is recorded in {int(recorded.sum())} of {len(recorded):,} "
                f"rows, all in one of {K} folds, so that policies judged there could not learn "
                "from it; record it more often, or leave it out."
            )


def _suspicions(table: Table, described: Description) -> Iterator[str]:
    """Columns that name units or reveal the label, rows that are copies, and no complete row."""
    import pandas as pd

    from frugal.data.guessing import label_told, told_in
    from frugal.data.splits import copied

    frame, label = pd.DataFrame(table.values, columns=list(table.columns)), pd.Series(table.label)
    of = {name: described.column_of(name) or name for name in table.columns}
    suspects = list(table.columns)
    for name, count in Counter(of.values()).items():
        if count > LEAST_ROWS / 2 and count > 0.2 * len(table):
            yield (
                f"Look: column {name!r} has {count} levels in {len(table):,} rows, as a name has; "
                "a name predicts nothing for a new case, so leave it out."
            )
            suspects = [column for column in suspects if of[column] != name]
    leaks: dict[str, float] = {}
    for column in suspects:
        name, share = of[column], label_told(frame[column], label)
        leaks[name] = max(leaks.get(name, 0.0), share)
    for name, share in leaks.items():
        where = "every row that has it" if share == 1 else f"{told_in(share)} of rows that have it"
        if share:
            yield (
                f"Look: column {name!r} predicts the label in {where}; if it is known only "
                "afterwards, leave it out."
            )
    if copies := int(copied(frame.assign(label=label)).sum()):
        yield f"Look: {copies:,} rows are copies of others; if of the same units, leave them out."
    if np.isnan(table.values).any(axis=1).all():
        yield (
            "Look: no row has every panel, so that only policies that need few panels can be "
            "judged; put columns that are measured together into one panel."
        )


def _causes(path: Path | None, missing: _MissingPanels) -> tuple[dict[str, dict[str, Any]], str]:
    """Causes of each panel's gaps, and a sentence on them."""
    if not missing.share:
        return (
            {},
            f"{missing.rows:,} rows without a gap: a policy's decisions are seen in every row.",
        )
    if path is not None:
        stated = read_yaml(path)
        if not isinstance(stated, dict) or set(stated) != set(missing.share):
            names = listed(stated) if isinstance(stated, dict) else "none"
            raise ConfigError(
                f"{path}: has causes for {names}; panels with gaps are {listed(missing.share)}"
                f"{did_you_mean(next(iter(stated or ['']), ''), missing.share)}"
            )
        _require_identified(path, stated, missing)
        return stated, f"Causes of gaps are those of {path.name}."
    causes: dict[str, dict[str, Any]] = {}
    for panel in missing.share:
        enough = missing.share[panel] * missing.rows >= LEAST_TOGETHER
        same = missing.together.get(panel) if enough else None
        before = [name for name in causes if _often(missing, name) or name == same]
        causes[panel] = {"values": list(missing.always_observed), "indicators": before}
    worst = max(missing.share, key=lambda panel: missing.share[panel])
    return causes, (
        f"{missing.rows:,} rows, gaps in {len(causes)} panels (most in {worst}: "
        f"{missing.share[worst]:.0%}); assumed is that they depend only on columns of panels that "
        f"all rows have ({listed(missing.always_observed) or 'none'}) and on which other panels "
        "are recorded; the answer reports where the records contradict that."
    )


def _require_identified(path: Path, causes: Mapping[str, Any], missing: _MissingPanels) -> None:
    """Refuse causes by which no probability of a gap can be estimated."""
    from frugal.missing.graphs import parse_graph  # networkx
    from frugal.missing.identification import identify

    try:
        graph = parse_graph(MECHANISM, {"source": "own", "panels": causes}, missing.layout)
        identification = identify(graph, missing.layout, s=None)
    except FrugalError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not identification.propensity_identified:
        why = next(reason for reason in identification.reasons if "not identified: " in reason)
        raise ConfigError(
            f"{path}: with these causes no cost can be estimated: "
            f"{why.partition('not identified: ')[2]} Columns of panels that all rows have may "
            f"always be causes: {listed(missing.always_observed) or 'none here'}"
        )


def _often(missing: _MissingPanels, panel: str) -> bool:
    """Whether a panel is missing, and recorded, in so many rows that others' law can follow it."""
    return LEAST_ROWS <= missing.share[panel] * missing.rows <= missing.rows - LEAST_ROWS


def _without_learners(agents: dict[str, Any], described: Description) -> list[str]:
    """Leave out agents that cannot learn from this table, with a remark."""
    classes = len(described.label.classes)
    if classes == 2:
        return []
    binary = kinds_with("two_classes")
    left_out = [
        name for name, agent in agents.items() if agent is not None and agent["kind"] in binary
    ]
    agents |= dict.fromkeys(left_out)
    return [
        f"The policies {listed(left_out)} are left out: they decide between two classes, and the "
        f"label of {described.path.name} has {classes}."
    ]
