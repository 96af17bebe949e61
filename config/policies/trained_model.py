"""A template: a model that another project trained, as a policy of kind `python`.

Copy it, fill in the names in capitals and, where needed, `load` and `act`. Under `afape.agents`:
`{kind: python, file: mine.py, function: choose}`. The workflow records this file alone: the
digest of the model is written here and compared.
"""

import hashlib
import io
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch

MODEL = Path("model.pt2")  # as torch.export.save writes it, from the working folder on
SHA256 = ""  # of that file: sha256sum model.pt2
FEATURES = []  # encoded columns, in the order that the model was trained with
PANELS = []  # the model's actions 1, 2, …, in its order


@cache
def load():
    """The model, once its file is known to be the one that is meant."""
    content = MODEL.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise ValueError(f"SHA256 is {SHA256[:9]!r}…; {MODEL.name} has {digest}")
    return torch.export.load(io.BytesIO(content)).module()


def act(features, known, closed):
    """Actions of m states, 0 for stop: the convention of `act` in AFA-Benchmark. (m,)

    `features` are 0 where not `known`, both (m, d); `closed` is 1 for panels that are acquired or
    cannot be had (m, a).
    """
    with torch.no_grad():
        return load()(features, known, closed).numpy().reshape(-1)


def choose(values, acquired, available):
    """Name of the next panel for each row, or "stop"."""
    if set(PANELS) != {*acquired.columns}:
        raise ValueError(f"PANELS is {PANELS}; allowed are all of {[*acquired.columns]}")
    shown, closed = values[FEATURES], (acquired | ~available)[PANELS]
    arrays = (shown.fillna(0.0), shown.notna(), closed)
    action = act(*(torch.tensor(array.to_numpy(np.float32)) for array in arrays))
    if wrong := {*action.tolist()} - {*range(len(PANELS) + 1)}:
        raise ValueError(f"the model's action is {wrong.pop()}; allowed are 0 to {len(PANELS)}")
    action = action.astype(int)
    barred = np.append(np.zeros((len(closed), 1), dtype=bool), closed.to_numpy(), axis=1)
    stops = barred[np.arange(len(action)), action]  # a panel that cannot be had: it ends
    return pd.Series(np.array(["stop", *PANELS], dtype=object)[np.where(stops, 0, action)])
