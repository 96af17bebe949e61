"""Reads YAML and checks it against a JSON Schema, with one sentence for people where it fails.

Knows nothing of the meaning of keys; `description` does, and whoever reads another configuration.
"""

import difflib
import math
import operator
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError, DataError, is_private
from frugal.core.strict_yaml import StrictYamlError, parse_yaml, placed, text_of

_PROSE = {"note", "comment", "separator", "missing"}  # lines of prose; a tab between cells
_TABLES = {".csv", ".tsv", ".txt", ".arff", ".parquet", ".pq", ".xlsx", ".xls", ".xpt", ".gz"}
_LONGEST_SHOWN = 200  # characters of a value, or of a list of names, in a sentence
_LONGEST_NAME = 80  # characters of one name in a list

# Description of each pattern of a schema.
FORMS = {
    "^[0-9]+$": "a whole number",
    "^[0-9]+([.][0-9]+)?$": "a number from 0 on, as in 12.5",
    "^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$": (
        "a text of letters, digits, '_', '.' and '-', not of dots alone"
    ),
    "^[a-z][a-z0-9_]*$": "a small letter, and small letters, digits and '_' after it",
    "^[0-9a-f]{64}$": "a text of 64 characters, each of 0 to 9 or a to f",
    "^https?://": "an address that begins with http:// or https://",
    "[.]py$": "the name of a file that ends in .py",
    "[.]parquet$": "the name of a file that ends in .parquet",
    "^(.*/)?[^/]*[^/.][^/]*$": "the name of a file, with folders before it or without",
}
_TYPE_NAMES = {
    "object": "a mapping of keys",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def _is_whole(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(_: object, value: object) -> bool:
    return _is_whole(_, value) or (isinstance(value, float) and math.isfinite(value))


@cache
def _validator() -> Any:
    """JSON Schema takes 1e308 for an integer and lets infinities and NaN pass every bound."""
    from jsonschema import Draft202012Validator  # a quarter of the time of a first read
    from jsonschema.validators import extend

    types = {"integer": _is_whole, "number": _is_finite}
    checker = Draft202012Validator.TYPE_CHECKER.redefine_many(types)
    return extend(Draft202012Validator, type_checker=checker)


def read_yaml(path: Path) -> Any:
    """Content of a YAML file.

    Raises:
        ConfigError: the file does not exist, is not YAML, writes a key twice, or holds content that
            `strict_yaml` refuses.
    """
    try:
        return parse_yaml(text_of(path))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except StrictYamlError as error:
        raise ConfigError(placed(path, error)) from None


def require_no_table(path: Path, remedy: str) -> None:
    """Refuse a table in place of the YAML that describes it.

    Args:
        path: that is about to be read as a YAML.
        remedy: how such a YAML is made; `{}` is the path, as a shell takes it.

    Raises:
        ConfigError: it is a file whose suffix is that of a table.
    """
    if path.suffix.lower() in _TABLES and path.is_file():
        done = remedy.format(shlex.quote(str(path)))
        raise ConfigError(f"{path} is a table; allowed is the YAML that describes it: {done}")


def check_against_schema(document: Any, schema: Mapping[str, Any], *, where: str) -> None:
    """Refuses a document that its JSON Schema (2020-12) does not allow.

    Args:
        document: content of the YAML.
        schema: the parsed schema.
        where: name of the file, as the error begins.

    Raises:
        ConfigError: the first violation: its key, the value found, the values allowed.
    """
    require_plain_text(document, where)
    errors = sorted(
        _validator()(dict(schema)).iter_errors(document),
        key=lambda e: ([str(p) for p in e.absolute_path], str(e.validator)),
    )
    if errors:
        # An unknown key explains a missing one (a misspelling), so it speaks first.
        first = next((e for e in errors if e.validator == "additionalProperties"), errors[0])
        raise ConfigError(f"{where}: {_sentence(first)}")


def require_plain_text(document: Any, where: str) -> None:
    """Refuse keys that are no text, and control characters in names and values but prose.

    Raises:
        ConfigError: there is one.
    """
    _require_plain_text(document, where, "top level", set())


def _require_plain_text(
    document: Any, where: str, key: str, visited: set[tuple[int, bool]]
) -> None:
    """Refuse keys that are no text, and control characters in names and values but prose.

    `visited` holds the values checked under such a key: aliases share values, and each is read
    once.
    """
    if isinstance(document, Mapping | list):
        mark = (id(document), key in _PROSE)
        if mark in visited:
            return
        visited.add(mark)
    if isinstance(document, Mapping):
        for name, value in document.items():
            if not isinstance(name, str):
                raise ConfigError(
                    f"{where}: {key!r} holds the key {name!r}; allowed are keys of text: write it "
                    "in quotes"
                )
            _require_plain_text(name, where, key, visited)
            _require_plain_text(value, where, str(name), visited)
    elif isinstance(document, list):
        for value in document:
            _require_plain_text(value, where, key, visited)
    elif not isinstance(document, str | int | float) and (
        hasattr(document, "__array__") or not isinstance(operator.eq(document, document), bool)
    ):  # an array, or a value such as pandas' NA, which no schema can compare
        raise ConfigError(
            f"{where}: {key!r} is of type {type(document).__name__}; allowed are texts, numbers, "
            "lists, and keys with these"
        )
    elif isinstance(document, str) and key not in _PROSE and not document.isprintable():
        raise ConfigError(
            f"{where}: {key!r} holds {shown(document)}; allowed is text on one line without "
            "control characters"
        )


def asked_file(path: str | Path, base: Path) -> Path | None:
    """The file that a command names, from the working folder or from another; None if neither is.

    A name that no file can have (too long, for example) counts as no file.
    """
    return next((p for p in (Path(path), base / path) if os.path.isfile(p)), None)


def named_file(path: str | Path, base: Path) -> Path | None:
    """The file that a block of a config names, from the project or from the working folder.

    Args:
        path: as the config has it.
        base: the project's folder.

    Raises:
        ConfigError: there are two that differ, and the config may mean either.
    """
    in_working_folder, in_project = Path(path), base / path
    if not (os.path.isfile(in_working_folder) and os.path.isfile(in_project)):
        return asked_file(path, base)
    if in_working_folder.samefile(in_project):
        return in_working_folder
    if in_working_folder.read_bytes() != in_project.read_bytes():
        raise ConfigError(
            f"config: {str(path)!r} is a file of the working folder, and another one of the "
            f"project, {in_project}; write the full path of the one that is meant"
        )
    return in_project


def did_you_mean(word: object, allowed: Iterable[object]) -> str:
    """`; did you mean 'x'?` where an allowed value is similar to the value found, else empty."""
    close = difflib.get_close_matches(str(word), [str(a) for a in allowed], n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def cell_hint(cell: object, allowed: Iterable[object]) -> str:
    """The same for a cell of somebody's table; nothing where cells are not shown."""
    return "" if is_private() else did_you_mean(cell, allowed)


def as_item(name: str) -> str:
    """A name as an item of a list: in quotes where a comma would divide it."""
    return repr(name) if "," in name and name[0] not in "'\"" else name


def listed(values: Iterable[object], *, at_most: int = 30) -> str:
    """Values as text on one line, separated by commas; the tail of a long list is counted only."""
    texts = [as_item(printable(str(v))) for v in values]
    ends = accumulate(len(text) + 2 for text in texts[:at_most])
    count = max(1, sum(end <= _LONGEST_SHOWN for end in ends))
    shown = ", ".join(texts[:count])
    return shown if len(texts) <= count else f"{shown} and {len(texts) - count} more"


def may_be_record(names: Iterable[str]) -> bool:
    """Whether a number is where names are expected, as in a record (perhaps of persons).

    Where cells are not shown, every first line may be one.
    """
    numbers = (re.fullmatch(r"[+-]?\d+([.,]\d+)?", name.strip()) for name in names)
    return is_private() or any(numbers)


def require_unique_names(names: Sequence[object], source: object) -> None:
    """Refuse columns of one name; a name is shown where it is no cell of a record.

    Raises:
        DataError: two columns have the same name.
    """
    texts = [str(name) for name in names]
    name = next((text for text, times in Counter(texts).items() if times > 1), None)
    if name is None:
        return
    if may_be_record(texts):
        places = [number for number, text in enumerate(texts, start=1) if text == name]
        raise DataError(
            f"{source}: columns {places[0]} and {places[1]} have one name; names must be unique"
        )
    raise DataError(f"{source} has two columns named {name!r}; names must be unique")


def columns_listed(names: Iterable[object]) -> str:
    """The columns of a file in words; empty where a number among them indicates a record."""
    texts = [str(name) for name in names]
    if is_private():
        return "its columns are not shown (--private)"
    if may_be_record(texts):
        return "its first line holds a number, so it may be a record and no names"
    return f"its columns are {listed(texts, at_most=60)}"


def printable(text: str, *, at_most: int = _LONGEST_NAME) -> str:
    """A name as a sentence shows it: control characters as escapes, the tail of a long one out."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= at_most else f"{text[:at_most]}…"


def _key(error: Any) -> str:
    text = ""
    for part in error.absolute_path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "top level"


def _sentence(error: Any) -> str:
    if error.validator in ("oneOf", "anyOf") and error.context:
        return _sentence_of_branches(error)
    instance, rule, schema = error.instance, error.validator_value, error.schema
    text = _rule_sentence(str(error.validator), _key(error), instance, rule, schema, error.message)
    of_a_name = "propertyNames" in error.absolute_schema_path
    return text.replace("' is ", "' has the key ", 1) if of_a_name else text


def _sentence_of_branches(error: Any) -> str:
    """Violation of the intended branch: the one whose type fits, else the nearest."""
    branches: dict[Any, list[Any]] = {}
    for branch_error in error.context or ():
        branches.setdefault(branch_error.schema_path[0], []).append(branch_error)
    fitting = [es for es in branches.values() if not any(_is_other_type(e) for e in es)]
    fitting = fitting or list(branches.values())
    if all(
        len(es) == 1 and es[0].validator in ("type", "const") and not es[0].path for es in fitting
    ):
        return _sentence_of_values(
            error, [branch_error for es in branches.values() for branch_error in es]
        )
    kinds = [e for es in fitting for e in es if e.validator == "const"]
    if len({e.schema_path[0] for e in kinds}) == len(fitting):
        allowed = [e.validator_value for e in kinds]
        hint = did_you_mean(kinds[0].instance, allowed)
        return f"{_key(kinds[0])!r} is {kinds[0].instance!r}; allowed are {listed(allowed)}{hint}"
    unknown = [e for es in fitting for e in es if e.validator == "additionalProperties"]
    keys = dict.fromkeys(key for e in unknown for key in e.schema.get("properties", {}))
    mappings = [es for es in fitting if any(e.validator != "const" or e.path for e in es)]
    by_kind = any(e.validator == "const" for es in mappings for e in es)
    if len(unknown) == len(mappings) > 1 and not by_kind and not set(error.instance) <= set(keys):
        of_any = {"properties": keys}  # of any of these mappings
        return _rule_sentence(
            "additionalProperties", _key(error), error.instance, False, of_any, error.message
        )
    nearest = min(fitting, key=lambda es: (any(e.validator == "const" for e in es), len(es)))
    return _sentence(
        next((e for e in nearest if e.validator == "additionalProperties"), nearest[0])
    )


def _sentence_of_values(error: Any, branches: Iterable[Any]) -> str:
    """Of a value that is neither one of some words nor of another type."""
    allowed, types = [], []
    for branch in branches:
        rule: Any = branch.validator_value
        if branch.validator == "type":
            names = [rule] if isinstance(rule, str) else list(rule)
            types += names
            allowed += [_TYPE_NAMES[name] for name in names]
        elif branch.validator == "const":
            allowed.append(str(rule).lower() if isinstance(rule, bool) else repr(rule))
    instance = error.instance
    hint = _bare_word(instance, types)
    choices = " or ".join(dict.fromkeys(allowed))
    return f"{_key(error)!r} is {shown(instance)}; allowed is {choices}{hint}"


def _is_other_type(error: Any) -> bool:
    """Whether the branch is for another type, such as null where a mapping was intended."""
    return error.validator == "type" and not error.path


def _rule_sentence(
    validator: str, key: str, instance: Any, rule: Any, schema: Any, message: str
) -> str:
    # of a whole file only its type: it may be a table of personal data instead of a YAML
    value = _kind(instance) if key == "top level" else shown(instance)
    at = "at top level" if key == "top level" else f"under {key!r}"
    match validator:
        case "additionalProperties":
            properties = list(schema.get("properties", {}))
            unknown = next(k for k in instance if k not in properties)
            hint = did_you_mean(unknown, properties)
            return f"unknown key {unknown!r} {at}; allowed are {listed(properties)}{hint}"
        case "required":
            missing = next(k for k in rule if k not in instance)
            return f"key {missing!r} is missing {at}"
        case "type":
            names = [rule] if isinstance(rule, str) else list(rule)
            allowed = " or ".join(_TYPE_NAMES[n] for n in names)
            return f"{key!r} is {value}; allowed is {allowed}{_bare_word(instance, names)}"
        case "const":
            return f"{key!r} is {value}; allowed is {rule!r}{did_you_mean(instance, [rule])}"
        case "enum":
            hint = did_you_mean(instance, rule) or _bare_word(instance, ["string"])
            return f"{key!r} is {value}; allowed are {listed(rule)}{hint}"
        case "minimum":
            return f"{key!r} is {value}; allowed are values from {rule} on"
        case "exclusiveMinimum":
            return f"{key!r} is {value}; allowed are values above {rule}"
        case "maximum":
            return f"{key!r} is {value}; allowed are values up to {rule}"
        case "exclusiveMaximum":
            return f"{key!r} is {value}; allowed are values below {rule}"
        case "uniqueItems":
            return f"{key!r} is {value}; every entry must be unique"
        case "minItems" | "minLength" | "minProperties":
            return f"{key!r} is {value}; it must hold at least {_counted(rule, validator)}"
        case "maxItems":
            return f"{key!r} holds {len(instance)} entries; it may hold at most {rule}"
        case "maxLength":
            return f"{key!r} is {value}; it may hold at most {rule} characters"
        case "pattern":
            return f"{key!r} is {value}; allowed is {FORMS.get(rule, f'text of the form {rule}')}"
        case _:
            return f"{key!r}: {message}"


def _kind(document: Any) -> str:
    """Description of a document's type."""
    kinds = {Mapping: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    kind = next((name for of, name in kinds.items() if isinstance(document, of)), "number")
    return _TYPE_NAMES[kind]


def _counted(number: int, validator: str) -> str:
    """So many characters of a text, or entries of a list or mapping."""
    singular, plural = (
        ("character", "characters") if validator == "minLength" else ("entry", "entries")
    )
    return f"{number} {singular if number == 1 else plural}"


def shown(value: Any, *, at_most: int = _LONGEST_SHOWN) -> str:
    """A value as a sentence shows it: in one line, the tail of a long one left out."""
    text = repr(value)
    return text if len(text) <= at_most else f"{text[:at_most]}…"


def _bare_word(value: object, names: Iterable[str]) -> str:
    """Remedy where text was intended and YAML reads true or false."""
    if not isinstance(value, bool) or "string" not in names:
        return ""
    return "; YAML reads yes, no, on and off as true or false: write the text in quotes"
