"""Strict YAML: no text can harm its reader, and ambiguous notation is an error.

Depends on PyYAML and the standard library only: Snakemake's logger loads this file by its path,
before anything else of the package is there. Knows nothing of the meaning of keys.
"""

import json
from pathlib import Path
from typing import Any

import yaml

MOST_BYTES = 2_000_000  # of a file; PyYAML reads about one million in a second
MOST_LEVELS = 100  # of nesting
MOST_ALIASED = 20_000  # values that aliases add to those that are written
LONGEST_NUMBER = 100  # characters
TEMPLATE_KEY = "__use_yte__"  # of Snakemake: true makes texts that begin with ? Python

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {None, "!", f"{_TAG}str", f"{_TAG}map", f"{_TAG}seq"}  # as an author may write them
_QUOTES = "write it in quotes"


class StrictYamlError(Exception):
    """A text is not YAML as this project reads it; the message is one sentence, with its place."""


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        FileNotFoundError: there is no such file.
        StrictYamlError: it is no file, is larger than any description, or is not UTF-8 text.
    """
    if path.exists() and not path.is_file():
        raise StrictYamlError("is a folder or a device, not a file")
    if (size := path.stat().st_size) > MOST_BYTES:
        raise StrictYamlError(f"has {size} bytes; at most {MOST_BYTES} are read")
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise StrictYamlError(
            f"cannot be read as text: byte {error.start} is {byte:#04x}; allowed is UTF-8"
        ) from None


def parse_yaml(text: str) -> Any:
    """Content of a YAML text: mappings, lists, texts, numbers, true, false and null.

    Raises:
        StrictYamlError: it is not YAML, writes a key twice, or holds refused content: more than
            `MOST_LEVELS` levels, aliases that expand to more than `MOST_ALIASED` values, tags,
            keys that are lists, dates, numbers to the base 60 or with a leading zero.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        problem = " ".join(filter(None, (error.problem, error.note)))
        if error.context and not error.context.startswith("while "):
            problem = f"{error.context}, {problem}"
        judged = "" if isinstance(error, _RefusedError) else "not valid YAML: "
        raise StrictYamlError(f"{_place(error)}{judged}{problem}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # a number such as 0x_, too
        raise StrictYamlError(f"not valid YAML: {' '.join(str(error).split())}") from None


def parse_config(text: str) -> Any:
    """Content of a config file, which may be JSON or YAML, as Snakemake reads it: JSON first.

    Raises:
        StrictYamlError: it is neither, or holds content that `parse_yaml` refuses.
    """
    try:
        return parse_json(text)
    except ValueError:
        return parse_yaml(text)


def parse_json(text: str) -> Any:
    """Content of a JSON text.

    Raises:
        ValueError: it is no JSON.
        StrictYamlError: it writes a key twice, is nested too deep, or holds a number too long.
    """
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_int=short_integer)
    except RecursionError:
        raise StrictYamlError(_too_deep()) from None
    _require_shallow(document)
    return document


def require_word(text: str) -> None:
    """Refuse a value of `--config` that Snakemake would read in part or forever.

    Snakemake takes a value for YAML in which all is text, and for plain text where it is no YAML.

    Raises:
        StrictYamlError: it writes a key twice, or holds too many levels or aliases.
    """
    try:
        yaml.load(text, Loader=_WordLoader)
    except _RefusedError as error:
        raise StrictYamlError(f"{_place(error)}{error.problem}") from None
    except yaml.YAMLError:
        pass


def read_config_file(path: Path) -> dict[str, Any]:
    """Content of a config file; nothing in it is executed.

    Raises:
        StrictYamlError: with the file's name: it is not there, is no JSON or YAML as `parse_yaml`
            reads it, has no keys, or demands to be run as a program.
    """
    try:
        document = parse_config(text_of(path))
    except FileNotFoundError:
        raise StrictYamlError(f"there is no file {path}") from None
    except OSError as error:
        raise StrictYamlError(f"{path} cannot be read: {error.strerror or error}") from None
    except StrictYamlError as error:
        raise StrictYamlError(placed(path, error)) from None
    if not isinstance(document, dict):
        content = "nothing" if document is None else f"a {_kind(document)}"
        raise StrictYamlError(f"{path} holds {content}; allowed is a mapping of keys")
    if TEMPLATE_KEY in document:
        raise StrictYamlError(
            f"{path}: unknown key {TEMPLATE_KEY!r} at top level; it makes Snakemake run Python "
            "from the file, so leave it out and write the values themselves"
        )
    return document


def placed(path: Path, error: StrictYamlError) -> str:
    """The sentence of an error with the name of the file in front."""
    sentence = str(error)
    continues = sentence.startswith(("is ", "has ", "cannot "))
    joint = ", " if sentence.startswith("line ") else " " if continues else ": "
    return f"{path}{joint}{sentence}"


class _RefusedError(yaml.MarkedYAMLError):
    """The text is YAML, but this project does not read it."""


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML that counts levels and aliases, and refuses misleading notation.

    `_written` values are in the text so far, `_counted` with every alias spelt out.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._level = self._written = self._counted = 0
        self._sizes: dict[str, int] = {}  # anchor → values under it, aliases spelt out

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            self._count_alias(event)
            return node
        if event.tag not in _PLAIN_TAGS:
            tag = event.tag.replace(_TAG, "!!")
            raise yaml.MarkedYAMLError(
                problem=f"the tag {tag!r} is not allowed; write the value without it",
                problem_mark=event.start_mark,
            )
        if self._level == MOST_LEVELS:
            raise _at(event, _too_deep())
        before = self._counted
        self._written, self._counted, self._level = self._written + 1, before + 1, self._level + 1
        node = super().compose_node(parent, index)
        self._level -= 1
        if event.anchor is not None:
            self._sizes[event.anchor] = self._counted - before
        if isinstance(node, yaml.ScalarNode):
            if any("\ud800" <= letter <= "\udfff" for letter in node.value):  # of an escape
                raise _at(node, f"{node.value[:50]!r} holds half a character; write it whole")
            if event.tag is None and node.style is None:
                _require_as_written(node)
        return node

    def _count_alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._sizes:
            raise _at(event, f"*{event.anchor} is inside the value that it names")
        self._counted += self._sizes[event.anchor]
        if self._counted - self._written > MOST_ALIASED:
            raise _at(
                event, f"aliases expand to more than {MOST_ALIASED} values; write them out instead"
            )


class _WordLoader(_StrictLoader):
    """The same, where every scalar is text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012


def _mapping_without_duplicates(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict:
    keys: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.tag == f"{_TAG}merge":
            continue
        if not isinstance(key_node, yaml.ScalarNode):
            raise _at(key_node, f"a key is a {key_node.id}; allowed are keys of text")
        key = loader.construct_object(key_node, deep=True)
        if key in keys:
            raise _at(key_node, f"key {key!r} is written twice")
        keys.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_duplicates
)


def _require_as_written(node: yaml.ScalarNode) -> None:
    """Refuse a bare word that YAML 1.1 takes for something else than a person would."""
    text, kind = node.value, node.tag.removeprefix(_TAG)
    if kind == "timestamp":
        raise _at(node, f"{text!r} is a date to YAML; {_QUOTES}")
    if kind == "value":
        raise _at(node, f"{text!r} has a meaning of its own in YAML; {_QUOTES}")
    if kind not in ("int", "float"):
        return
    if len(text) > LONGEST_NUMBER:
        raise _at(node, f"a number has {len(text)} characters; at most {LONGEST_NUMBER} are read")
    digits = text.replace("_", "").lstrip("+-")
    sign = -1 if text.startswith("-") else 1
    if ":" in digits:
        parts = [float(part) for part in digits.split(":")]
        number = sign * sum(part * 60**k for k, part in enumerate(reversed(parts)))
        raise _at(
            node,
            f"{text!r} is {number:g} to YAML, which reads colons as base 60; "
            "write the number itself, or the text in quotes",
        )
    if kind == "int" and digits[:1] == "0" and digits[1:2].isdigit():
        raise _at(
            node,
            f"{text!r} is {sign * int(digits, 8)} to YAML, which counts to the base 8 after a "
            "leading zero; write the number without it, or the text in quotes",
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise StrictYamlError(f"not valid JSON: key {key!r} is written twice")
        mapping[key] = value
    return mapping


def short_integer(text: str) -> int:
    """A whole number of JSON; one that no float holds is refused."""
    if len(text) > LONGEST_NUMBER:
        raise StrictYamlError(
            f"not valid JSON: a number has {len(text)} characters; at most {LONGEST_NUMBER} are "
            "read"
        )
    return int(text)


def _require_shallow(document: Any) -> None:
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(MOST_LEVELS):
        if not level:
            return
        inner = [v.values() if isinstance(v, dict) else v for v in level]
        level = [v for values in inner for v in values if isinstance(v, dict | list)]
    raise StrictYamlError(_too_deep())


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""


def _too_deep() -> str:
    return f"values are nested deeper than {MOST_LEVELS} levels"


def _kind(document: Any) -> str:
    return "list" if isinstance(document, list) else "single value"


def _at(where: Any, problem: str) -> _RefusedError:
    """A refusal that names the place of an event or a node."""
    return _RefusedError(problem=problem, problem_mark=where.start_mark)
