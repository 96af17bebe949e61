"""What the YAML of a recourse catalogue on a real table may hold."""

from collections.abc import Iterator

from frugal.config.blocks import Block, Filled, Maybe, NonNegative, Text, maybe, required, setting
from frugal.core.schema_check import did_you_mean, listed


class Capability(Block):
    """A yes/no feature: a column's text is one of `levels`, or its number is within bounds."""

    name: Text = required()
    column: str = required("raw column")
    levels: Filled[str] = setting(())
    at_least: Maybe[float] = maybe()
    at_most: Maybe[float] = maybe()

    def _refusals(self) -> Iterator[str]:
        if bool(self.levels) != (self.at_least is None and self.at_most is None):
            yield (
                f" ({self.name!r}) needs either 'levels' or bounds ('at_least', 'at_most'), and "
                "not both"
            )


class CostedAction(Block):
    """An action, what it costs and why, and the capabilities that it gives."""

    name: Text = required()
    cost: NonNegative = required()
    assumption: Text = required("why that cost")
    provides: Filled[str] = required("names of capabilities")


class RecourseRules(Block):
    """A recourse catalogue on a real table."""

    dataset: str = required("name of the data set whose raw records are read")
    note: str = required("what is assumed, and why")
    cost_unit: Text = required("of every cost")
    capabilities: Filled[Capability] = required("a positive decision needs all of them")
    actions: Filled[CostedAction] = required()

    def _refusals(self) -> Iterator[str]:
        names = [capability.name for capability in self.capabilities]
        actions = [action.name for action in self.actions]
        for key, written in (("capabilities", names), ("actions", actions)):
            if twice := [name for name in written if written.count(name) > 1]:
                yield f".{key}: {twice[0]!r} is written twice; each name must be unique"
        for i, action in enumerate(self.actions):
            for name in action.provides:
                if name not in names:
                    yield (
                        f".actions[{i}] ({action.name!r}) provides {name!r}, which is no "
                        f"capability; there are {listed(names)}{did_you_mean(name, names)}"
                    )
