"""Stage `write_search_answer`: which policy on one's own records, and all of it in words."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from frugal.core.streams import Streams
from frugal.search.plain_words import policy_words, step_table


def write_search_answer(
    *,
    policy: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, bytes]:
    """`text`: the verdict and what was set right in the file; `words`: the policy, step by step."""
    del settings, streams, progress
    said = [f"Read: {sentence}." for sentence in policy["said"]]
    text = "\n".join([*policy["verdict"], *said])
    words = policy_words(step_table(arrays, policy))
    return {"text": f"{text}\n".encode(), "words": words.encode()}
