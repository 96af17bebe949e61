"""Declarations of kinds of agents, read without importing any.

Every list of kinds is one of the folder `acquire.policies` by attributes of the declarations, see
`kinds.AgentKind`: no other file names a kind. Read by the Snakefile, so it imports nothing heavy.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import TypeAdapter, create_model
from typing_extensions import TypeAliasType

from frugal.config import blocks, learners
from frugal.config.blocks import KIND, Block, OneOf, required, setting
from frugal.core.declarations import Declared, declared

_JSON = {"bool": bool, "str": str, "object": dict[str, Any]}


def declared_kinds() -> Mapping[str, Declared]:
    """Name → declaration, of every kind."""
    return declared("frugal.acquire.policies", "AgentKind")


def kinds_with(argument: str) -> list[str]:
    """Kinds whose declaration has an argument, and not a false or empty one."""
    return [name for name, declaration in declared_kinds().items() if declaration.has(argument)]


def needs_two_classes() -> str:
    """Why a kind of agent does not take a label, with those that do."""
    able = [name for name in declared_kinds() if name not in kinds_with("two_classes")]
    return f"predicts one of two classes; labels of more are for the kinds {', '.join(able)}"


def learns(kind: str) -> bool:
    """Whether agents of that kind are trained, on the part `agent` of the table."""
    return "fit" not in declared_kinds()[kind].literals


def is_filed(kind: str) -> bool:
    """Whether the policy is a file of one's own."""
    return declared_kinds()[kind].has("file")


def placed(package: str, of: str) -> dict[str, Declared]:
    """Declarations of a folder or a module, in the order in which tables and figures list it."""
    by_name = declared(package, of)
    order = sorted(by_name, key=lambda name: (by_name[name].literals.get("place", 0), name))
    return {name: by_name[name] for name in order}


def declared_block(
    kind: str,
    literals: Mapping[str, Any],
    *,
    named: str,
    without: Collection[str] = (),
    more: Mapping[str, Any] | None = None,
) -> type[Block]:
    """The block `{kind: …, …}` of a declared kind.

    Args:
        kind: its name.
        literals: arguments of the declaration: `settings`, each with the name of a type of
            `blocks` or `learners` or a tuple of words, a meaning, and a default where there is one;
            `shares`, names of blocks of `learners` whose settings it has too; `grid`, settings
            below `grid`.
        named: name of the set of kinds.
        without: settings that are left out.
        more: settings that every kind of it has too.
    """
    name = f"{kind.title().replace('_', '')}{named}"
    literal: Any = Literal  # of a name that is known at run time alone
    fields: dict[str, Any] = {"kind": (literal[kind], ...)}
    settings = {**literals.get("settings", {}), **(more or {})}
    fields |= {key: _field(*arguments) for key, arguments in settings.items() if key not in without}
    if "grid" in literals:
        grid: dict[str, Any] = {key: _field(*values) for key, values in literals["grid"].items()}
        block = create_model(f"{name}Grid", __base__=Block, **grid)
        fields["grid"] = (block, setting(block(), "every point is fitted; the best on validation"))
    shares = tuple(vars(learners)[shared] for shared in literals.get("shares", ())) or (Block,)
    return create_model(name, __base__=shares, __doc__=literals.get("doc", name), **fields)


def _field(word: str | tuple[str, ...], meaning: str, default: Any = ...) -> tuple[Any, Any]:
    """Type and key as a declaration has them; a default of mappings is a block."""
    of: Any = _type(word) if isinstance(word, str) else Literal[word]
    if default is ...:
        return of, required(meaning)
    if isinstance(default, dict) and of != _JSON["object"]:
        default = TypeAdapter(of).validate_python(default)
    return of, setting(default, meaning)


def _type(word: str) -> Any:
    """The type that a declaration names: of JSON, of `blocks`, `learners` or, a union, `kinds`."""
    for named in (_JSON, vars(blocks), vars(learners)):
        if word in named:
            return named[word]
    return _union(word)


@cache
def block_of(kind: str) -> type[Block]:
    """The block of a kind of agent."""
    return declared_block(kind, declared_kinds()[kind].literals, named="Agent")


def declared_union(
    package: str,
    of: str,
    named: str,
    *,
    only: str = "name",
    settings: str = "settings",
    **changed: Any,
) -> Any:
    """One of the blocks that a folder or a module declares, by its `kind`.

    Args:
        package: the folder, or the module.
        of: class that the declarations call.
        named: name of the set of kinds.
        only: an argument that the declaration has.
        settings: the argument that has the settings; another one has them without what is shared.
        changed: `without` and `more` of `declared_block`.
    """

    def literals(declaration: Declared) -> Mapping[str, Any]:
        own = declaration.literals
        return own if settings == "settings" else {"settings": own[settings]}

    blocks = {
        name: declared_block(name, literals(declaration), named=named, **changed)
        for name, declaration in placed(package, of).items()
        if declaration.has(only)
    }
    return Annotated[Union[tuple(blocks.values())], KIND]  # noqa: UP007


_AGENTS, _IMPUTERS = "frugal.acquire.policies", "frugal.learn.imputers"
if TYPE_CHECKING:

    class Agent(Block):
        """Of any kind."""

        kind: str

    Encoder = Imputer = Selection = Agent
    Estimator = str

# The unions above, each built when it is first read: a job reads the block of one kind.
_ALIAS: Any = TypeAliasType  # of a variable that is made when it is read
_UNIONS: dict[str, Callable[[], Any]] = {
    "Encoder": lambda: declared_union(_IMPUTERS, "ImputerKind", "Encoder", only="read"),
    "Imputer": lambda: declared_union(_IMPUTERS, "ImputerKind", "Imputer"),
    "Acting": lambda: declared_union(
        _AGENTS,
        "AgentKind",
        "Acting",
        only="acts_on_beliefs",
        without=("boosting", "linear", "missing"),
    ),
    "Selection": lambda: declared_union(
        _AGENTS, "AgentKind", "Selection", only="several", settings="several_settings"
    ),
    "Agent": lambda: _ALIAS("Agent", declared_union(_AGENTS, "AgentKind", "Agent")),
    "Estimator": lambda: _ALIAS(
        "Estimator", Annotated[str, OneOf([*placed("frugal.judge.estimators", "Estimator")])]
    ),
}


@cache
def _union(name: str) -> Any:
    return _UNIONS[name]()


def __getattr__(name: str) -> Any:
    """A union by its name."""
    if name not in _UNIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _union(name)
