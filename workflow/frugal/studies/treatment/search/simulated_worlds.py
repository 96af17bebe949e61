"""The synthetic comparison of planners: training sets of growing size, many realisations.

Fig. 2b and S1–S4 of `treatment` (Håkansson et al. 2020). It must not know files or figures.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from jaxtyping import Float, Float64, Int

from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.studies.treatment.data.records import GIB, SearchSizeError, TrialRecords
from frugal.studies.treatment.models.outcome_tables import true_table
from frugal.studies.treatment.search.searches import ComparisonOptions, TrueModel

COVARIATE_RANGE = (0.02, 0.98)  # of p(X = 1 | z)


@dataclass(frozen=True, eq=False)
class WorldParameters:
    """Draws of Algorithm 1. Shapes: a actions, v covariate bits, d moderator bits.

    Attributes:
        p_moderator: α, chance of each moderator bit. (d,)
        covariate_weight: β, as used: of the form's scale. (v, d)
        location_weight: u₁ over [1; x; z]. (a, 1 + v + d)
        scale_weight: u₂ over [1; x; z], as used: of the form's sign. (a, 1 + v + d)
        choice_weight: η over [1; x; o(h)]. (a, 1 + v + a)
    """

    p_moderator: Float64[np.ndarray, " d"]
    covariate_weight: Float64[np.ndarray, "v d"]
    location_weight: Float64[np.ndarray, "a l"]
    scale_weight: Float64[np.ndarray, "a l"]
    choice_weight: Float64[np.ndarray, "a c"]


@dataclass(frozen=True, eq=False)
class TreatmentWorld:
    """Distributions of Algorithm 1, tabulated. Bits are in lexicographic order, the first leads.

    Attributes:
        p_z: distribution of the moderator. (z,)
        p_x_given_z: distribution of the covariates. (z, x)
        p_outcome: distribution of each potential outcome. (x, z, a, y)
        choice_base: log-weight of each action before its history. (x, a)
        choice_history: log-weight of action i per unit of the known outcome of action j. (a, a)
        dissimilarity: Δ, factor on the chance of action i for every tried action j. (a, a)
        covariates: bits of each context. (x, v)
        form: `release` or `text`.
    """

    p_z: Float64[np.ndarray, " z"]
    p_x_given_z: Float64[np.ndarray, "z x"]
    p_outcome: Float64[np.ndarray, "x z a y"]
    choice_base: Float64[np.ndarray, "x a"]
    choice_history: Float64[np.ndarray, "a a"]
    dissimilarity: Float64[np.ndarray, "a a"]
    covariates: Float64[np.ndarray, "x v"]
    form: str

    @property
    def p_x(self) -> Float64[np.ndarray, " x"]:
        """Distribution of the contexts. (x,)"""
        return self.p_z @ self.p_x_given_z

    @property
    def p_z_given_x(self) -> Float64[np.ndarray, "x z"]:
        """Distribution of the moderator in each context. (x, z)"""
        joint = self.p_z[:, None] * self.p_x_given_z
        return (joint / joint.sum(axis=0)).T


def require_world_memory(
    *, n_covariates: int, n_moderators: int, n_actions: int, n_outcomes: int, memory_gib: float
) -> None:
    """Refuses, before anything is allocated, a world with too many combinations of bits.

    Args:
        n_covariates: v, bits of X.
        n_moderators: d, bits of Z.
        n_actions: k.
        n_outcomes: |Y|.
        memory_gib: limit of the world's tables, in GiB.

    Raises:
        SearchSizeError: names the size requested, the limit, and the size that would fit.
    """
    bits = n_covariates + n_moderators
    cell = 8 * ((1 + bits) + 3 * n_actions + 4 * n_actions * n_outcomes)  # of `build_world`
    if 2**bits * cell <= memory_gib * GIB:
        return
    fits = bits
    while fits and 2**fits * cell > memory_gib * GIB:
        fits -= 1
    raise SearchSizeError(
        f"{n_covariates} covariates and {n_moderators} moderators make 2^{bits} combinations, "
        f"too many for tables of {memory_gib:g} GiB; at most {fits} bits in all fit"
    )


def draw_parameters(
    rng: np.random.Generator,
    *,
    n_actions: int,
    n_covariates: int,
    n_moderators: int,
    covariate_scale: float,
    form: str,
) -> WorldParameters:
    """Parameters of one realisation.                              [treatment, alg. 1, sec. C.1]

    Args:
        rng: source of every draw.
        n_actions: k.
        n_covariates: v, bits of X.
        n_moderators: d, bits of Z.
        covariate_scale: w_x, scale of the covariates' weights.
        form: `release` or `text`.

    Returns:
        α, β, u₁, u₂, η in the scale and sign of that form.

    Raises:
        ConfigError: unknown form, or fewer than one action, covariate or moderator.
    """
    if form not in ("release", "text"):
        raise ConfigError(f"the world's form is {form!r}; allowed are release and text")
    if min(n_actions, n_covariates, n_moderators) < 1:
        raise ConfigError(
            f"a world of {n_actions} actions, {n_covariates} covariates and {n_moderators} "
            "moderators needs at least 1 of each"
        )
    v, length = n_covariates, 1 + n_covariates + n_moderators
    alpha, beta = rng.random(n_moderators), rng.random((v, n_moderators))
    location, scale = rng.normal(size=(2, n_actions, length))
    choice = rng.normal(size=(n_actions, 1 + v + n_actions))
    if form == "release":
        beta /= beta.sum(axis=1, keepdims=True)
        scale[:, 0] = np.abs(scale[:, 0])
    else:
        scale = np.abs(scale)
    location[:, 1 : 1 + v] *= covariate_scale
    scale[:, 1 : 1 + v] *= covariate_scale
    return WorldParameters(alpha, beta, location, scale, choice)


def build_world(parameters: WorldParameters, *, n_outcomes: int, form: str) -> TreatmentWorld:
    """Tabulates Algorithm 1 for given parameters.                          [treatment, alg. 1]

        p(Xⱼ = 1 | z) = min(max(βⱼ·z, 0.02), 0.98)
        y₀ = (|Y| − 1)(u₁·v − Σu₁⁻)/(Σu₁⁺ − Σu₁⁻),   γ = (u₂·v − Σu₂⁻)/(Σu₂⁺ − Σu₂⁻),  v = [1; x; z]
        p(Y(a) = y | x, z) ∝ Cauchy(y; y₀, γ)
        Δ(a, b) = ‖u₁(a) − u₁(b)‖² + ‖u₂(a) − u₂(b)‖²

    Args:
        parameters: α, β, u₁, u₂, η.
        n_outcomes: |Y|.
        form: where the density is read: 0 … |Y| − 1 (`release`) or 1 … |Y| (`text`).

    Returns:
        The world.
    """
    v, d = parameters.covariate_weight.shape
    k = len(parameters.location_weight)
    z, x = _all_bits(d), _all_bits(v)
    p_z = np.where(z == 1, parameters.p_moderator, 1 - parameters.p_moderator).prod(axis=1)
    p_bit = np.clip(z @ parameters.covariate_weight.T, *COVARIATE_RANGE)  # (z, v)
    p_x_given_z = np.where(x[None] == 1, p_bit[:, None], 1 - p_bit[:, None]).prod(axis=2)
    bits = np.concatenate(
        [
            np.ones((len(x), len(z), 1)),
            np.broadcast_to(x[:, None], (len(x), len(z), v)),
            np.broadcast_to(z[None], (len(x), len(z), d)),
        ],
        axis=2,
    )
    location = (n_outcomes - 1) * _unit_scaled(bits, parameters.location_weight)
    scale = _unit_scaled(bits, parameters.scale_weight)
    points = np.arange(n_outcomes) + (form == "text")
    away = (points - location[..., None]) / scale[..., None]
    density = 1 / (1 + away**2)  # the factor 1/(πγ) cancels
    weights = np.concatenate([parameters.location_weight, parameters.scale_weight], axis=1)
    choice = parameters.choice_weight
    return TreatmentWorld(
        p_z=p_z,
        p_x_given_z=p_x_given_z,
        p_outcome=density / density.sum(axis=3, keepdims=True),
        choice_base=choice[:, 0] + x @ choice[:, 1 : 1 + v].T,
        choice_history=np.ascontiguousarray(choice[:, 1 + v : 1 + v + k]),
        dissimilarity=((weights[:, None] - weights[None]) ** 2).sum(axis=2),
        covariates=x,
        form=form,
    )


def _all_bits(count: int) -> Float64[np.ndarray, "rows bits"]:
    """Every row of bits, lexicographic. (2^count, count)"""
    return np.array(list(product((0.0, 1.0), repeat=count)))


def _unit_scaled(
    bits: Float[np.ndarray, "x z l"], weight: Float[np.ndarray, "a l"]
) -> Float64[np.ndarray, "x z a"]:
    """weight·bits, scaled to [0, 1] by its possible range. (x, z, a)"""
    low, high = np.minimum(weight, 0).sum(axis=1), np.maximum(weight, 0).sum(axis=1)
    return (bits @ weight.T - low) / (high - low)


def sample_units(
    world: TreatmentWorld, n: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, "n a"]]:
    """Contexts and all potential outcomes of n units.                      [treatment, alg. 1]

    Returns:
        Index of the context (n,) and of each outcome (n, a); the moderator stays hidden.
    """
    k = world.p_outcome.shape[2]
    uniforms = rng.random((n, k + 2))
    z = np.searchsorted(world.p_z.cumsum()[:-1], uniforms[:, 0], side="right")
    x = _draw(world.p_x_given_z.cumsum(axis=1)[z], uniforms[:, 1])
    cumulative = world.p_outcome.cumsum(axis=3)
    return x, _draw(cumulative[x, z], uniforms[:, 2:])


def _draw(
    cumulative: Float[np.ndarray, "*rows b"], uniform: Float[np.ndarray, "*rows"]
) -> Int[np.ndarray, "*rows"]:
    """First index whose cumulative weight exceeds the uniform share of the last one."""
    below = cumulative[..., :-1] <= (uniform * cumulative[..., -1])[..., None]
    return below.sum(axis=-1)


def sample_searches(
    world: TreatmentWorld,
    context: Int[np.ndarray, " n"],
    outcome: Int[np.ndarray, "n a"],
    rng: np.random.Generator,
    *,
    p_stop: float,
    p_stop_best: float,
) -> TrialRecords:
    """Searches of the observed policy, all units at once.             [treatment, alg. 1, C.1]

        p(a | x, h) ∝ exp(η_a·[1; x; o(h)]) Π_{b ∈ h} Δ(a, b)

    o(h) are the outcomes of tried actions, 0 for the others (`release`), or indicators (`text`).
    After each trial a search ends with probability `p_stop`, or `p_stop_best` once the best outcome
    was reached: 0.1 and 0.9 in the release, 0.1 for both in the text.

    Args:
        world: distributions of the choices.
        context: of each unit. (n,)
        outcome: every potential outcome, shown only when tried. (n, a)
        rng: source of the draws; 2k uniforms a unit, so the first units are the same ones
            for any number of units.
        p_stop: chance of stopping after a trial.
        p_stop_best: the same once the best outcome was reached.

    Returns:
        Records with at least one trial each.

    Raises:
        ConfigError: a probability outside [0, 1].
    """
    if not (0 <= p_stop <= 1 and 0 <= p_stop_best <= 1):
        raise ConfigError(f"stopping chances are {p_stop} and {p_stop_best}; allowed are 0 … 1")
    n, k = outcome.shape
    contexts, n_outcomes = len(world.covariates), world.p_outcome.shape[3]
    log_weight = world.choice_base[context]
    with np.errstate(divide="ignore"):
        log_factor = np.log(world.dissimilarity)  # −∞ on the diagonal: nothing is tried twice
    action, observed = np.full((n, k), -1), np.full((n, k), -1)
    uniforms = rng.random((n, 2 * k))
    running, best = np.arange(n), np.zeros(n, dtype=bool)
    for t in range(k):
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        tried = _draw(weight.cumsum(axis=1), uniforms[running, 2 * t])
        result = outcome[running, tried]
        action[running, t], observed[running, t] = tried, result
        best |= result == n_outcomes - 1
        factor = result if world.form == "release" else np.ones_like(result)
        on = uniforms[running, 2 * t + 1] >= np.where(best, p_stop_best, p_stop)
        if t == k - 1 or not on.any():
            break
        log_weight = log_weight[on] + log_factor[tried[on]]
        log_weight += factor[on, None] * world.choice_history.T[tried[on]]
        running, best = running[on], best[on]
    return TrialRecords(context, action, observed, contexts, k, n_outcomes)


@dataclass(frozen=True)
class WorldOptions:
    """Which synthetic world, and its parts redrawn between realisations.

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
    """Contexts and potential outcomes of the units for evaluation. (n,), (n, a)"""
    return sample_units(world, n_test, streams.generator("test_units", realisation))


def sample_training(
    streams: Streams, realisation: int, world: TreatmentWorld, options: WorldOptions, n_train: int
) -> TrialRecords:
    """Records of n_train training units; the first of them are the same for any n_train.

    Units and their searches have a stream each, so neither depends on how many of the other,
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


def true_model_of(world: TreatmentWorld, options: ComparisonOptions) -> TrueModel:
    """Function that tabulates the world's own outcome model when called."""
    return partial(
        true_table,
        world.p_z_given_x,
        world.p_outcome,
        outcome_value=options.outcome_value,
        memory_gib=options.memory_gib,
    )
