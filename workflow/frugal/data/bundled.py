"""Real tables that come inside a library the project depends on anyway: no network needed."""

from typing import Any

import pandas as pd

from frugal.core.errors import ConfigError


def load_bundled(name: str) -> pd.DataFrame:
    """A bundled table with its features as numbers and its label as text.

    `breast_cancer`: 569 fine-needle aspirates, 30 image features, label `diagnosis`
    (`malignant` or `benign`).

    Raises:
        ConfigError: there is no such table.
    """
    if name != "breast_cancer":
        raise ConfigError(f"there is no bundled table {name!r}; allowed is breast_cancer")
    from sklearn.datasets import load_breast_cancer  # a second to import

    bunch: Any = load_breast_cancer()
    frame = pd.DataFrame(bunch.data, columns=[str(c) for c in bunch.feature_names])
    frame["diagnosis"] = [str(bunch.target_names[k]) for k in bunch.target]
    return frame
