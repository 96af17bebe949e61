"""What a job loads before it begins: a second of imports, 150 times over, is a tenth of a run."""

import json
import subprocess
import sys

import numpy as np
import pytest
from frugal.core.ranks import average_ranks
from frugal.core.sources import STAGES
from scipy.stats import rankdata

LIBRARIES = ("torch", "sklearn", "scipy.stats", "scipy.optimize", "lightgbm", "matplotlib")
NETWORKS = (
    "answer_units", "audit_fairness", "bundle_dadi", "fit_fair_baselines", "recommend_actions",
    "roll_out_dadi", "roll_out_front", "train_dadi", "train_front", "train_selection",
)  # fmt: skip


def fresh_python(program: str) -> list[str]:
    """The list that a program prints in a Python which has loaded no stage yet."""
    program = f"import importlib, json, sys, frugal.__main__\n{program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return json.loads(done.stdout)


def loaded_by(stages: list[str]) -> set[str]:
    """Those of `LIBRARIES` that the stages load."""
    return set(
        fresh_python(
            f"for name in {[STAGES[s] for s in stages]!r}: importlib.import_module(name)\n"
            f"print(json.dumps([n for n in {LIBRARIES!r} if n in sys.modules]))"
        )
    )


def stages() -> list[str]:
    """Every stage's name."""
    return list(STAGES)


def test_what_does_not_draw_nor_train_networks_loads_no_heavy_library():
    drawing = {s for s in stages() if s.startswith("draw_")} | {"write_answer"}
    plain = [s for s in stages() if s not in drawing and s not in NETWORKS]
    assert loaded_by([*plain, "draw_missingness"]) == set()


def test_what_trains_or_asks_networks_loads_torch_alone():
    """Sets of modules only grow, so that the stages may be looked at in one Python."""
    rest = {"sklearn", "scipy.stats", "scipy.optimize"}
    assert loaded_by([s for s in NETWORKS if s != "fit_fair_baselines"]) == {"torch"}
    assert loaded_by(["fit_fair_baselines"]) == {"torch"} | rest


def test_each_of_them_needs_torch():
    assert fresh_python(
        "sys.modules['torch'], found = None, []\n"
        f"for stage, name in {[(s, STAGES[s]) for s in NETWORKS]!r}:\n"
        "    try: importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error: found += [stage] * (error.name == 'torch')\n"
        "print(json.dumps(found))"
    ) == list(NETWORKS)


@pytest.mark.parametrize("ties", [2, 5, 1000])
def test_ranks_are_those_of_scipy(ties: int):
    score = np.random.default_rng(ties).integers(ties, size=(3, 40)).astype(float)
    assert np.array_equal(average_ranks(score), rankdata(score, axis=1))
    assert np.array_equal(average_ranks(score[0]), rankdata(score[0]))
    assert average_ranks(np.empty((2, 0))).shape == (2, 0)
