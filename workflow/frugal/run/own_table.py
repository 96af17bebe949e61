"""The config of `snakemake decide`: one's own table, judged alone.

Read by the Snakefile where `table` is given. Reads the table's YAML, and none of its rows.
"""

import copy
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal import __version__
from frugal.config.afape import Protocol
from frugal.config.declared import kinds_with
from frugal.config.parts import part_files, part_keys
from frugal.config.root import Config, effective, most_missed_of
from frugal.core.episodes import REFERRED
from frugal.core.errors import ConfigError, argument
from frugal.core.schema_check import did_you_mean, listed, read_yaml, requested_file
from frugal.data.description import Description, description_of, read_description
from frugal.data.raw import locate_file
from frugal.results.files import read_payload, require_sealed

Files = Mapping[str, Path]  # name in the YAML → where it lies

MECHANISM = "own"
QUESTION = ("objective", "budget", "margin", "sensitive", "causes", "recorded", "most_missed")
K = 5  # folds of the rows: policies learn on all but one, and are judged on that one
SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)  # of the price of all panels, that F1 is given for


@dataclass(frozen=True)
class Decision:
    """The request of `snakemake decide`.

    Attributes:
        dataset: name of the table.
        folder: where everything of it lies.
        place: the same, from the working folder on.
        config: of the run.
        remarks: omissions and additions of the question, a sentence each.
    """

    dataset: str
    folder: Path
    place: Path
    config: dict[str, Any]
    remarks: tuple[str, ...]

    def answer_settings(self) -> dict[str, Any]:
        """Settings of `write_answer`."""
        budget = None if self.config["objective"] == "f1" else self.config["budget"]
        causes = self.config["causes"]
        bundles = self.place / f"results/bundles/dataset={self.dataset}/mechanism={MECHANISM}"
        bundle = (bundles / "agent=POLICY").as_posix()
        agents = self.config["afape"]["agents"]
        return {
            "budget": None if budget is None else float(budget),
            "causes": None if causes is None else Path(causes).name,
            "files": {key: Path(self.config[key]).name for key in part_files(self.config)},
            "remarks": list(self.remarks),
            "bundle": bundle,
            "kinds": {name: agent["kind"] for name, agent in agents.items() if agent},
            "reading": {
                "Next panel for a new case": f"python -m frugal advise {bundle} cases.csv",
                "All on one page": (self.place / "answer.html").as_posix(),
            },
            "run": {"Version": f"frugal {__version__}", "Repeat": self.command},
        }

    @property
    def command(self) -> str:
        """That gives the answer once more, in the folder of its files."""
        words = ["frugal decide", shlex.quote(Path(self.config["table"]).name)]
        files = {"causes", "recorded", *part_files(self.config)}
        for key in (*QUESTION, *part_keys()):
            value, file = self.config[key], key in files
            default = Config.model_fields[key].default if key in QUESTION else None
            if value is None or value is False or value == default:
                continue
            if isinstance(value, Mapping):  # by group, which no flag takes
                words.append(f"({key}: {dict(value)})")
                continue
            words.append(f"--{key.replace('_', '-')}")
            if value is not True:
                words.append(
                    shlex.quote(
                        Path(value).name
                        if file
                        else f"{value:g}"
                        if isinstance(value, float)
                        else str(value)
                    )
                )
        return " ".join(words)


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
    document = read_description(path)
    instead = _error_costs_of_f1(document) if config["objective"] == "f1" else {}
    described = description_of(path, document, instead)
    classes = len(described.label.classes)
    numeric = described.label.numeric is not None
    if config["objective"] == "f1" and (classes != 2 or numeric):
        of = "is a number" if numeric else f"has {classes} classes"
        raise ConfigError(
            f"{argument('objective')} is f1, and the label of {path.name} {of}; allowed are two, "
            "or cost"
        )
    place = within or Path("results", "decide", described.name)
    changed, remarks = _changes(config["sensitive"], described)
    described = description_of(path, document, instead | changed)
    files = _files(described, mirror)
    changed_config = copy.deepcopy(config)
    changed_config["data_mirror"] = None if mirror is None else str(mirror)
    changed_config["datasets"] = {**config["datasets"], described.name: str(path)}
    answer = changed_config["afape"]["answer"]
    answer["instead"] = {described.name: instead | changed | _sources(document, files)}
    if config["objective"] == "f1":
        answer["budgets"] = _budgets(changed_config["budget"], described)
    if config["causes"] is not None:
        changed_config["causes"] = str(_causes_file(config, base, described))
    if config["recorded"] is not None:
        answer["recorded"] = _protocol(config, base, described)
    _require_premises(config, described)
    for key, meaning in part_files(config).items():
        changed_config[key] = str(_file_of(config, key, base, meaning).absolute())
    _require_most_missed(config, described)
    missingness = {"source": "own", "panels": None}
    scenario = {"dataset": described.name, "mechanism": MECHANISM, "missingness": missingness}
    changed_config["afape"]["scenarios"] = [scenario | {"nuisance_method": None, "s": None}]
    remarks += _without_learners(changed_config["afape"]["agents"], described)
    return Decision(described.name, folder / place, place, changed_config, tuple(remarks))


def _require_premises(config: Mapping[str, Any], described: Description) -> None:
    """Refuse a part of the answer that is requested where it does not hold."""
    for key, added in part_keys().items():
        reasons = (r for need in added.needs for r in _unmet(need, config, described))
        if config[key] is not None and (reason := next(reasons, None)):
            raise ConfigError(f"{argument(key)} {reason}")


def _unmet(need: str, config: Mapping[str, Any], described: Description) -> Iterator[str]:
    """Why a premise of a key does not hold; nothing where it does."""
    label, path = described.label, described.path
    if need == "cost" and config["objective"] == "f1":
        yield "needs the objective cost, and it is f1"
    elif need == "classes" and label.numeric is not None:
        yield f"needs a label of classes, and that of {path} is a number"
    elif need == "independent" and (described.cluster is not None or label.weighed):
        reason = "'cluster'" if described.cluster is not None else "'unlabelled: weigh'"
        yield f"needs rows that are independent and have a label; {path} has {reason}"
    elif need == "person":
        if REFERRED in (*label.classes, *(panel.name for panel in described.panels)):
            yield (
                f"hands cases to {REFERRED!r}, and {path} has a class or a panel of this name; "
                "rename it"
            )
    elif need in part_keys() and config[need] is None:
        other = argument(need).removeprefix("config: ")
        yield f"is stated and {other} is not; allowed is both, or {other} alone"


def _require_most_missed(config: Mapping[str, Any], described: Description) -> None:
    """Refuse a bound on misses that is no share, or without a positive class."""
    most = config["most_missed"]
    if most is not None and config["objective"] == "f1":
        raise ConfigError(f"{argument('most_missed')} needs the objective cost, and it is f1")
    for name, share in most_missed_of(config).items():
        if not share <= 1:
            where = argument("most_missed", name or None)
            raise ConfigError(f"{where} is {share:g}; allowed is a share from 0 to 1")
    classes = "numbers" if described.label.numeric else len(described.label.classes)
    if most is not None and classes != 2:
        raise ConfigError(
            f"{argument('most_missed')} needs a label of two classes, and that of "
            f"{described.path} has {classes}"
        )


def _file_of(config: Mapping[str, Any], key: str, base: Path, allowed: str) -> Path:
    """The file that a key names."""
    path = requested_file(str(config[key]), base)
    if path is None:
        raise ConfigError(
            f"{argument(key)} is {str(config[key])!r}, and there is no such file; allowed is "
            f"{allowed}"
        )
    return path


def _causes_file(config: Mapping[str, Any], base: Path, described: Description) -> Path:
    """The YAML of causes, by its full path; `draw_missingness` reads it."""
    allowed = "a YAML of panels with their causes, see docs/how-to/own_table.md"
    path = _file_of(config, "causes", base, allowed).absolute()
    causes, panels = read_yaml(path), [p.name for p in described.panels if not p.free]
    if not isinstance(causes, dict):
        raise ConfigError(f"{path}: has causes for none; panels are {listed(panels)}")
    for name in causes:
        if name not in panels:
            raise ConfigError(
                f"{path}: has causes for {name}; panels that may have gaps are {listed(panels)}"
                f"{did_you_mean(name, panels)}"
            )
    return path


def _protocol(config: Mapping[str, Any], base: Path, described: Description) -> dict[str, Any]:
    """The protocol by which rows were recorded, alone or as the design of an answer."""
    path = _file_of(config, "recorded", base, "a protocol, see docs/reference/answer.md")
    document = read_payload(path) if path.suffix == ".json" else read_yaml(path)
    if isinstance(document, dict) and isinstance(document.get("design"), dict):
        require_sealed(path, document, "give the protocol alone if it was another")
        document = document["design"].get("protocol")
    protocol = Protocol.read(document, where=str(path)).plain()
    panels = [panel.name for panel in described.panels if not panel.free]
    for entry in (entry for stratum in protocol["strata"] for entry in stratum["record"]):
        for name in entry["panels"]:
            if name not in panels:
                raise ConfigError(
                    f"{path}: records panel {name!r}; allowed are {listed(panels)}"
                    f"{did_you_mean(name, panels)}"
                )
    return protocol


def _budgets(budget: Any, described: Description) -> list[float]:
    """The budget that is requested, or a fifth of the price of all panels; then shares of that."""
    costs = [panel.cost for panel in described.panels]
    costs_given = [float(cost) for cost in costs if cost is not None]
    if budget is None and len(costs_given) < len(costs):
        raise ConfigError(
            f"{argument('budget')} is not stated, and the costs of panels are drawn; the objective "
            "f1 needs a number, which panels may cost a case on average"
        )
    price = sum(costs_given)
    shares = [round(share * price, 6) for share in SHARES] if len(costs_given) == len(costs) else []
    return [float(budget) if budget is not None else shares[2], *shares]


def _error_costs_of_f1(document: Any) -> dict[str, Any]:
    """Costs of errors, which F1 does not need, in place of those that are still open."""
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
            f"{argument('sensitive')} is {sensitive!r}, the label; allowed are other columns, "
            "since a group has to be known before the label is"
        )
    return changed | {"groups": sensitive}, [f"Groups are the values of {sensitive!r}."]


def _sources(document: Mapping[str, Any], files: Files) -> dict[str, Any]:
    """The files of the table by full paths, as jobs run in another folder; none of downloads."""
    source = document["source"]
    if source["kind"] != "path":
        return {}
    full = [entry | {"name": str(files[entry["name"]].absolute())} for entry in source["files"]]
    return {"source": source | {"files": full}}


def _files(described: Description, mirror: Path | None) -> Files:
    """Where the files of the table lie on this machine."""
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
    return left_out and [
        f"The policies {listed(left_out)} are left out: they decide between two classes, and the "
        f"label of {described.path.name} has {classes}."
    ]
