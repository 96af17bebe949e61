"""The one argument that every stage takes besides its inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tqdm import tqdm

from frugal.core.streams import Streams

without_bar = partial(tqdm, disable=True)


@dataclass(frozen=True)
class Context:
    """Settings, randomness and progress of one call of a stage.

    Attributes:
        settings: of its rule, as JSON holds them.
        streams: random generators by their purpose.
        progress: wraps a loop, called like `tqdm(iterable, desc=…)`.
    """

    settings: Mapping[str, Any]
    streams: Streams
    progress: Callable[..., Any] = without_bar
