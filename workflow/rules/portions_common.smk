# A large scenario is divided, by `afape.job_rows`: the wildcards `seeds` and `rows` are empty, or a
# folder for some seeds, or some rows, of which a job makes its own files.

import re

from frugal.run.job_sizes import table_rows
from frugal.run.portions import Portions

PORTIONS = Portions(STUDY, TOLD.once("table_rows", {}, lambda: table_rows(STUDY, UNIT_COSTS.rows)))


def rollouts(name):
    """An input function: a file of every agent's rollouts, of the seeds of the job."""
    return lambda w: PORTIONS.rollouts(w.dataset, w.mechanism, name, w.seeds)


def all_rollouts(name):
    """An input function: the same of all seeds."""
    return lambda w: [
        path
        for seeds in PORTIONS.seeds(w.dataset)
        for path in PORTIONS.rollouts(w.dataset, w.mechanism, name, seeds)
    ]


def first_rollouts(name):
    """An input function: the same of those seeds among which the first one is."""
    return lambda w: PORTIONS.rollouts(w.dataset, w.mechanism, name, PORTIONS.seeds(w.dataset)[0])


def of_seeds(folder, name):
    """An input function: a file of each portion of the seeds."""
    return lambda w: PORTIONS.files(w.dataset, w.mechanism, folder, name)
