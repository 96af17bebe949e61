"""Blocks of the kinds that files declare: agents, imputers, classifiers, generators, baselines.

Knows no kind: what each takes is read from its declaration, which is not imported for it.
"""

from typing import TYPE_CHECKING, Annotated, Any, Union

from typing_extensions import TypeAliasType

from frugal.config.blocks import KIND, Block, OneOf
from frugal.config.declared import declared_block, placed

AUGMENTED = {"augmentation": (("none", "ag1", "ag2"), "how rare explanations are added to", "none")}


def declared_union(package: str, of: str, named: str, *, only: str = "name", **changed: Any) -> Any:
    """One of the blocks of what a folder or a module declares, by its `kind`.

    Args:
        package: the folder, or the module.
        of: class that the declarations call.
        named: what the kinds are.
        only: an argument that the declaration has.
        changed: `without` and `more` of `declared_block`.
    """
    found = {
        name: declared_block(name, one.says, named=named, **changed)
        for name, one in placed(package, of).items()
        if one.has(only)
    }
    return Annotated[Union[tuple(found.values())], KIND]  # noqa: UP007


_AGENTS, _IMPUTERS = "frugal.acquire.policies", "frugal.learn.imputers"
GENERATORS = placed("frugal.cover.generators", "GeneratorKind")
_PLANNERS = placed("frugal.search.planners", "SearchPlanner")
if TYPE_CHECKING:

    class Agent(Block):
        """Of any kind."""

        kind: str

    Generator = GridSearch = Encoder = Imputer = DadiBaseline = Selection = Agent
    Estimator = Planner = BoundedPlanner = str
else:
    Encoder = declared_union(_IMPUTERS, "ImputerKind", "Encoder", only="read")
    Imputer = declared_union(_IMPUTERS, "ImputerKind", "Imputer")
    Acting = declared_union(
        _AGENTS, "AgentKind", "Acting", only="acts_on_beliefs", without=("boosting", "linear")
    )
    GridSearch = declared_union("frugal.learn.tabular_baselines", "Classifier", "Classifier")
    DadiBaseline = declared_union("frugal.learn.fair_baselines", "FairBaseline", "Baseline")
    Selection = declared_union(
        "frugal.studies.diagnosis.stages.fronts", "SelectionWay", "Selection"
    )
    Generator = TypeAliasType(
        "Generator",
        declared_union("frugal.cover.generators", "GeneratorKind", "Generator", more=AUGMENTED),
    )
    Agent = TypeAliasType("Agent", declared_union(_AGENTS, "AgentKind", "Agent"))
    Estimator = TypeAliasType(
        "Estimator", Annotated[str, OneOf([*placed("frugal.judge.estimators", "Estimator")])]
    )
    Planner = TypeAliasType("Planner", Annotated[str, OneOf([*_PLANNERS])])
    BoundedPlanner = Annotated[
        str, OneOf([name for name, one in _PLANNERS.items() if one.says["reads"] == "bound"])
    ]
