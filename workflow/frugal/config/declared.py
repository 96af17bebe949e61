"""What kinds of agents declare, read without importing one of them.

Every list of kinds is one of the folder `acquire.policies` by what the declarations have, see
`kinds.AgentKind`: no other file names a kind. Read by the Snakefile, so it imports nothing heavy.
"""

from collections.abc import Mapping

from frugal.core.declarations import Declared, declared


def declared_kinds() -> Mapping[str, Declared]:
    """Name → declaration, of every kind."""
    return declared("frugal.acquire.policies", "AgentKind")


def kinds_with(argument: str) -> list[str]:
    """Kinds whose declaration has an argument, and not a false or empty one."""
    return [name for name, one in declared_kinds().items() if one.has(argument)]


def learns(kind: str) -> bool:
    """Whether agents of that kind are trained, on the part `agent` of the table."""
    return "fit" not in declared_kinds()[kind].says


def is_filed(kind: str) -> bool:
    """Whether the policy is a file of one's own."""
    return declared_kinds()[kind].has("file")


def placed(package: str, of: str) -> dict[str, Declared]:
    """What a folder or a module declares, in the order in which tables and figures list it."""
    found = declared(package, of)
    order = sorted(found, key=lambda name: (found[name].says.get("place", 0), name))
    return {name: found[name] for name in order}
