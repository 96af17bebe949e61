"""What a job loads before it begins: a second of imports, 150 times over, is a tenth of a run."""

import json
import re
import subprocess
import sys
from importlib.metadata import requires

import numpy as np
import pytest
from frugal.core.declarations import PACKAGE
from frugal.core.errors import ConfigError, _extra_of, extras_named
from frugal.core.scaling import average_ranks
from frugal.results.sources import STAGES, _imported_names
from scipy.stats import rankdata

from tests.defaults import package_trees

LIBRARIES = ("torch", "sklearn", "scipy.stats", "scipy.optimize", "lightgbm", "matplotlib")
NETWORKS = ("answer_units", "audit_fairness", "bundle_dadi", "fit_fair_baselines")
NETWORKS += ("recommend_actions", "roll_out_dadi", "roll_out_front", "train_dadi")
NETWORKS += ("train_fair_agent", "train_front", "train_selection")


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
    plain = [s for s in stages() if not s.startswith("draw_") and s not in NETWORKS]
    assert loaded_by([*plain, "draw_missingness"]) == set()


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("torch", "networks"),
        ("sb3_contrib.common", "networks"),
        ("numba", "networks"),
        ("vl_convert", "report"),
        ("seaborn.objects", "report"),
        ("snakemake.api", "workflow"),
        ("python_calamine", "data"),
        ("xgboost", "studies"),
        ("onnx", "export"),
    ],
)
def test_a_missing_extra_is_a_sentence(module, extra):
    with pytest.raises(ConfigError) as refusal, extras_named("agent 'x'"):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    name = module.partition(".")[0]
    assert str(refusal.value) == (
        f"agent 'x' needs {name}, which is not installed; run pip install 'frugal[{extra}]'"
    )


@pytest.mark.parametrize("module", ["numpy", "onnxruntime", "torc", "frugal.none", "snake", None])
def test_what_is_of_no_extra_is_raised_as_it_is(module):
    with pytest.raises(ModuleNotFoundError), extras_named("agent 'x'"):
        raise ModuleNotFoundError("No module", name=module)


def test_every_package_that_is_imported_is_declared():
    imported = {
        name.partition(".")[0]
        for tree in package_trees().values()
        for name in _imported_names(tree)
    }
    ours = {"frugal", *(path.stem for path in PACKAGE.parent.glob("*"))}
    lines = [line for line in requires("frugal") or [] if ";" not in line]
    core = {re.split(r"[^\w-]", line)[0] for line in lines}
    core = {"sklearn" if name == "scikit-learn" else name.replace("-", "_") for name in core}
    of_pydantic = {"annotated_types", "pydantic_core", "typing_extensions"}
    others = imported - ours - sys.stdlib_module_names - core - of_pydantic - {"yaml"}
    assert "torch" in others
    of_snakemake = {"snakemake_interface_logger_plugins"}
    assert {name for name in others if not _extra_of(name)} == of_snakemake


def test_what_trains_or_requests_networks_loads_torch_alone():
    """Sets of modules only grow, so that the stages may be looked at in one Python."""
    rest = {"sklearn", "scipy.stats", "scipy.optimize"}
    assert loaded_by([s for s in NETWORKS if s != "fit_fair_baselines"]) == {"torch"}
    assert loaded_by(["fit_fair_baselines"]) == {"torch"} | rest


def test_each_of_them_needs_torch():
    assert fresh_python(
        "class Without:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch': raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
        "found = []\n"
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
