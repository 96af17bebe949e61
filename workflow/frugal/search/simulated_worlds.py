"""The synthetic comparison of planners: training sets of growing size, many realisations.

Fig. 2b and S1–S4 of `treatment` (Håkansson et al. 2020). It must not know files or figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Int

from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.search.outcome_tables import true_table
from frugal.search.records import TrialRecords
from frugal.search.searches import SearchOptions, TrueModel, compare_planners, stack_rows
from frugal.search.world import (
    TreatmentWorld,
    build_world,
    draw_parameters,
    require_world_memory,
    sample_searches,
    sample_units,
)


@dataclass(frozen=True)
class WorldOptions:
    """Which synthetic world, and what is redrawn between realisations.

    Attributes:
        form: of Algorithm 1, `release` or `text`.
        n_actions: k.
        n_outcomes: |Y|.
        n_covariates: bits of X.
        n_moderators: bits of Z.
        covariate_scale: w_x.
        p_stop: chance that an observed search stops after a trial.
        p_stop_best: the same once the best outcome was reached.
        redraw_parameters: True for a new world in each realisation; False for new units only.
    """

    form: str
    n_actions: int
    n_outcomes: int
    n_covariates: int
    n_moderators: int
    covariate_scale: float
    p_stop: float
    p_stop_best: float
    redraw_parameters: bool


def realise_world(
    streams: Streams, realisation: int, options: WorldOptions, *, memory_gib: float
) -> TreatmentWorld:
    """The world of one realisation.                                      [treatment, alg. 1]

    Raises:
        SearchSizeError: the world's tables would take more than `memory_gib`.
    """
    require_world_memory(
        n_covariates=options.n_covariates,
        n_moderators=options.n_moderators,
        n_actions=options.n_actions,
        n_outcomes=options.n_outcomes,
        memory_gib=memory_gib,
    )
    stream = realisation if options.redraw_parameters else "shared"
    parameters = draw_parameters(
        streams.generator("world", stream),
        n_actions=options.n_actions,
        n_covariates=options.n_covariates,
        n_moderators=options.n_moderators,
        covariate_scale=options.covariate_scale,
        form=options.form,
    )
    return build_world(parameters, n_outcomes=options.n_outcomes, form=options.form)


def sample_test_units(
    streams: Streams, realisation: int, world: TreatmentWorld, n_test: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, "n a"]]:
    """Contexts and potential outcomes of the units that judge a realisation. (n,), (n, a)"""
    return sample_units(world, n_test, streams.generator("test_units", realisation))


def sample_training(
    streams: Streams, realisation: int, world: TreatmentWorld, options: WorldOptions, n_train: int
) -> TrialRecords:
    """Records of n_train training units; the first of them are the same whatever n_train is.

    Units and their searches have a stream each, so that neither depends on how many of the other,
    nor on how many test units, are drawn.
    """
    context, outcome = sample_units(world, n_train, streams.generator("units", realisation))
    return sample_searches(
        world,
        context,
        outcome,
        streams.generator("searches", realisation),
        p_stop=options.p_stop,
        p_stop_best=options.p_stop_best,
    )


def compare_in_worlds(
    streams: Streams,
    *,
    world_options: WorldOptions,
    options: SearchOptions,
    n_train: Sequence[int],
    n_test: int,
    realisations: Sequence[int],
) -> dict[str, np.ndarray]:
    """n_train × realisation × planner × model × bound × threshold.   [treatment, fig. 2b, S1–S4]

    The training sets of a realisation are nested: the first 50 units of 75,000 are the 50. All are
    judged on the same test units. A row depends neither on which other realisations or sizes are
    run, nor on the number of test units.

    Args:
        streams: of the stage.
        world_options: which world.
        options: of the comparison.
        n_train: sizes of the training set.
        n_test: number of test units.
        realisations: their numbers.

    Returns:
        Columns realisation, n_train, and those of `compare_planners`.

    Raises:
        SearchSizeError: the tables would take more than the options allow.
        ConfigError: no sizes or realisations, or an option is not allowed.
    """
    if not n_train or not realisations or min(n_train) < 1:
        raise ConfigError(
            f"training sizes are {list(n_train)}, realisations {list(realisations)}; "
            "both need an entry, sizes at least 1"
        )
    parts, keys = [], []
    for realisation in realisations:
        world = realise_world(streams, realisation, world_options, memory_gib=options.memory_gib)
        test_context, test_outcome = sample_test_units(streams, realisation, world, n_test)
        records = sample_training(streams, realisation, world, world_options, max(n_train))
        for size in n_train:
            part = compare_planners(
                records.take(slice(0, size)),
                test_context,
                test_outcome,
                world.covariates,
                streams.generator("model", realisation, size),
                options=options,
                true_model=true_model_of(world, options),
            )
            parts.append(part)
            keys.append({"realisation": realisation, "n_train": size})
    return stack_rows(parts, keys)


def true_model_of(world: TreatmentWorld, options: SearchOptions) -> TrueModel:
    """What tabulates the world's own outcome model when it is its turn."""
    return partial(
        true_table,
        world.p_z_given_x,
        world.p_outcome,
        outcome_value=options.outcome_value,
        memory_gib=options.memory_gib,
    )
