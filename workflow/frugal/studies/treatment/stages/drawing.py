"""Stages that draw the treatment study: figures of a world and of a table, policies as trees."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.declarations import load_all
from frugal.core.errors import ConfigError
from frugal.draw.prints import draw_all
from frugal.studies.treatment.planner import planners_with
from frugal.studies.treatment.policy_tree import policy_tree_figure
from frugal.studies.treatment.searches import IDENTITY

CONTEXTS = 2  # trees on a page


def same(values: pd.Series, threshold: float) -> pd.Series:
    """True where a threshold is the wanted one, up to the last digits of its decimal form."""
    return pd.Series(np.isclose(values.to_numpy(dtype=float), threshold), index=values.index)


def facetted(rows: pd.DataFrame, *, facet: str, series: str) -> pd.DataFrame:
    """A copy with the columns of the panel and the series named."""
    return rows.assign(facet=rows[facet], series=rows[series]).reset_index(drop=True)


def at_size(means: pd.DataFrame, sizes: list[int] | None) -> pd.DataFrame:
    """Rows of the largest of the training sizes; all rows where there is one size only."""
    return means if sizes is None else means[means["n_train"] == max(sizes)]


def bounded(means: pd.DataFrame, bound: str) -> pd.DataFrame:
    """Policies with one bound, and those that need none."""
    return means[means["bound"].isin([bound, "none"])]


def search_curves(curves: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Best outcome by trials of one policy per planner, and the records' first trial.

    Raises:
        ConfigError: no policy of the sweep has the wanted δ and λ.
    """
    tree = settings["tree"]
    of_model = curves[(curves["outcome_model"] == tree["outcome_model"])]
    by_delta, by_price = (planners_with("thresholds", key) for key in ("deltas", "trial_prices"))
    constrained = of_model["planner"].isin(by_delta) & (of_model["bound"] == tree["bound"])
    chosen = pd.concat(
        [
            of_model[constrained & same(of_model["threshold"], settings["delta"])],
            of_model[
                of_model["planner"].isin(by_price)
                & same(of_model["threshold"], settings["trial_price"])
            ],
            curves[curves["outcome_model"] == "records"],
        ]
    )
    if not chosen["planner"].isin([*by_delta, *by_price]).any():
        raise ConfigError(
            f"no policy of the sweep has delta {settings['delta']} or trial_price "
            f"{settings['trial_price']}, as treatment.figures demands"
        )
    return chosen.assign(series=chosen["planner"]).reset_index(drop=True)


def tree_policy(policies: pd.DataFrame, settings: Mapping[str, Any]) -> tuple[pd.DataFrame, str]:
    """The first repeat's policy to be drawn as a tree, of the largest training set; and its name.

    Raises:
        ConfigError: the sweep has no such policy.
    """
    tree = settings["tree"]
    rows = policies[
        (policies["grid"] == "sweep")
        & (policies["planner"] == tree["planner"])
        & (policies["outcome_model"] == tree["outcome_model"])
        & (policies["bound"] == tree["bound"])
        & same(policies["threshold"], tree["delta"])
    ]
    if rows.empty:
        raise ConfigError(
            f"the sweep has no policy {tree['planner']}, {tree['outcome_model']}, "
            f"{tree['bound']}, delta {tree['delta']}, as treatment.figures.tree demands"
        )
    rows = rows[rows["seed"] == rows["seed"].min()]
    rows = rows[rows["n_train"] == rows["n_train"].max()]
    name = f"{tree['planner'].upper()}, {tree['outcome_model']}, δ = {tree['delta']:g}"
    return rows.reset_index(drop=True), f"{settings['title']}, {name}"


def draw_world_figures(
    *, means: pd.DataFrame, policies: pd.DataFrame, context: Context
) -> dict[str, Any]:
    """Draw the figures of one world from means over its realisations."""
    means = means[means["dataset"] == context.streams.wildcards["dataset"]]
    sweep = at_size(means, context.settings["sweep"]["n_train"])
    smoothed = sweep[sweep["outcome_model"] == "smoothed"]
    by_bound = smoothed[smoothed["planner"].isin(planners_with("reads", "bound"))]
    sizes = _sizes(means, context.settings["sizes"])
    tree, name = tree_policy(policies, context.settings)
    contexts = sorted(tree["context"].unique())[:2]
    arguments = {
        "title": context.settings["title"],
        "growth": facetted(sizes, facet="outcome_model", series="planner"),
        "tradeoff": facetted(bounded(smoothed, "upper"), facet="outcome_model", series="planner"),
        "bounds": facetted(by_bound, facet="planner", series="bound"),
        "thresholds": _thresholds(sweep),
        "tree": tree[tree["context"].isin(contexts)],
        "name": name,
        "contexts": contexts,
        "best": context.settings["best"],
    }
    figures = load_all("frugal.studies.treatment.figures", "PrintedFigure")
    return draw_all(figures, "draw_world_figures", arguments)


def _sizes(means: pd.DataFrame, grid: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of the grid over sizes, at its first δ and λ and with its first bound."""
    rows = means[
        means["n_train"].isin(grid["n_train"])
        & means["outcome_model"].isin(grid["outcome_models"])
        & means["planner"].isin(grid["planners"])
    ]
    by_price = rows["planner"].isin(planners_with("thresholds", "trial_prices"))
    price, delta = grid["trial_prices"][0], grid["deltas"][0]
    selected = (
        same(rows["threshold"], price) & by_price | same(rows["threshold"], delta) & ~by_price
    )
    return bounded(rows[selected], grid["bounds"][0])


def _thresholds(sweep: pd.DataFrame) -> pd.DataFrame:
    """CDP over δ: by outcome model at the upper bound, by bound with the smoothed table (S4)."""
    cdp = sweep[sweep["planner"] == "cdp"]
    models = cdp[cdp["bound"] == "upper"]
    bounds = cdp[cdp["outcome_model"] == "smoothed"]
    rows = pd.concat(
        [
            models.assign(facet="Outcome models, upper bound", series=models["outcome_model"]),
            bounds.assign(facet="Bounds, smoothed table", series=bounds["bound"]),
        ],
        ignore_index=True,
    )
    return rows.assign(parameter="δ")


def draw_table_figures(
    *,
    means: pd.DataFrame,
    curves: pd.DataFrame,
    policies: pd.DataFrame,
    units: pd.DataFrame,
    catalogue: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """Draw the figures of one table from means over its splits."""
    dataset = context.streams.wildcards["dataset"]
    means = bounded(means[means["dataset"] == dataset], context.settings["tree"]["bound"])
    words = {"recorded": "recorded", "simulated": "SIMULATED"}
    prescriptions = words[catalogue["report"]["prescriptions"]]
    curves_of_dataset = search_curves(curves[curves["dataset"] == dataset], context.settings)
    planned = facetted(means, facet="outcome_model", series="planner")
    planned = planned[~planned["planner"].isin(planners_with("thresholds", None))]
    by_price = planned["planner"].isin(planners_with("thresholds", "trial_prices"))
    tree, name = tree_policy(policies, context.settings)
    frequent = units["context"].value_counts().sort_index().sort_values(ascending=False)
    contexts = [catalogue["contexts"][x] for x in frequent.index[:CONTEXTS]]
    arguments = {
        "title": f"{context.settings['title']} ({prescriptions} prescriptions)",
        "curves": curves_of_dataset,
        "subtitle": (
            f"{context.settings['tree']['outcome_model']}, δ = {context.settings['delta']:g}, "
            f"λ = {context.settings['trial_price']:g}, ± 1 s.e. over "
            f"{curves_of_dataset['repeats'].iloc[0]} splits"
        ),
        "tradeoff": planned,
        "delta": planned[~by_price].assign(parameter="δ"),
        "price": planned[by_price].assign(parameter="λ"),
        "tree": tree[tree["context"].isin(contexts)],
        "name": name,
        "contexts": contexts,
        "best": context.settings["best"],
    }
    figures = load_all("frugal.studies.treatment.figures", "PrintedFigure")
    return draw_all(figures, "draw_table_figures", arguments)


KEY = ["grid", "seed", "n_train", *IDENTITY]


def draw_policy(*, policies: pd.DataFrame, context: Context) -> dict[str, Any]:
    """Draw the policy that the settings name by its columns, for example seed and threshold.

    Settings: `policy` (column → value, enough of them to leave one policy), `best` (name of the
    best outcome); and, where wanted, `title` and `contexts` (names; else the first two).

    Raises:
        ConfigError: the settings leave no policy, or several; the message names them.
    """
    settings = context.settings
    unknown = sorted(set(settings) - {"policy", "best", "title", "contexts"})
    if unknown or not {"policy", "best"} <= set(settings):
        raise ConfigError(
            "draw_policy takes the settings policy and best, and if wanted title and contexts; "
            f"given are {', '.join(sorted(settings)) or 'none'}"
        )
    rows = _one_policy(policies, settings["policy"])
    contexts_drawn = list(dict.fromkeys(rows["context"]))
    contexts = settings.get("contexts") or contexts_drawn[:CONTEXTS]
    first = rows.iloc[0]
    name = ", ".join(f"{key} {first[key]}" for key in KEY[1:] if pd.notna(first[key]))
    figure = policy_tree_figure(
        rows, contexts=contexts, name=settings.get("title", name), best=settings["best"]
    )
    return {"tree": figure}


def _one_policy(policies: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of the one policy whose columns have the wanted values."""
    rows = policies
    for key, value in columns.items():
        if key not in KEY:
            raise ConfigError(f"a policy has no column {key!r}; it has {', '.join(KEY)}")
        is_number = isinstance(value, int | float)
        matching = rows[same(rows[key], float(value)) if is_number else rows[key] == value]
        if matching.empty:
            values_there = ", ".join(str(v) for v in sorted(rows[key].unique()))
            raise ConfigError(f"no such policy has {key} {value!r}; there are {values_there}")
        rows = matching
    if "grid" not in columns:  # two grids may name the same policy; it is the same in both
        rows = rows[rows["grid"] == rows["grid"].iloc[0]]
    for key in KEY:
        values = rows[key].drop_duplicates()
        if len(values) > 1:
            values_there = ", ".join(str(v) for v in values)
            raise ConfigError(f"several policies are left: {key} is {values_there}; name one")
    return rows.reset_index(drop=True)


def draw_search(
    *, steps: pd.DataFrame, policy: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    """A tree for each of the first contexts; `policy.txt` has all of them."""
    contexts = list(dict.fromkeys(steps["context"]))[:CONTEXTS]
    title = f"{policy['description']['title']}: {policy['name']}"
    figure = policy_tree_figure(steps, contexts=contexts, name=title, best=policy["outcomes"][-1])
    return {"tree": figure}
