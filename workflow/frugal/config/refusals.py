"""Sentences of refusals: pydantic's first violation, with its key, the value, and values allowed.

The JSON schema of the block has the names, types and keys that a sentence lists. Knows no key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from frugal.core.schema_check import did_you_mean, listed, shown

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
TYPE_NAMES = {
    "object": "a mapping of keys",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}

_BOUNDS = {
    "greater_than_equal": ("ge", "values from {:.17g} on"),
    "greater_than": ("gt", "values above {:.17g}"),
    "less_than_equal": ("le", "values up to {:.17g}"),
    "less_than": ("lt", "values below {:.17g}"),
}
_KEY = "[key]"  # by which pydantic marks an error of a name
# An unknown key explains a missing one (a misspelling); rules across keys come after each key alone
_ORDER = {"extra_forbidden": 0, "value_error": 2, "not_unique": 2}
_Schema = Mapping[str, Any]
_Path = Sequence[int | str]


@dataclass(frozen=True, eq=False)
class _Violation:
    """One of pydantic's errors: its word, keys and names of forms of unions, value, reasons."""

    kind: str
    place: tuple[int | str, ...]
    value: Any
    context: Mapping[str, Any]

    @property
    def is_of_type(self) -> bool:
        """Whether the value has another type than this form of a union."""
        is_other_literal = self.kind == "literal_error" and not isinstance(self.value, str)
        return is_other_literal or self.kind.endswith("_type")


def refusal(schema: _Schema, document: Any, error: ValidationError) -> str:
    """The sentence on a document, without its name."""
    violations = [
        _Violation(each["type"], each["loc"], each["input"], each.get("ctx", {}))
        for each in error.errors(include_url=False)
    ]
    # of a tuple pydantic counts only the entries that are right
    violations = [
        violation
        for violation in violations
        if violation.kind != "too_short" or len(violation.value) < violation.context["min_length"]
    ]
    return _Words(schema, document).sentence(_first(violations, document, 0))


def _first(violations: Sequence[_Violation], document: Any, start: int) -> _Violation:
    """The first one by `_ORDER`.

    Of a union whose forms all fail, that of the form that was meant: of the value's type, with the
    fewest errors.
    """
    unions: dict[_Path, dict[int | str, list[_Violation]]] = {}
    single = []
    for violation in violations:
        fork = _fork(violation, violations, document, start)
        if fork is None:
            single.append(violation)
        else:
            forms = unions.setdefault(violation.place[:fork], {})
            forms.setdefault(violation.place[fork], []).append(violation)
    for place, forms in unions.items():
        fitting = [
            some
            for some in forms.values()
            if not any(
                violation.is_of_type and len(violation.place) == len(place) + 1
                for violation in some
            )
        ]
        if fitting:
            single.append(_first(min(fitting, key=len), document, len(place) + 1))
        else:
            value = next(iter(forms.values()))[0].value
            single.append(_Violation("other_type", tuple(place), value, {}))
    return min(single, key=lambda violation: _ORDER.get(violation.kind, 1))


def _fork(
    violation: _Violation, violations: Sequence[_Violation], document: Any, start: int
) -> int | None:
    """Where an error's place names a form of a union of which another form fails, too."""

    def named(of: _Violation) -> int:
        return len(of.place) - (of.kind == "missing")

    for k in range(start, named(violation)):
        names = {
            o.place[k] for o in violations if o.place[:k] == violation.place[:k] and named(o) > k
        }
        inside = document
        for part in _path(document, violation.place[:k]):
            inside = inside[part]
        if len(names) > 1 and not any(_has(inside, name) for name in names):
            return k
    return None


def _has(value: Any, part: int | str) -> bool:
    if isinstance(value, Mapping):
        return part in value
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and isinstance(part, int) and part < len(value)


def _path(document: Any, place: Iterable[int | str]) -> list[int | str]:
    """A place without the names of forms."""
    path: list[int | str] = []
    for part in place:
        if _has(document, part):
            document = document[part]
            path.append(part)
    return path


def _key(path: Iterable[int | str]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


class _Words:
    """Sentences on one document."""

    def __init__(self, schema: _Schema, document: Any) -> None:
        self._schema, self._document = schema, document

    def sentence(self, of: _Violation) -> str:
        """Of one violation."""
        path, last = _path(self._document, of.place), of.place[-1] if of.place else ""
        if of.kind == "extra_forbidden":
            return self._unknown(path[:-1], path[-1])
        if of.kind == "missing" and isinstance(last, str):
            return f"key {last!r} is missing {_at(path)}"
        if of.kind.startswith("union_tag"):
            return self._tag(path, of)
        if of.kind == "value_error":
            return f"{_key(path)}{of.context['error']}".lstrip(".")
        if last == _KEY:
            holder = path[:-1]
            return f"{_key(holder)!r} has the key {shown(of.value)}; {self._allowed(of, holder)}"
        # of a whole file only its type: it may be a table of personal data instead of a YAML
        value = f"is {shown(of.value) if path else type_words(of.value)}"
        if of.kind == "too_long":
            value = f"holds {len(of.value)} entries"
        return f"{_key(path) or 'top level'!r} {value}; {self._allowed(of, path)}"

    def _allowed(self, of: _Violation, path: _Path) -> str:
        """Allowed values, after the value found."""
        context, forms = of.context, self._forms(path)
        match of.kind:
            case "not_unique":
                return "every entry must be unique"
            case "string_pattern_mismatch":
                pattern = context["pattern"]
                return f"allowed is {FORMS.get(pattern, f'text of the form {pattern}')}"
            case "too_short" | "missing":
                least = context.get("min_length") or len(forms[0]["prefixItems"])
                return f"it must hold at least {least} {'entry' if least == 1 else 'entries'}"
            case "string_too_short":
                return f"it must hold at least {_characters(context['min_length'])}"
            case "string_too_long":
                return f"it may hold at most {_characters(context['max_length'])}"
            case "too_long":
                return f"it may hold at most {context['max_length']}"
            case kind if kind in _BOUNDS:
                name, words = _BOUNDS[kind]
                return f"allowed are {words.format(context[name])}"
        if of.place[-1:] == (_KEY,):
            forms = self._decided([form["propertyNames"] for form in forms], None)
        if of.kind == "literal_error" and any("enum" in form for form in forms):
            forms = [form for form in forms if "enum" in form]
        return _of_type(forms, of.value)

    def _unknown(self, path: _Path, name: Any) -> str:
        names = self._names(path)
        hint = did_you_mean(name, names)
        return f"unknown key {name!r} {_at(path)}; allowed are {listed(names)}{hint}"

    def _tag(self, path: _Path, of: _Violation) -> str:
        """Of a union of forms that a key names."""
        key = of.context["discriminator"].strip("'")
        if of.kind == "union_tag_invalid":
            forms = [form["properties"][key] for form in self._forms(path) if "properties" in form]
            words = _of_type(forms, of.value[key])
            return f"{_key([*path, key])!r} is {shown(of.value[key])}; {words}"
        allowed = self._names(path)
        unknown = next((name for name in of.value if name not in allowed), None)
        is_missing = unknown is None
        return f"key {key!r} is missing {_at(path)}" if is_missing else self._unknown(path, unknown)

    def _names(self, path: _Path) -> list[str]:
        """Keys that are allowed there."""
        forms = self._forms(path)
        return [*dict.fromkeys(key for form in forms for key in form.get("properties", {}))]

    def _forms(self, path: _Path) -> list[_Schema]:
        """Schemas of a place, several where the document does not decide a union."""
        value = self._document
        forms = self._decided([self._schema], value)
        for part in path:
            value = value[part]
            forms = self._decided(
                [entry for form in forms for entry in _entries(form, part)], value
            )
        return forms

    def _decided(self, forms: Iterable[_Schema], value: Any) -> list[_Schema]:
        """Without references and unions; of several forms those whose constants the value has."""
        decided: list[_Schema] = []
        for form in forms:
            while "$ref" in form:
                form = self._schema["$defs"][form["$ref"].rsplit("/", 1)[1]]
            decided += self._decided(form["oneOf"], value) if "oneOf" in form else [form]
        if len(decided) == 1 or not isinstance(value, Mapping):
            return decided
        decided = [form for form in decided if "properties" in form] or decided
        return [form for form in decided if value.get("kind", "") in _kinds(form)] or decided


def _kinds(form: _Schema) -> list[Any]:
    kind = form.get("properties", {}).get("kind", {})
    return [kind["const"]] if "const" in kind else kind.get("enum", [])


def _entries(form: _Schema, part: int | str) -> list[_Schema]:
    """Schema of a key, or of an entry of a list or of a mapping of any names."""
    if part in form.get("properties", {}):
        return [form["properties"][part]]
    if isinstance(part, int) and "prefixItems" in form:
        return form["prefixItems"][part : part + 1]
    inner = form.get("items" if isinstance(part, int) else "additionalProperties")
    return [inner] if isinstance(inner, Mapping) else []


def _of_type(forms: Iterable[_Schema], value: Any) -> str:
    """Names and types that are allowed."""
    names: list[Any] = []
    types: list[str] = []
    words: list[str] = []
    for form in forms:
        if "enum" in form or "const" in form:
            some = form.get("enum", [form.get("const")])
            names += some
            words += [str(v).lower() if isinstance(v, bool) else repr(v) for v in some]
        else:
            of = form.get("type", "object")
            types += [of] if isinstance(of, str) else of
            words += [TYPE_NAMES[name] for name in ([of] if isinstance(of, str) else of)]
    if not types and len(names) > 1:
        hint = did_you_mean(value, names) or bare_word(value, ["string"])
        return f"allowed are {listed(names)}{hint}"
    hint = bare_word(value, types) if types else did_you_mean(value, names)
    return f"allowed is {' or '.join(dict.fromkeys(words))}{hint}"


def _characters(number: int) -> str:
    return f"{number} character{'s' * (number != 1)}"


def _at(path: _Path) -> str:
    return f"under {_key(path)!r}" if path else "at top level"


def type_words(of: Any) -> str:
    """Description of a document's type."""
    kinds = {Mapping: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    kind = next((name for each, name in kinds.items() if isinstance(of, each)), "number")
    return TYPE_NAMES[kind]


def bare_word(value: object, names: Iterable[str]) -> str:
    """Remedy where text was intended and YAML reads true or false."""
    if not isinstance(value, bool) or "string" not in names:
        return ""
    return "; YAML reads yes, no, on and off as true or false: write the text in quotes"
