"""Stage `draw_policy`: any one policy of the treatment study as a decision tree, run by hand.

No rule calls it; docs/reference/treatment.md shows the command.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.studies.treatment.figures.policies import policy_tree_figure
from frugal.studies.treatment.policy_frames import same
from frugal.studies.treatment.searches import IDENTITY

KEY = ["grid", "seed", "n_train", *IDENTITY]
_CONTEXTS = 2  # trees on a page where no contexts are named


def draw_policy(
    *,
    policies: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the policy that the settings name by its columns, for example seed and threshold.

    Settings: `policy` (column → value, enough of them to leave one policy), `best` (name of the
    best outcome); and, where wanted, `title` and `contexts` (names; else the first two).

    Raises:
        ConfigError: the settings leave no policy, or several; the sentence says which.
    """
    del streams, progress
    unknown = sorted(set(settings) - {"policy", "best", "title", "contexts"})
    if unknown or not {"policy", "best"} <= set(settings):
        raise ConfigError(
            "draw_policy takes the settings policy and best, and if wanted title and contexts; "
            f"given are {', '.join(sorted(settings)) or 'none'}"
        )
    rows = _one_policy(policies, settings["policy"])
    there = list(dict.fromkeys(rows["context"]))
    contexts = settings.get("contexts") or there[:_CONTEXTS]
    first = rows.iloc[0]
    name = ", ".join(f"{key} {first[key]}" for key in KEY[1:] if pd.notna(first[key]))
    figure = policy_tree_figure(
        rows, contexts=contexts, title=settings.get("title", name), best=settings["best"]
    )
    return {"tree": figure}


def _one_policy(policies: pd.DataFrame, wanted: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of the one policy whose columns have the wanted values."""
    rows = policies
    for key, value in wanted.items():
        if key not in KEY:
            raise ConfigError(f"a policy has no column {key!r}; it has {', '.join(KEY)}")
        is_number = isinstance(value, int | float)
        kept = rows[same(rows[key], float(value)) if is_number else rows[key] == value]
        if kept.empty:
            found = ", ".join(str(v) for v in sorted(rows[key].unique()))
            raise ConfigError(f"no such policy has {key} {value!r}; there are {found}")
        rows = kept
    if "grid" not in wanted:  # two grids may name the same policy; it is the same in both
        rows = rows[rows["grid"] == rows["grid"].iloc[0]]
    for key in KEY:
        values = rows[key].drop_duplicates()
        if len(values) > 1:
            found = ", ".join(str(v) for v in values)
            raise ConfigError(f"several policies are left: {key} is {found}; name one")
    return rows.reset_index(drop=True)
