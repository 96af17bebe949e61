"""Which treatment to try next: a policy learned from one's own records of searches."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError, FrugalError, argument
from frugal.core.schema_check import listed, read_yaml
from frugal.library.question import TemporaryFolder, door

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SearchAnswer", "search"]

NEEDED = ("unit", "step", "treatment", "outcome", "outcomes")  # of a table without a YAML


@dataclass(frozen=True, eq=False, repr=False)
class SearchAnswer:
    """A policy of treatment searches, evaluated on records that it did not learn from.

    Attributes:
        estimates: a row for each policy, quantity and estimator, with intervals.
        steps: a row for each history that the policy comes to, with its next treatment.
        name: of the policy.
        words: the policy, step by step.
    """

    estimates: "pd.DataFrame"
    steps: "pd.DataFrame"
    name: str
    words: str
    _text: str
    _files: Mapping[str, bytes]

    def summary(self) -> str:
        """Which policy, its trials and outcomes, how sure, and its basis."""
        return self._text

    def __str__(self) -> str:
        return self._text

    @door
    def advise(self, cases: str | Path) -> "pd.DataFrame":
        """The next treatment for each unit of a file like the records, and why.

        Raises:
            DataError: the file does not match the records' description.
        """
        from frugal.results.replacing import replace_files
        from frugal.studies.treatment.advice import search_advice

        scratch = TemporaryFolder()
        replace_files({scratch / name: content for name, content in self._files.items()})
        return search_advice(scratch / "policy", Path(cases))

    @door
    def save(self, folder: str | Path) -> Path:
        """Keep the answer as a folder: its text and page, `answer.json`, the policy, the YAML.

        `frugal advise FOLDER` reads the policy.

        Raises:
            DataError: there is such a file already.
        """
        from frugal.library.kept_answers import keep

        lines = "".join(f"<p>{escape(line)}</p>" for line in self._text.strip().split("\n"))
        page = f'<!doctype html><meta charset="utf-8"><title>Answer</title><h1>Answer</h1>{lines}'
        page += f"<h2>The policy</h2><pre>{escape(self.words)}</pre><h2>Estimates</h2>"
        page += self.estimates.to_html(index=False, float_format="{:.3g}".format)
        estimates = json.loads(self.estimates.to_json(orient="records"))
        document = {"searches": 1, "policy": self.name, "estimates": estimates}
        keep(Path(folder), self._text, page.encode(), document, self._files)
        return Path(folder)


@door
def search(
    records: str | Path,
    *,
    unit: str | None = None,
    step: str | None = None,
    treatment: str | None = None,
    outcome: str | None = None,
    outcomes: Sequence[str] | None = None,
    belongs_to: str | None = None,
    covariates: Mapping[str, Sequence[Any]] | None = None,
    confounders: Mapping[str, Sequence[Any]] | None = None,
    epsilon: float | None = None,
    delta: Sequence[float] | None = None,
    judging_share: float | None = None,
    seed: int | None = None,
) -> SearchAnswer:
    """Which treatment to try next, and when to stop, from records of earlier searches.

    The same as `snakemake search --config records=my.yaml`.

    Args:
        records: the YAML of records (docs/tutorials/treatment_search.md), which takes none of the
            arguments from `unit` to `confounders`; or a file with a row for each trial.
        unit: column that names the search: one patient's, one episode's.
        step: column that orders a unit's trials.
        treatment: column of the treatment.
        outcome: column of its outcome.
        outcomes: texts of the outcomes, from the worst to the best.
        belongs_to: column that groups units, such as the patient.
        covariates: columns that a policy may read → texts, or numbers at which it is cut.
        confounders: the same of columns that decided which treatments were tried, and that a policy
            does not read.
        epsilon: an outcome is good enough if none is better by more than this; by default 0.
        delta: probabilities of stopping too early that are tried; the first decides.
        judging_share: share of the units that judge; by default 0.5.
        seed: of the parts and forests; None: that of a config.

    Raises:
        ConfigError: an argument is missing, or makes no sense.
        DataError: the records do not match their description.
    """
    from threadpoolctl import threadpool_limits

    from frugal.core.context import Context
    from frugal.core.streams import Streams
    from frugal.results.files import payload_bytes
    from frugal.results.replacing import replace_files
    from frugal.run.config_files import config_with
    from frugal.studies.treatment.stages.planners import judge_searches, write_search_answer
    from frugal.studies.treatment.targets import search_files

    path, scratch = Path(records), TemporaryFolder()
    columns = {"unit": unit, "step": step, "treatment": treatment, "outcome": outcome}
    columns |= {"belongs_to": belongs_to, "outcomes": outcomes}
    described = {"covariates": covariates, "confounders": confounders}
    if path.suffix.lower() in (".yaml", ".yml"):
        if named := [k for k, v in {**columns, **described}.items() if v is not None]:
            raise ConfigError(f"{listed(map(argument, named))}: {path} states this itself")
        document, file = read_yaml(path), None
    else:
        document, file = _document(path, columns, described), path
    settings = {"epsilon": epsilon, "delta": delta, "judging_share": judging_share}
    stated = {key: value for key, value in settings.items() if value is not None}
    description = path.absolute()
    if file is not None or stated:
        description = scratch / f"{path.stem}.yaml"
        if isinstance(document, dict):
            document = {**document, **stated}
            document["file"] = str((path.parent / str(document.get("file"))).absolute())
        replace_files({description: json.dumps(document, indent=1).encode()})
    context = Context({}, Streams(config_with(seed=seed)["seed"], "judge_searches", {}))
    try:
        with threadpool_limits(1):  # two threads round sums in another order
            inputs = search_files(description, description.parent).inputs
            judged = judge_searches(**inputs, context=context)
    except FrugalError as error:  # cites no file that a person has not written
        sentence = re.sub(rf"\S*{re.escape(str(description))}: ", "", str(error))
        raise error if description == path.absolute() else type(error)(sentence) from error
    policy_and_arrays = {"policy": judged["policy"], "arrays": judged["arrays"]}
    written = write_search_answer(**policy_and_arrays, context=context)
    document["file"] = str((path.parent / document["file"]).absolute())
    of = {"policy/policy.json": judged["policy"], "policy/policy.safetensors": judged["arrays"]}
    files = {name: payload_bytes(Path(name), payload) for name, payload in of.items()}
    files[f"{document['name']}.yaml"] = json.dumps(document, indent=1).encode()
    words, text = written["words"].decode(), written["text"].decode()
    return SearchAnswer(
        judged["estimates"], judged["steps"], judged["policy"]["name"], words, text, files
    )


def _document(
    path: Path, columns: Mapping[str, Any], described: Mapping[str, Any]
) -> dict[str, Any]:
    """The YAML of a file with a row for each trial.

    Raises:
        ConfigError: a column that is needed is not named.
    """
    from frugal.data.long_files import LongFile
    from frugal.run.table_yaml import short_name

    if lacking := [argument(name) for name in NEEDED if columns[name] is None]:
        names = list(map(str, LongFile.of(path).cells))
        raise ConfigError(
            f"{listed(lacking)} {'is' if len(lacking) == 1 else 'are'} missing; the columns of "
            f"{path} are {listed(names)}, and outcomes are its texts from the worst to the best"
        )
    document = {key: value for key, value in columns.items() if value is not None}
    kinds = {
        key: {name: _levels(list(of)) for name, of in (entries or {}).items()}
        for key, entries in described.items()
    }
    head = {"name": short_name(path.stem), "title": path.stem, "file": path.name, "layout": "long"}
    return {**head, **document, "outcomes": {"levels": list(columns["outcomes"])}, **kinds}


def _levels(values: list[Any]) -> dict[str, list[Any]]:
    """Texts as levels, numbers as edges."""
    try:
        return {"edges": [float(value) for value in values]}
    except ValueError:
        return {"levels": values}
