"""Base of all blocks of a config: typed keys with ranges, defaults and meanings, each once.

A block is a pydantic model. Its JSON Schema, its reference page and the sentence of a refusal are
derived from it. Read by the Snakefile, so it imports nothing heavy. Knows no key.
"""

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from frugal.config.refusals import refusal
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed, shown

_PROSE = {"note", "comment", "separator", "missing"}  # lines of prose; a tab between cells
_Block = TypeVar("_Block", bound="Block")
_Any = TypeVar("_Any")
_Several = TypeVar("_Several", list[Any], tuple[Any, ...])
_ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "left out"})()
_INLINE = (
    "type",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "pattern",
    "enum",
    "minLength",
)


class Block(BaseModel):
    """A mapping with the keys of its class and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _over_defaults(cls, document: Any) -> Any:
        """A nested block that is written in part keeps the rest of its key's default."""
        if not isinstance(document, Mapping):
            return document
        nested = {
            key: _laid_over(field.default, document[key])
            for key, field in cls.model_fields.items()
            if isinstance(field.default, Block) and isinstance(document.get(key), Mapping)
        }
        lists = {key: list(value) for key, value in document.items() if isinstance(value, tuple)}
        return {**document, **nested, **lists}

    def _refusals(self) -> Iterator[str]:
        """Sentences of keys that do not go together, after the name of the block, as `.key is`."""
        yield from ()

    @model_validator(mode="after")
    def _holds(self: _Block) -> _Block:
        for sentence in self._refusals():
            raise ValueError(sentence)
        return self

    @classmethod
    def read(cls: type[_Block], document: Any, *, where: str) -> _Block:
        """The block that a document holds.

        Args:
            document: mappings, lists and scalars, as YAML has them.
            where: how the sentence of a refusal begins, for example `config`.

        Raises:
            ConfigError: the first violation: its key, the value found, the values allowed.
        """
        require_plain_text(document, where)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            sentence = refusal(schema_of(cls), document, error)
            raise ConfigError(f"{where}: {sentence}") from None

    @classmethod
    def of(cls: type[_Block], settings: Mapping[str, Any]) -> _Block:
        """The block whose keys are among the settings of a step, which has defaults written out.

        Raises:
            ConfigError: a key is not there, or the first violation.
        """
        names = {field.alias or key: field for key, field in cls.model_fields.items()}
        for name, field in names.items():
            if name not in settings and field.default_factory is None:
                raise ConfigError(f"settings: key {name!r} is missing")
        values = {key: value for key, value in settings.items() if key in names}
        return cls.read(values, where="settings")

    def changed(self: _Block, **values: Any) -> _Block:
        """A copy with other values, checked like any.

        Raises:
            ConfigError: the first violation.
        """
        return type(self).read({**self.plain(), **values}, where="settings")

    def plain(self) -> dict[str, Any]:
        """Mappings, lists and scalars, defaults written out; keys that were left out stay so."""
        fields = type(self).model_fields
        values = {fields[key].alias or key: value for key, value in self if value is not _ABSENT}
        return {key: _plain(values[key]) for key in sorted(values, key=lambda key: key != "kind")}


def setting(default: Any, doc: str = "") -> Any:
    """A key with its default and its meaning."""
    return Field(default, description=doc or None)


def required(doc: str = "") -> Any:
    """A key without a default."""
    return Field(description=doc or None)


def optional(doc: str = "", name: str | None = None) -> Any:
    """A key that may be left out, and then is not there; its name where Python cannot have it."""
    return Field(default_factory=lambda: _ABSENT, description=doc or None, alias=name)


def maybe(doc: str = "", name: str | None = None) -> Any:
    """A key that may be left out, and then is None; its name where Python cannot have it."""
    return Field(None, description=doc or None, alias=name)


def not_among(name: Any, allowed: Iterable[Any], key: str, subject: str) -> Iterator[str]:
    """A refusal, for `_refusals`, of a name that is not among those which another key has."""
    allowed = list(allowed)
    if name not in allowed:
        hint = did_you_mean(name, allowed)
        yield f".{key} names {name!r}; {subject} are {listed(allowed)}{hint}"


def repeated(names: Iterable[str], key: str) -> Iterator[str]:
    """Refusals, for `_refusals`, of entries that bear the name of an earlier one."""
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if first.setdefault(name, k) != k:
            yield f".{key}[{k}]: {name} occurs twice there"


def _laid_over(default: Block, written: Mapping[str, Any]) -> Any:
    """The default updated with the written keys; these alone if of another form."""
    fields = type(default).model_fields
    kind = getattr(default, "kind", None)
    if not set(written) <= set(fields) or written.get("kind", kind) != kind:
        return written
    nested = {
        key: _laid_over(value, written[key])
        for key, value in default
        if isinstance(value, Block) and isinstance(written.get(key), Mapping)
    }
    return {**default.plain(), **written, **nested}


def _plain(value: Any) -> Any:
    if isinstance(value, Block):
        return value.plain()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


@cache
def schema_of(block: type[Block]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a block; not to be changed."""
    schema = _tidied(block.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _tidied(schema: Any) -> Any:
    """Without pydantic's titles; forms that differ by type alone as one, other forms as `oneOf`."""
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    names = schema.get("properties")
    tidy = {key: _tidied(value) for key, value in schema.items() if key != "default"}
    if not isinstance(default := schema.get("default", {}), dict):
        tidy["default"] = default  # of a block its own keys have theirs
    if isinstance(names, dict):
        tidy["properties"] = {key: _tidied(value) for key, value in names.items()}
    if isinstance(tidy.get("title"), str):
        del tidy["title"]
    tidy.pop("discriminator", None)
    for pattern, value in tidy.pop("patternProperties", {}).items():  # of the names of a mapping
        tidy["additionalProperties"] = value
        tidy["propertyNames"] = {**tidy.get("propertyNames", {}), "pattern": pattern}
    if "const" in tidy:
        tidy.pop("type", None)
    if forms := tidy.pop("anyOf", None):
        types = [form["type"] for form in forms if "type" in form]
        words = any("enum" in form for form in forms) and {*types} - {"string", "null"}
        inline = {*_INLINE, "items", "minItems", "maxItems"}
        if not words and all(set(form) <= inline for form in forms):
            types = [part for part in types if part != "integer" or "number" not in types]
            merged = {key: value for form in reversed(forms) for key, value in form.items()}
            tidy = {**merged, "type": types, **tidy}
            if "enum" in tidy and "null" in types:
                tidy["enum"] = [*tidy["enum"], None]
        else:
            tidy["oneOf"] = forms
    return tidy


class NotNull:
    """Of a key that may be left out, and then is None: written, it has a value."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """That of the value alone."""
        either: Any = handler(source)
        return either["schema"]


class Unique:
    """Of a list: no entry twice."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """The list, then the check."""
        return core_schema.no_info_after_validator_function(_unique, handler(source))

    def __get_pydantic_json_schema__(self, of: Any, handler: GetJsonSchemaHandler) -> Any:
        """That of the list, with `uniqueItems`."""
        return {**handler(of), "uniqueItems": True}


def _unique(values: _Several) -> _Several:
    if any(value in values[:k] for k, value in enumerate(values)):
        raise PydanticCustomError("not_unique", "entries must be unique")
    return values


class OneOf:
    """Of a text: one of these names."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """One of the names."""
        return core_schema.literal_schema(self.names)


Count = Annotated[int, Ge(1)]
Whole = Annotated[int, Ge(0)]
Two = Annotated[int, Ge(2)]
NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Probability = Annotated[float, Ge(0), Le(1)]
Share = Annotated[float, Gt(0), Lt(1)]
UpToOne = Annotated[float, Gt(0), Le(1)]
AtLeastOne = Annotated[float, Ge(1)]
_NAME = "^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$"
Name = Annotated[str, StringConstraints(max_length=100, pattern=_NAME)]  # of a folder
WholeText = Annotated[str, StringConstraints(pattern="^[0-9]+$")]
AmountText = Annotated[str, StringConstraints(pattern="^[0-9]+([.][0-9]+)?$")]
Amount = NonNegative | AmountText  # a text where it comes from --config
Number = Count | WholeText
Switch = bool | Literal["true", "false"]
InputFile = str  # its path
Seeds = Annotated[list[Whole], Len(1), Unique()]
Counts = Annotated[list[Count], Len(1), Unique()]
Layers = Annotated[list[Count], Len(1)]
Positives = Annotated[list[Positive], Len(1), Unique()]
NonNegatives = Annotated[list[NonNegative], Len(1), Unique()]
Shares = Annotated[list[UpToOne], Len(1), Unique()]
Gammas = Annotated[list[Probability], Len(1), Unique()]
PositivePair = Annotated[list[Positive], Len(2, 2)]
ProbabilityPair = Annotated[list[Probability], Len(2, 2)]
Names = Annotated[list[str], Unique()]
SomeNames = Annotated[list[str], Len(1), Unique()]
Text = Annotated[str, StringConstraints(min_length=1)]
FileName = Annotated[str, StringConstraints(pattern="^(.*/)?[^/]*[^/.][^/]*$")]
Address = Annotated[str, StringConstraints(pattern="^https?://")]
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Maybe = Annotated[_Any | None, NotNull()]  # with `maybe`
Tuple = Annotated[tuple[_Any, ...], Strict(False)]  # written as a list
Filled = Annotated[tuple[_Any, ...], Strict(False), Len(1)]
KIND = Field(discriminator="kind")


def duplicated(values: Iterable[Any], at: str, subject: str) -> Iterator[str]:
    """A sentence on the first value that occurs twice; none where each is unique."""
    if twice := [value for value, times in Counter(values).items() if times > 1]:
        yield f"{at} has {subject} {twice[0]!r} twice; each must be unique"


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
