"""Interface of a kind of generator, and how one is fitted, stored and applied.

A generator answers each unit with a set of actions. A fitted generator answers from its arrays, and
so does a stored one: there is no second path. Knows no kind; a file of `generators/`
declares each.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugal.core.declarations import declared, load_one
from frugal.core.errors import ConfigError, DataError
from frugal.core.stored import Stored
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import Answers, AnswerUnits
from frugal.studies.recourse.learned.stored import Arrays, StoredGenerator
from frugal.studies.recourse.learned.training import require_rows

Learned = tuple[dict[str, np.ndarray], tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class GeneratorKind:
    """One kind of generator, declared in a file of `generators/` that bears its name.

    Attributes:
        name: `kind` in a config, and how the names of its generators begin.
        place: tables and figures list kinds by this number.
        label: in figures and on pages.
        look: colour, by its word in `draw.style`; marker of matplotlib; whether it is hollow. Blue
            knows names of explanations, green names of actions, vermillion effects of actions.
        fit: (settings, training units, source of draws) → its arrays, and the held-out accuracy
            after each epoch. It may use the data that its kind of information grants [recourse,
            table 1].
        check: the arrays are such a generator, or `DataError`.
        answerer: (arrays, catalogue) → the function (features, group) → answers.
        settings: those that must be there, and no others; as of `AgentKind`.
        shares: names of blocks of `config.learners` whose settings it has too.
        doc: a line for the pages.
        least: training rows that a step needs: 2 where a layer normalises over them.
    """

    name: str
    place: int
    label: str
    look: tuple[str, str, bool]
    fit: Callable[[Mapping[str, Any], LabelledUnits, np.random.Generator], Learned]
    check: Callable[[StoredGenerator], None]
    answerer: Callable[[Arrays, CoverInstance], AnswerUnits]
    settings: Mapping[str, Any]
    doc: str
    shares: tuple[str, ...] = ()
    least: int = 1


class _Kinds(Mapping[str, GeneratorKind]):
    """Every kind by its name; a module is imported for the kind that is requested."""

    def __getitem__(self, name: str) -> GeneratorKind:
        return load_one("frugal.studies.recourse.generators", "GeneratorKind", name)

    def __iter__(self) -> Iterator[str]:
        return iter(declared("frugal.studies.recourse.generators", "GeneratorKind"))

    def __len__(self) -> int:
        return len(declared("frugal.studies.recourse.generators", "GeneratorKind"))


KINDS: Mapping[str, GeneratorKind] = _Kinds()


@dataclass(frozen=True, eq=False)
class FittedGenerator:
    """A fitted generator of any kind.

    Attributes:
        kind: of the generator.
        arrays: all that it answers from, apart from the catalogue (see `answerer`).
        history: held-out accuracy after each epoch; empty where nothing is trained.
        instance: the catalogue.
    """

    kind: str
    arrays: Arrays
    history: tuple[float, ...]
    instance: CoverInstance

    def answer(self, features: np.ndarray, group: np.ndarray) -> Answers:
        """One action set for each unit. features (n, d), group (n,)."""
        return answerer(self.kind, self.arrays, self.instance)(features, group)


def fit_generator(
    settings: Mapping[str, Any], units: LabelledUnits, *, rng: np.random.Generator
) -> FittedGenerator:
    """Fit the generator that `settings["kind"]` names on the training units.

    Raises:
        ConfigError: there is no such kind.
        DataError: there are too few units to train on.
    """
    name = settings["kind"]
    if name not in KINDS:
        raise ConfigError(f"there is no generator {name!r}; allowed are {', '.join(KINDS)}")
    kind = KINDS[name]
    if "held_out_share" in settings:
        require_rows(len(units), share=settings["held_out_share"], least=kind.least, name=name)
    arrays, history = kind.fit(settings, units, rng)
    return FittedGenerator(name, arrays, history, units.instance)


def answerer(kind: str, arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """(features, group) → answers, of the generator that the arrays hold.

    Args:
        kind: of the generator.
        arrays: of `FittedGenerator`.
        instance: the catalogue that it was fitted on.

    Raises:
        DataError: the arrays are no such generator for this catalogue; the message names the first.
    """
    if kind not in KINDS:
        raise Stored("generator", arrays).refusal(
            f"is of kind {kind!r}; allowed are {', '.join(KINDS)}"
        )
    declaration = KINDS[kind]
    declaration.check(StoredGenerator(kind, arrays, instance))
    answer_encoded = declaration.answerer(arrays, instance)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        answers = answer_encoded(features, group)
        if not np.isfinite(answers.confidence).all():
            raise DataError(
                f"the generator of kind {kind!r} gives confidences that are not numbers: its "
                "weights are too large; fit it again"
            )
        return answers

    return answer
