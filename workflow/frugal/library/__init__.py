"""Frugal from Python: the steps of `snakemake decide`, called one by one or all at once.

Each call runs the stages that the workflow would run, with their settings and random streams, as
`python -m frugal STAGE` in a folder of their own. So numbers are those of the workflow to the byte,
sidecars lie beside them, and `python -m frugal audit` checks them. What lies in a given folder and
is up to date is not made again.

The verbs return objects that name what was made; their tables are read when they are asked for.
"""

from frugal.library.answers import Answer, Evaluation
from frugal.library.policies import Policy, Rollouts, StoredPolicy
from frugal.library.tables import Masks, Table
from frugal.library.verbs import (
    advise,
    decide,
    evaluate,
    load,
    load_policy,
    missingness,
    roll_out,
    train,
    verdict,
)

__all__ = [
    "Answer",
    "Evaluation",
    "Masks",
    "Policy",
    "Rollouts",
    "StoredPolicy",
    "Table",
    "advise",
    "decide",
    "evaluate",
    "load",
    "load_policy",
    "missingness",
    "roll_out",
    "train",
    "verdict",
]
