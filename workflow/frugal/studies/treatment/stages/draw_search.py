"""Stage `draw_search`: the policy that is taken on one's own records, as a tree."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.treatment.figures.policies import policy_tree_figure

_CONTEXTS = 2  # trees on a page


def draw_search(
    *,
    steps: pd.DataFrame,
    policy: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """A tree for each of the first contexts; `policy.txt` has all of them."""
    del settings, streams, progress
    contexts = list(dict.fromkeys(steps["context"]))[:_CONTEXTS]
    title = f"{policy['description']['title']}: {policy['name']}"
    figure = policy_tree_figure(steps, contexts=contexts, title=title, best=policy["outcomes"][-1])
    return {"tree": figure}
