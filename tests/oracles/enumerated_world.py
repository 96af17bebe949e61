"""A small discrete world in which every outcome is listed with its exact probability.

Written from the definitions alone: units (x, y) have a table of probabilities, records lack panels
by a law p(r | x), an agent acquires panels one by one among those that it may, and the world is the
list of all (x, y, r, r̂, cost) with their probabilities. Any expectation or conditional probability
is then a plain sum. Slow and obvious; shares nothing with the package.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

STOP = "stop"

Values = tuple[float, ...]
Pattern = tuple[int, ...]
Seen = dict[int, float]  # column → value, for the columns that are known
PatternLaw = Callable[[Values], Mapping[Pattern, float]]
DecisionLaw = Callable[[Seen, frozenset[int], frozenset[int]], Mapping[int | str, float]]
CostLaw = Callable[[Seen, int], float]


@dataclass(frozen=True)
class World:
    """units: (x, y) → probability; panels: columns of each; free: columns known at the start."""

    units: Mapping[tuple[Values, int], float]
    panels: tuple[tuple[int, ...], ...]
    free: tuple[int, ...]
    panel_cost: tuple[float, ...]

    def seen(self, x: Values, shown: Iterable[int]) -> Seen:
        """The columns that the free part and some panels reveal, with their values."""
        columns = set(self.free).union(*(self.panels[j] for j in shown))
        return {c: x[c] for c in sorted(columns)}


@dataclass(frozen=True)
class Outcome:
    """One finished unit: r in the records, r_hat acquired, cost paid."""

    x: Values
    y: int
    r: Pattern
    r_hat: Pattern
    seen: tuple[tuple[int, float], ...]
    cost: float
    probability: float


def logistic_patterns(
    laws: Mapping[int, tuple[float, Mapping[int, float], Mapping[int, float]]], panels: int
) -> PatternLaw:
    """p(r | x) = Π_j p(r_j | x, r), with logits intercept + Σ β·x_c + Σ γ·r_i; 1 without a law."""

    def law(x: Values) -> dict[Pattern, float]:
        probability = {}
        for r in itertools.product((0, 1), repeat=panels):
            p = 1.0
            for j in range(panels):
                if j not in laws:
                    p *= r[j]
                    continue
                intercept, values, indicators = laws[j]
                z = intercept + sum(w * x[c] for c, w in values.items())
                z += sum(w * r[i] for i, w in indicators.items())
                one = 1 / (1 + math.exp(-z))
                p *= one if r[j] else 1 - one
            probability[r] = p
        return probability

    return law


def always_complete(panels: int) -> PatternLaw:
    """The intervention do(R = 1)."""
    return lambda x: {(1,) * panels: 1.0}


def enumerate_world(
    world: World, patterns: PatternLaw, decide: DecisionLaw, misclassification: CostLaw
) -> list[Outcome]:
    """Every outcome of an agent that is blocked from panels that the records lack.

    `decide(seen, acquired, available)` gives the probability of each available panel and of STOP;
    `misclassification(seen, y)` the cost of predicting from what was seen.
    """
    outcomes = []
    for (x, y), p_unit in world.units.items():
        for r, p_pattern in patterns(x).items():
            allowed = frozenset(j for j, shown in enumerate(r) if shown)
            ends: dict[frozenset[int], float] = {}
            _follow(world, x, allowed, frozenset(), 1.0, decide, ends)
            for acquired, p_end in ends.items():
                seen = world.seen(x, acquired)
                paid = sum(world.panel_cost[j] for j in acquired)
                r_hat = tuple(int(j in acquired) for j in range(len(r)))
                p = p_unit * p_pattern * p_end
                cost = paid + misclassification(seen, y)
                outcomes.append(Outcome(x, y, r, r_hat, tuple(seen.items()), cost, p))
    return [o for o in outcomes if o.probability > 0]


def _follow(
    world: World,
    x: Values,
    allowed: frozenset[int],
    acquired: frozenset[int],
    probability: float,
    decide: DecisionLaw,
    ends: dict[frozenset[int], float],
) -> None:
    """Add the probability of every way to finish from here to `ends`."""
    choices = decide(world.seen(x, acquired), acquired, allowed - acquired)
    for choice, p in choices.items():
        if p == 0:
            continue
        if isinstance(choice, str):
            ends[acquired] = ends.get(acquired, 0.0) + probability * p
        else:
            assert choice in allowed - acquired
            _follow(world, x, allowed, acquired | {choice}, probability * p, decide, ends)


def expectation(outcomes: Sequence[Outcome], quantity: Callable[[Outcome], float]) -> float:
    """Σ p · quantity over all outcomes."""
    return math.fsum(o.probability * quantity(o) for o in outcomes)


def probability(
    outcomes: Sequence[Outcome],
    event: Callable[[Outcome], bool],
    given: Callable[[Outcome], bool] = lambda o: True,
) -> float:
    """p(event | given), by counting probability mass."""
    below = math.fsum(o.probability for o in outcomes if given(o))
    above = math.fsum(o.probability for o in outcomes if given(o) and event(o))
    return above / below


def importance_value(
    outcomes: Sequence[Outcome], adjustment: Sequence[int], s: Sequence[int], *, given_values: bool
) -> float:
    """E[C · p(R = 1 | x_adj, r̂, R_s = 1) 1{R_s = 1} / p(R = 1 | x_adj)], all parts exact.

    With `given_values` the numerator is also given the values that the agent saw.
    """

    def x_adj(o: Outcome) -> Values:
        return tuple(o.x[c] for c in adjustment)

    def group(o: Outcome) -> tuple:
        return (x_adj(o), o.r_hat, o.seen if given_values else ())

    usable = [o for o in outcomes if all(o.r[j] for j in s)]
    above, below = _complete_mass(usable, group)
    complete, total = _complete_mass(outcomes, x_adj)
    return math.fsum(
        o.probability
        * o.cost
        * (above[group(o)] / below[group(o)])
        / (complete[x_adj(o)] / total[x_adj(o)])
        for o in usable
    )


def _complete_mass(
    outcomes: Sequence[Outcome], key: Callable[[Outcome], tuple]
) -> tuple[dict[tuple, float], dict[tuple, float]]:
    """Probability of each group with complete records, and of each group at all."""
    complete: dict[tuple, float] = {}
    total: dict[tuple, float] = {}
    for o in outcomes:
        k = key(o)
        total[k] = total.get(k, 0.0) + o.probability
        complete[k] = complete.get(k, 0.0) + o.probability * all(o.r)
    return complete, total


def observed_law(
    world: World, patterns: PatternLaw
) -> dict[tuple[Pattern, tuple[tuple[int, float], ...]], float]:
    """p(r, visible values): all that records without end could ever tell about x and r."""
    law: dict[tuple[Pattern, tuple[tuple[int, float], ...]], float] = {}
    for (x, _), p_unit in world.units.items():
        for r, p_pattern in patterns(x).items():
            shown = [j for j, known in enumerate(r) if known]
            atom = (r, tuple(world.seen(x, shown).items()))
            law[atom] = law.get(atom, 0.0) + p_unit * p_pattern
    return {atom: p for atom, p in law.items() if p > 0}


def regression_from_records(
    law: Mapping[tuple[Pattern, tuple[tuple[int, float], ...]], float],
    panel: int,
    values: Mapping[int, float],
    conditions: Sequence[int],
) -> float:
    """p(R_panel = 1 | these visible values, conditions observed), from the observed law alone.

    A record that meets the conditions but hides a wanted column is an error of whoever asks.
    """
    above = below = 0.0
    for (r, visible), p in law.items():
        if not all(r[i] for i in conditions):
            continue
        known = dict(visible)
        if all(known[c] == v for c, v in values.items()):  # KeyError: the column is hidden
            below += p
            above += p * r[panel]
    return above / below
