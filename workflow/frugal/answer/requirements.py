"""Names of an answer's policies; checks of a config against its data sets: agents, panels, costs.

Names only, and nothing heavy, for the Snakefile reads it: a misspelt name is refused before any job
starts. Whether a graph is acyclic or identifies anything is for `missing`. Only afape adds up costs
of errors; the other studies never read them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from frugal.config.declared import declared_kinds, needs_two_classes
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Column, Description

PRACTICE = "practice"  # what records show was done, among the policies of an answer
_KEY = re.compile(r"(/?)(.*?)(?:[.]([0-9]+))?(?:~([0-9]+))?(?:/(.*)|[|]([0-9,]+))?", re.DOTALL)


class Variant(NamedTuple):
    """A policy of an answer, and how it acts.

    Attributes:
        agent: its name in the config, or `PRACTICE`.
        version: number of the level of the budget that it was learned for; None: for no budget.
        division: number of the division into folds that it learned on.
        without: panel that it may not request; empty: each whose request fails; None: no panel.
        recorded_only: whether it may request the panels of the record alone.
        withheld: panels, by index, without which it learned again.
    """

    agent: str
    version: int | None = None
    division: int = 0
    without: str | None = None
    recorded_only: bool = False
    withheld: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """Its name in tables, documents and archives; `variant_of` is the inverse."""
        version = "" if self.version is None else f".{self.version}"
        division = f"~{self.division}" if self.division else ""
        without = "" if self.without is None else f"/{self.without}"
        without += f"|{','.join(map(str, self.withheld))}" if self.withheld else ""
        return f"{'/' * self.recorded_only}{self.agent}{version}{division}{without}"

    @property
    def acts_as(self) -> Iterator[str]:
        """Keys of those that act as it where it has no path: they order none of these panels."""
        if self.withheld:
            yield from (self._replace(withheld=(panel,)).key for panel in self.withheld)
            yield self._replace(withheld=()).key


def variant_of(key: object) -> Variant:
    """The inverse of `Variant.key`."""
    match: Any = _KEY.fullmatch(str(key))  # whatever matches no other part is the agent
    only, agent, version, division, without, withheld = match.groups()
    panels = tuple(map(int, filter(None, (withheld or "").split(","))))
    return Variant(agent, version and int(version), int(division or 0), without, bool(only), panels)


def require_candidates(block: Mapping[str, Any], able: Collection[str]) -> None:
    """Refuse an answer that names policies which are not there, and names that it cannot hold.

    Args:
        block: the config's block `afape`.
        able: policies that can be candidates.

    Raises:
        ConfigError: the key, the value found, and the values available.
    """
    answer, agents = block["answer"], block["agents"]
    for key, names, allowed in (
        ("practice", [answer["practice"]], able),
        ("prefer", answer["prefer"], agents),
    ):
        for name in names:
            if name not in allowed:
                raise ConfigError(
                    f"config: afape.answer.{key} names {name!r}; the answer chooses from "
                    f"{listed(able)}{did_you_mean(name, able)}"
                )
    for name in able:
        if name == PRACTICE or variant_of(name) != Variant(name):
            raise ConfigError(
                f"config: 'afape.agents' has {name!r}; a policy of an answer has another name than "
                f"{PRACTICE!r}, and none that ends in a dot and a number"
            )


def require_known_agent(at: str, agent: Mapping[str, Any], description: Description) -> None:
    """Refuse an agent that names parts absent from a data set, or cannot predict its classes.

    Args:
        at: key of the agent, as the message begins.
        agent: its settings, valid by the schema.
        description: of the data set.

    Raises:
        ConfigError: the key, the value found, and the values available.
    """
    declaration, k = declared_kinds()[agent["kind"]], len(description.label.classes)
    if declaration.has("two_classes") and k != 2:
        raise ConfigError(
            f"{at} is of kind {agent['kind']!r}, which {needs_two_classes()}; data set "
            f"{description.name!r} has {k} classes; write {at.split('.')[-1]}: null to leave the "
            "agent out"
        )
    for key, subject in declaration.literals.get("names", {}).items():
        _NAMED[subject](f"{at}.{key}", agent[key], description)


def _require_panels(at: str, panels: str | list[str], description: Description) -> None:
    """Refuse unknown panels of a list; a word that denotes some of them names none."""
    for panel in [] if isinstance(panels, str) else panels:
        _require_panel(at, panel, description)


def _require_dataset(at: str, dataset: str, description: Description) -> None:
    """Refuse another data set."""
    if dataset != description.name:
        raise ConfigError(
            f"{at} is {dataset!r}, whose rows the table has, but a scenario is of "
            f"{description.name!r}; every agent runs in every scenario, so let a config of "
            "its own have the scenarios of that data set"
        )


def _require_steps(at: str, steps: list[Mapping[str, Any]], description: Description) -> None:
    """Refuse steps of unknown panels, and conditions that could never hold."""
    readable = {c for panel in description.panels if panel.free for c in panel.columns}
    shown = {panel.name: panel.columns for panel in description.panels}
    for k, step in enumerate(steps):
        _require_panel(f"{at}[{k}].panel", step["panel"], description)
        when = step.get("when", ())
        for condition in [when] if isinstance(when, Mapping) else when:
            _require_condition(f"{at}[{k}].when", condition, description)
            if condition["column"] not in readable:
                raise ConfigError(
                    f"{at}[{k}].when reads column {condition['column']!r}, which is not "
                    "free and which no earlier step can acquire, so it never holds; known by "
                    f"then can be {listed(sorted(readable)) or 'none'}"
                )
        readable |= {*shown[step["panel"]]}


def _require_panel(at: str, panel: str, description: Description) -> None:
    """Refuse a panel that there is not to acquire."""
    panels = [described.name for described in description.panels if not described.free]
    if panel not in panels:
        raise ConfigError(
            f"{at} names panel {panel!r}; data set {description.name!r} has to acquire "
            f"{listed(panels)}{did_you_mean(panel, panels)}"
        )


def _require_condition(at: str, condition: Mapping[str, Any], description: Description) -> None:
    """Refuse an unknown column or level, and a question that the column cannot answer."""
    columns = {column.name: column for column in description.columns}
    name = condition["column"]
    if name not in columns:
        raise ConfigError(
            f"{at} names column {name!r}; data set {description.name!r} has {listed(columns)}"
            f"{did_you_mean(name, columns)}"
        )
    questions = [key for key in ("above", "below", "is") if key in condition]
    if not questions or (len(questions) > 1 and "is" in questions):
        raise ConfigError(
            f"{at} tests of column {name!r} {' and '.join(questions) or 'nothing'}; allowed is "
            "above, below or both, or is alone"
        )
    if "is" in questions:
        _require_levels(at, condition["is"], columns[name])
    elif columns[name].kind != "numeric":
        raise ConfigError(
            f"{at} tests whether column {name!r} is {questions[0]} a number, but it is "
            f"categorical; write is: [{listed(columns[name].levels or ('…',))}] with the levels "
            "that you mean"
        )
    elif len(questions) == 2 and not condition["above"] < condition["below"]:
        raise ConfigError(
            f"{at} has column {name!r} above {condition['above']} and below "
            f"{condition['below']}, which no number is"
        )


def _require_levels(at: str, compared: list[str], column: Column) -> None:
    """Refuse a level that is not among those which the description lists, if it lists them."""
    codes = [f"{code:g}" for code, _ in column.special_values]
    if column.kind == "numeric" and not codes:
        raise ConfigError(
            f"{at} tests whether column {column.name!r} is {listed(compared)}, but it is numeric; "
            "allowed are above and below"
        )
    levels = codes if column.kind == "numeric" else column.levels
    for level in compared:
        if levels is not None and level not in levels:
            raise ConfigError(
                f"{at} tests whether column {column.name!r} is {level!r}; it can be "
                f"{listed(levels)}{did_you_mean(level, levels)}"
            )


_NAMED: Mapping[str, Callable[[str, Any, Description], None]] = {
    "panels": _require_panels,
    "dataset": _require_dataset,
    "steps": _require_steps,
}  # by the words of declarations, see `AgentKind.names`


def require_known_names(at: str, entry: Mapping[str, Any], description: Description) -> None:
    """Refuse a scenario that names panels or columns which its data set does not have.

    Args:
        at: key of the scenario, as the message begins.
        entry: the scenario, valid by the schema.
        description: of its data set.

    Raises:
        ConfigError: the key, the name found, and those that there are; or causes that follow from
            gaps, of which a table that is not divided into folds has no count.
    """
    if entry["missingness"]["panels"] is None and description.split.scheme != "folds":
        raise ConfigError(
            f"{at}.missingness.panels is null; allowed for a table that is not divided into folds "
            "are panels with their causes, {} where there are none"
        )
    panels = [panel.name for panel in description.panels if not panel.free]
    columns = [column.name for column in description.columns]
    categorical = {c.name: c.levels for c in description.columns if c.kind == "categorical"}
    for key, kind, name in _names(entry):
        allowed = columns if kind == "column" else panels
        resolved = description.column_of(name) if kind == "column" else name
        if resolved not in allowed:
            raise ConfigError(
                f"{at}.{key} names {kind} {name!r}; data set {description.name!r} has "
                f"{listed(allowed)}{did_you_mean(name, allowed)}"
            )
        if kind == "column" and name in categorical:
            example = (categorical[name] or ("…",))[-1]
            raise ConfigError(
                f"{at}.{key} names column {name!r}, which is categorical and becomes one 0/1 "
                f"column per level; name a level, for example '{name}={example}'"
            )


def _names(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Key, kind (panel or column) and name, of every name in a scenario."""
    for panel, mechanism in (entry["missingness"]["panels"] or {}).items():
        at = "missingness.panels"
        yield at, "panel", panel
        for kind, key in (("column", "values"), ("panel", "indicators")):
            causes: Iterable[str] = mechanism.get(key) or ()
            for cause in causes:
                yield f"{at}.{panel}.{key}", kind, cause
    for panel in entry["s"] or ():
        yield "s", "panel", panel


def require_error_costs(at: str, description: Description) -> None:
    """Refuse costs by which no decision is wrong, or a right one more expensive than a wrong one.

    Raises:
        ConfigError: all decisions cost the same, for every true class, so no acquisition could
            pay; or a class for which another decision than the right one is cheaper, as where rows
            and columns are confused.
    """
    cost, classes = np.array(description.misclassification_cost), description.label.classes
    where = (
        f"{at} names data set {description.name!r}, in whose YAML ({description.path}) "
        "'misclassification_cost'"
    )
    if (cost == cost[:, :1]).all():
        problem = "is zero everywhere" if not cost.any() else "is the same for all decisions"
        raise ConfigError(
            f"{where} {problem}, so no acquisition could pay; state how much a wrong decision "
            f"costs, in {description.cost_unit}: a row for each true class, a column for each "
            "decision"
        )
    dearer = np.diag(cost)[:, None] > cost
    if dearer.any():
        true, wrong = (int(k) for k in np.argwhere(dearer)[0])
        raise ConfigError(
            f"{where} states that where {classes[true]!r} is true, the decision {classes[true]!r} "
            f"costs {cost[true, true]:g} and {classes[wrong]!r} costs {cost[true, wrong]:g}; a "
            "right decision may cost no more than a wrong one (rows are true classes, columns "
            "decisions)"
        )


def remark_on_error_costs(at: str, description: Description) -> str | None:
    """Notice of costs by which one decision is never wrong; None where there is no such decision.

    That is allowed, for somebody may want to see it, and its answer is known: never acquire.
    """
    cost = np.array(description.misclassification_cost)
    always = np.flatnonzero((cost == cost.min(axis=1, keepdims=True)).all(axis=0))
    if len(always) == 0:
        return None
    decision = description.label.classes[int(always[0])]
    return (
        f"{at}: by 'misclassification_cost' of {description.path} the decision {decision!r} is the "
        "cheapest for every true class, so the best policy acquires nothing; is a cost missing?"
    )
