"""SAS transport files (XPT, version 5), as NHANES is published.

Every column is a number; the format's own code of zero, which readers return as 5.4e-79, is zero.
Knows no key, no panel and no label.
"""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import require_unique_names
from frugal.data.packed import unpacked_bytes

_MARK = b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!"
_RECORD_BYTES = 80
_ZERO_BELOW = 1e-70  # IBM's smallest number is 5.4e-79, and stands for zero


def read_transport(path: Path, *, source: str) -> pd.DataFrame:
    """The records of a SAS transport file: numbers, NaN where missing; text columns stay text.

    Args:
        path: where the file lies.
        source: its name, for error sentences.

    Raises:
        DataError: the file is no transport file of version 5, is cut off, or is damaged.
    """
    content = unpacked_bytes(path)
    if not content.startswith(_MARK):
        raise DataError(f"{source} does not begin like a SAS transport file of version 5 ({path})")
    if len(content) % _RECORD_BYTES:
        raise DataError(
            f"{source} has {len(content)} bytes; a SAS transport file consists of records of "
            f"{_RECORD_BYTES}, so it is cut off or damaged"
        )
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            reader: Any = pd.read_sas(
                io.BytesIO(content), format="xport", encoding="latin-1", iterator=True
            )
            names, frame = list(reader.columns), reader.read()
    except Exception as error:  # a damaged file makes the reader fail in any way
        raise DataError(
            f"{source} is damaged: it cannot be read as a SAS transport file "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no word'})"
        ) from None
    require_unique_names(names, source)
    if frame.empty:
        raise DataError(f"{source} holds no record")
    return pd.DataFrame({name: _clean(frame[name]) for name in names})


def _clean(column: pd.Series) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(column):
        return column.astype(object)
    values = column.to_numpy(dtype=np.float64, copy=True)
    values[np.abs(values) < _ZERO_BELOW] = 0.0
    return pd.Series(values, index=column.index)
