"""A question about a table: the config that follows, as Snakemake would merge it, and its folder.

Every object of the library holds one; a further question is a changed copy. Runs no stage.
"""

import hashlib
import inspect
import numbers
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from frugal.config.declared import declared_kinds, is_filed
from frugal.config.parts import part_files, part_keys
from frugal.config.root import effective
from frugal.core.declarations import PROJECT
from frugal.core.errors import ConfigError, DataError, FrugalError, sentences, through
from frugal.core.rows import readable
from frugal.core.schema_check import did_you_mean, listed, read_yaml, requested_file
from frugal.results.files import file_digest
from frugal.results.replacing import replace_files
from frugal.run.config_files import laid_over, read_config_file
from frugal.run.own_table import Decision, decision
from frugal.run.study import Study, load_study

if TYPE_CHECKING:
    from frugal.library.frames import Described

Config = Mapping[str, Any]


class TemporaryFolder:
    """A temporary folder, made when it is needed and removed with the last object that holds it.

    A pickled one is another, empty folder.
    """

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="frugal-")

    def __truediv__(self, name: str) -> Path:
        return Path(self._folder.name, name)

    def __reduce__(self) -> tuple[type["TemporaryFolder"], tuple[()]]:
        return TemporaryFolder, ()


@dataclass(frozen=True)
class KeptFile:
    """A file as it was when an object was made of it.

    Attributes:
        path: where it lay.
        digest: SHA-256 of its bytes, by which stages know it.
        content: its bytes; None of raw data, which `load` reads at once.
    """

    path: Path
    digest: str
    content: bytes | None

    @classmethod
    def of(cls, path: Path, *, raw: bool = False) -> "KeptFile":
        """The file as it is now.

        Raises:
            DataError: it cannot be read.
        """
        path = path.absolute()  # the working folder may be another one later
        with readable(path):
            if raw:
                return cls(path, file_digest(path), None)
            content = path.read_bytes()
        return cls(path, hashlib.sha256(content).hexdigest(), content)

    @property
    def is_as_kept(self) -> bool:
        """Whether it lies there unchanged."""
        return self.path.is_file() and file_digest(self.path) == self.digest


@dataclass(frozen=True, eq=False)
class Question:
    """A table, its scenario and its policies, checked.

    Attributes:
        decision: the request of `snakemake decide`.
        study: its config, validated, with the description of the table.
        mechanism: of the scenario.
        folder: in which `results/` lies; None: everything stays in memory.
        cores: jobs at a time, of the workflow.
        files: inputs of stages by name: the description, raw files, causes, other cases.
        functions: agent → file of one's own function.
        ran: targets of the workflow that were made for this very question.
        memory: a call of a stage → its outputs; shared by copies.
        scratch: for files, pages and bundles of policies; shared by copies.
        described: the data frame that the table was; None for a YAML.
    """

    decision: Decision
    study: Study
    mechanism: str
    folder: Path | None
    cores: int
    files: Mapping[str, KeptFile]
    functions: Mapping[str, KeptFile]
    ran: set[str] = field(default_factory=set)
    memory: dict[str, Config] = field(default_factory=dict)
    scratch: TemporaryFolder = field(default_factory=TemporaryFolder)
    described: "Described | None" = None

    def run_config(self, *, decides: bool) -> dict[str, Any]:
        """The config of a run of the workflow, with files of agents by full paths.

        Where nothing is decided, the table is a data set like others, and an answer's policies need
        not be among those that are evaluated.
        """
        config, afape = self.decision.config, self.decision.config["afape"]
        files = {name: {"file": str(file.path)} for name, file in self.functions.items()}
        afape = laid_over(afape, {"agents": files})
        if decides:
            return {**config, "afape": afape}
        names, answer = list(self.study.agents), afape["answer"]
        practice = answer["practice"] if answer["practice"] in names else names[0]
        prefer = [name for name in answer["prefer"] if name in names]
        afape["answer"] = {**answer, "practice": practice, "prefer": prefer}
        return {**config, "table": None, "afape": afape}

    @property
    def dataset(self) -> str:
        """Name of the table."""
        return self.decision.dataset

    @property
    def keys(self) -> dict[str, str]:
        """Wildcards of the scenario."""
        return {"dataset": self.dataset, "mechanism": self.mechanism}

    def keys_of(self, agent: str) -> dict[str, str]:
        """Wildcards of one of its policies."""
        return {**self.keys, "agent": agent}

    @property
    def seed(self) -> int:
        """Root of every random stream."""
        return int(self.study.config["seed"])

    def with_law(self, law: Config, name: str) -> "Question":
        """The same table under another mechanism of missingness, the only scenario.

        Raises:
            ConfigError: the law is none, or names an unknown column or panel.
        """
        scenario = {
            "dataset": self.decision.dataset,
            "mechanism": name,
            "missingness": dict(law),
            "nuisance_method": None,
            "s": None,
        }
        changed = self.with_block("afape", {"scenarios": [scenario]})
        return replace(changed, mechanism=name)

    def located(self, file: KeptFile) -> Path:
        """Where a file is read: in its place while it is there unchanged, else a copy.

        Raises:
            DataError: raw data, of which no copy is kept, have changed.
        """
        if file.is_as_kept:
            return file.path
        if file.content is None:
            raise DataError(f"{file.path} has changed, or is gone, since it was loaded; load again")
        copy = self.scratch / file.digest / file.path.name
        replace_files({copy: file.content})
        return copy

    def require_unchanged(self) -> None:
        """Refuse a run of the workflow, which reads files as they are, on files that have changed.

        Raises:
            DataError: a file is not as it was when the table was loaded.
        """
        for file in (*self.files.values(), *self.functions.values()):
            if not file.is_as_kept:
                raise DataError(
                    f"{file.path} has changed, or is gone, since it was loaded; load the table "
                    "again"
                )

    def with_agents(
        self, agents: Mapping[str, Config | None], functions: Mapping[str, KeptFile] | None = None
    ) -> "Question":
        """The same with further policies, or with others under their names; null leaves one out.

        Args:
            agents: settings by name.
            functions: files of theirs that were read before; others are read now.

        Raises:
            ConfigError: a policy is not one that a config may have.
        """
        files = {name: file for name, file in self.functions.items() if name not in agents}
        question = replace(self, functions={**files, **(functions or {})})
        block = self.study.config["afape"]
        agents = {**block["agents"], **agents}
        left = [name for name, settings in agents.items() if settings is not None]
        if not left:
            raise ConfigError(f"agents names no policy; allowed are {listed(block['agents'])}")
        changes: dict[str, Any] = {"agents": agents, "figures": _figures(block["figures"], left)}
        grid, answer = block["grid"], block["answer"]
        able = [name for name in left if not _is_filed(agents[name])]
        named = [name for name in grid["agents"] if name in left] or able[:1] or grid["agents"]
        practice = answer["practice"] if answer["practice"] in left else left[0]
        prefer = [name for name in answer["prefer"] if name in left]
        changes["grid"] = {**grid, "agents": named}
        changes["answer"] = {**answer, "practice": practice, "prefer": prefer}
        return question.with_block("afape", changes)

    def with_keys(self, **keys: Any) -> "Question":
        """The same with other keys of the config; None leaves one as it is.

        Raises:
            ConfigError: a value is not allowed.
        """
        stated = {key: value for key, value in keys.items() if value is not None}
        return self._of_config(effective({**self.decision.config, **stated}))

    def with_block(self, block: str, changes: Config) -> "Question":
        """The same with other keys of a block of the config.

        Raises:
            ConfigError: a value is not allowed.
        """
        config = dict(self.decision.config)
        config[block] = {**config[block], **changes}
        return self._of_config(config)

    def _of_config(self, config: dict[str, Any]) -> "Question":
        own_files = {name: file.path for name, file in self.functions.items()}
        study = load_study(config, PROJECT, replace(self.study, own_files=own_files))
        return replace(
            self,
            decision=replace(self.decision, config=config),
            study=study,
            functions=_functions(study, self.functions),
            ran=set(),
        )


def require(name: str, value: Any, kinds: type | tuple[type, ...], allowed: str) -> None:
    """Refuse an argument of another type than is allowed.

    Raises:
        ConfigError: with its name, the type found, and allowed types; no value, which may be
            data.
    """
    if not isinstance(value, kinds):
        raise ConfigError(f"{name} is {_type_of(value)}; allowed is {allowed}")


def require_entries(name: str, value: Any, allowed: str) -> list[Any]:
    """The entries of an argument that is a list of any kind.

    Raises:
        ConfigError: it has none to go through; as `require`.
    """
    entries = _entries(value)
    if entries is None:
        raise ConfigError(f"{name} is {_type_of(value)}; allowed is {allowed}")
    return entries


_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_WORDS: dict[Any, tuple[Any, str, str]] = {  # annotation → its types, one in words, several
    str: (str, "a text", "names"),
    Path: (Path, "a path", "paths"),
    bool: (bool, "True or False", "truth values"),
    int: (numbers.Integral, "a whole number", "whole numbers"),
    float: (numbers.Real, "a number", "numbers"),
    NoneType: (NoneType, "None", "None"),
}

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def door(verb: _Verb) -> _Verb:
    """A function for users: its arguments are of their annotated types, its errors sentences.

    Built-in types are checked, and containers of them; the function checks all others. NumPy's
    numbers become Python's, and lists of any kind become lists.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def checked(*arguments: Any, **named: Any) -> Any:
        parameters = signature.parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        unknown = [] if takes_any else [name for name in named if name not in parameters]
        if unknown:
            hint = did_you_mean(unknown[0], parameters)
            raise ConfigError(f"{verb.__name__} has no argument {unknown[0]!r}{hint}")
        bound = signature.bind(*arguments, **named)
        with (
            through("call") as outer,
            _in_python(signature) if outer else nullcontext(),
            sentences(),
        ):
            for name, value in bound.arguments.items():
                annotation = signature.parameters[name].annotation
                if isinstance(annotation, str):  # names of types that are not imported
                    continue
                bound.arguments[name] = _typed(name, value, annotation)
            return verb(*bound.args, **bound.kwargs)

    return checked  # type: ignore[return-value]


def with_options(options: type) -> Callable[[_Verb], _Verb]:
    """Shows the keys of a `TypedDict` as keyword arguments, in place of `**options`."""

    def shown(verb: _Verb) -> _Verb:
        signature = inspect.signature(verb)
        positional = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        kinds = {key: Union[(*added.python, None)] for key, added in part_keys().items()}
        keys = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in {**kinds, **get_type_hints(options)}.items()
        ]
        verb.__signature__ = signature.replace(parameters=[*positional, *keys])  # type: ignore[attr-defined]
        verb.__doc__ = (verb.__doc__ or "").replace("        PARTS\n", _words_on_parts())
        return verb

    return shown


def _words_on_parts() -> str:
    """Lines of a docstring: each argument that a part of the answer adds, with its meaning."""
    lines = [
        textwrap.fill(
            f"{key}: {added.doc}.", 100, initial_indent=" " * 8, subsequent_indent=" " * 12
        )
        for key, added in part_keys().items()
    ]
    return "".join(f"{line}\n" for line in lines)


@contextmanager
def _in_python(signature: inspect.Signature) -> Iterator[None]:
    """Refusals that name an option of a command name the argument of Python instead."""

    def argument(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        name = {"id": "id_column"}.get(name, name)
        within_command = "frugal " in match.string[: match.start()]
        return name if name in signature.parameters and not within_command else match[0]

    try:
        yield
    except FrugalError as error:
        sentence = _OPTION.sub(argument, str(error))
        if sentence == str(error):
            raise
        raise type(error)(sentence) from error


def _typed(name: str, value: Any, annotation: Any) -> Any:
    """A value of an annotated type.

    Raises:
        ConfigError: it is of another.
    """
    kinds = get_args(annotation) if get_origin(annotation) in (UnionType, Union) else (annotation,)
    checked = (*_WORDS, Literal, Mapping, Sequence, Iterable)
    if not all((get_origin(kind) or kind) in checked for kind in kinds):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, int) and float in kinds and abs(value) > sys.float_info.max:
        raise ConfigError(
            f"{name} is beyond all floats; allowed are at most {sys.float_info.max:g}"
        )
    for kind in kinds:
        of = get_origin(kind) or kind
        if of in _WORDS and isinstance(value, _WORDS[of][0]):
            return value
        if of is Literal and isinstance(value, str):
            return value  # which word it is, the function checks
        if of is Mapping and isinstance(value, Mapping):
            keys, values = get_args(kind)
            return {
                _typed(f"a key of {name}", key, keys): _typed(f"{name}[{key!r}]", cell, values)
                for key, cell in value.items()
            }
        if of in (Sequence, Iterable) and not isinstance(value, str | bytes | bytearray | Mapping):
            entries = _entries(value)
            if entries is not None:
                entry = get_args(kind)[0]
                return [_typed(f"{name}[{k}]", cell, entry) for k, cell in enumerate(entries)]
    raise ConfigError(f"{name} is {_type_of(value)}; allowed is {_allowed(kinds)}")


def _entries(value: Any) -> list[Any] | None:
    """The entries of a list of any kind; None of another value."""
    try:
        return list(value)
    except TypeError:
        return None


def _allowed(kinds: Sequence[Any]) -> str:
    """Types in words, a path for a text that may be one."""
    texts = []
    for kind in (kind for kind in kinds if not (kind is str and Path in kinds)):
        of = get_origin(kind) or kind
        if of in _WORDS:
            texts.append(_WORDS[of][1])
        elif of is Literal:
            texts += map(repr, get_args(kind))
        elif of is Mapping:
            texts.append("keys")
        else:
            entry = get_args(kind)[0]
            several = "names" if entry is Any else _WORDS.get(entry, (None, "", "values"))[2]
            texts.append(f"a list of {several}")
    texts = list(dict.fromkeys(texts))
    return ", or ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _type_of(value: Any) -> str:
    word = type(value).__name__
    return "None" if value is None else f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def ask(
    table: str | Path, folder: str | Path | None, config: Config | str | Path | None, **keys: Any
) -> Question:
    """The table that a YAML describes, with the policies of `decide`.

    Args:
        table: the YAML.
        folder: in which `results/` is made; None: a temporary one.
        config: laid over config.yaml and config/decide.yaml, as with `--configfile`.
        keys: of the config, laid over all; `cores`: jobs at a time.

    Raises:
        ConfigError, DataError: a sentence with the key or file, the value found and allowed values.
    """
    require("the table", table, (str, Path), "a data frame, or the path of a YAML")
    require("folder", folder, (str, Path, type(None)), "a path, or None for memory")
    if folder is not None and (not str(folder).strip() or "\0" in str(folder)):
        raise ConfigError(f"folder is {str(folder)!r}; allowed is a path, or None for memory")
    require("config", config, (Mapping, str, Path, type(None)), "keys, the path of a YAML, or None")
    cores = keys.pop("cores")
    if not isinstance(cores, int) or cores < 1:
        raise ConfigError(f"cores is {cores!r}; allowed are whole numbers from 1 on")
    stated = {key: value for key, value in keys.items() if value is not None}
    written = read_config_file(Path(config)) if isinstance(config, str | Path) else config or {}
    over = {**laid_over(written, stated), "table": str(table)}
    files = {"table", "causes", "recorded", *part_files(over)}
    for key in files & over.keys():  # by their full paths: a run starts elsewhere
        if path := requested_file(str(over[key]), PROJECT):
            over[key] = str(path.absolute())
    merged: Config = over  # keys stand in the order in which Snakemake merges them
    for under in ("config.yaml", "config/decide.yaml"):
        merged = laid_over(merged, read_yaml(PROJECT / under))
    merged = laid_over(merged, over)
    decided = decision(merged, PROJECT, Path(folder or "").absolute())
    study = load_study(decided.config, PROJECT)
    place = None if folder is None else decided.folder
    try:
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"folder is {str(folder)!r}, and {place} cannot be made: {error.strerror}"
        ) from None
    return question_of(decided, study, place, cores)


def question_of(
    decided: Decision, study: Study, folder: Path | None = None, cores: int = 1
) -> Question:
    """The question of a config, with all files as they are now."""
    mechanism = study.scenario_names()[0][1]
    files = _files(study, decided, mechanism)
    return Question(decided, study, mechanism, folder, cores, files, _functions(study, {}))


def _functions(study: Study, loaded: Mapping[str, KeptFile]) -> dict[str, KeptFile]:
    """Files of one's own functions by agent, as they were kept, else as they are now."""
    return {
        name: loaded[name] if name in loaded else KeptFile.of(path)
        for name, path in study.own_files.items()
    }


def _files(study: Study, decided: Decision, mechanism: str) -> dict[str, KeptFile]:
    """Inputs of stages that lie outside, by name, as they are now."""
    inputs = study.raw_inputs(decided.dataset) | study.causes_input(decided.dataset, mechanism)
    inputs |= {key: str(decided.config[key]) for key in part_files(decided.config)}
    return {
        name: KeptFile.of(Path(path), raw=name.startswith("raw_")) for name, path in inputs.items()
    }


def _is_filed(settings: Any) -> bool:
    """Whether settings, which are not checked yet, are those of a policy in a file."""
    kind = settings.get("kind") if isinstance(settings, Mapping) else None
    return isinstance(kind, str) and kind in declared_kinds() and is_filed(kind)


def require_known(question: Question, names: Iterable[str]) -> None:
    """Refuse names that no policy of the config has.

    Raises:
        ConfigError: names the first of them, and the policies that there are.
    """
    policies = question.study.agents
    for name in names:
        if name not in policies:
            raise ConfigError(
                f"agents names {name!r}; allowed are "
                f"{listed(policies)}{did_you_mean(name, policies)}"
            )


def without_others(question: Question, names: Collection[str]) -> dict[str, None]:
    """Settings that leave out all policies but these, and the one that decides in practice.

    By other models practice would decide otherwise on the recorded panels, so its cost would depend
    on the policies that are tried.

    Raises:
        ConfigError: there are no names.
    """
    policies = question.study.agents
    if not names:
        raise ConfigError(f"agents names no policy; allowed are {listed(policies)}")
    practice = question.study.config["afape"]["answer"]["practice"]
    return dict.fromkeys(name for name in policies if name not in (*names, practice))


def _figures(settings: Config, agents: list[str]) -> dict[str, Any]:
    """The figures' settings, where they name policies that are left out: those that are there."""
    shown = [name for name in settings["convergence_agents"] if name in agents]
    frequency = settings["frequency_agent"]
    return {
        **settings,
        "frequency_agent": frequency if frequency in agents else agents[0],
        "convergence_agents": shown or agents[:1],
    }
