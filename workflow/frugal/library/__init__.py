"""Frugal from Python: the steps of `snakemake decide`, called one by one or all at once.

The stages of the workflow run in this program, on tables in memory, with the settings and random
streams of the workflow: its numbers, without a file. Their last digits are those of the workflow
where Python was started for its arithmetic (docs/how-to/arithmetic.md). With `folder=` Snakemake
runs the workflow itself: results and manifests lie there, `python -m frugal audit` checks them, and
files that are up to date are not made again.

The verbs return objects; their tables are computed or read on first use.
"""

from frugal.core.errors import FrugalError
from frugal.library.kept_answers import KeptAnswer
from frugal.library.objects import Answer, Masks, Policy, StoredPolicy, Table
from frugal.library.verbs import advise, decide, load, load_answer, load_policy, missingness, train

__all__ = [
    "Answer",
    "FrugalError",
    "KeptAnswer",
    "Masks",
    "Policy",
    "StoredPolicy",
    "Table",
    "advise",
    "decide",
    "load",
    "load_answer",
    "load_policy",
    "missingness",
    "train",
]
