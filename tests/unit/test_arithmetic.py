"""Portable arithmetic: what is pinned, when, and what a manifest, a diff and an audit say of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from frugal.__main__ import main
from frugal.core import arithmetic
from frugal.core.arithmetic import FUNCTIONS, PINS, pinned, requests_portable
from frugal.core.errors import ConfigError
from frugal.results.differences import recipe_changes
from frugal.results.manifests import (
    AuditError,
    Checkpoint,
    load_manifest,
    load_record,
    made_otherwise,
    manifest_path,
    settled,
)
from frugal.results.sources import STAGES, reached_modules
from frugal.run import own_python
from frugal.run.audit import audit_command

from tests.unit.result_chains import OUTSIDE, SUMMARISE, SUMMARY, forge, run_step, write_chain

PORTABLE = replace(SUMMARISE, arithmetic="portable")
PORTABLE_WORDS = ["--arithmetic", "portable"]
UNLIKE = {"MKL_CBWR": "AVX512", "NPY_DISABLE_CPU_FEATURES": "X86_V4", "GLIBC_TUNABLES": "a.b=1"}
# Begins again as any command would, then tells what the libraries have taken.
LIBRARIES = f"""
from frugal.core.arithmetic import begin_pinned, is_pinned
begin_pinned({PORTABLE_WORDS!r})
import json, llvmlite.binding, numba, numpy, scipy.linalg, torch
from numpy._core._multiarray_umath import __cpu_features__ as features
from threadpoolctl import threadpool_info
target = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
x = torch.rand(4001, dtype=torch.float64) * 9
a = torch.rand(40, 40, generator=torch.Generator().manual_seed(0))
print(json.dumps(dict(
    pinned=is_pinned(),
    torch=torch.backends.cpu.get_cpu_capability(),
    openblas=[p["architecture"] for p in threadpool_info() if p["internal_api"] == "openblas"],
    numpy=[name for name in ("X86_V3", "X86_V4", "AVX512_ICL") if features[name]],
    numba=list(target[1:]),
    roots=bool((x.sqrt().numpy() == numpy.sqrt(x.numpy())).all()),
    total=(a @ a).sum().item().hex(),
)))
"""
# Of a process that was started with the pins: one and the same as of one that began again.
TOTAL = """
import torch
a = torch.rand(40, 40, generator=torch.Generator().manual_seed(0))
print((a @ a).sum().item().hex())
"""
REPLACED = """
from frugal.core.arithmetic import FUNCTIONS, correct_torch_when_loaded
correct_torch_when_loaded()
import warnings
warnings.simplefilter("error")
import numpy, torch
from torch.autograd import gradcheck
for name, numpys in FUNCTIONS.items():
    function = getattr(torch, name)
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(601, 3, dtype=dtype) * .9 + .05
        wanted = getattr(numpy, numpys)(x.numpy())
        made = (
            function(x), getattr(x.clone(), name + "_")(), function(x, out=torch.empty_like(x)),
            function(x, out=torch.empty(0, dtype=dtype)), function(x.T).T,
        )
        assert all((one.numpy() == wanted).all() for one in made), name
    assert gradcheck(function, x[:4].clone().requires_grad_())
    few = torch.tensor([1, 1])
    assert function(few).dtype == torch.float32
    assert function(torch.tensor([.5]).half()).dtype == torch.float16
assert torch.sqrt(torch.tensor([-1.0, 0.0, float("inf")])).isnan().tolist() == [True, False, False]
"""
can_pin = pytest.mark.skipif(
    "avx2" not in Path("/proc/cpuinfo").read_text().split(), reason="this CPU has no AVX2"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def python(program: str, **variables: str) -> str:
    """What a Python of its own says, which begins with these variables."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pins_replace_what_contradicts_them_and_leave_the_rest():
    given = pinned({"HOME": "/h", **UNLIKE})
    assert PINS.items() <= given.items()
    assert given["HOME"] == "/h"
    assert "NPY_DISABLE_CPU_FEATURES" not in given  # NumPy refuses both
    assert given["GLIBC_TUNABLES"].startswith("a.b=1:glibc.cpu.hwcaps=")
    assert pinned(given) == given


@pytest.mark.parametrize(
    ("words", "is_portable"),
    [
        (["roll_out", "--seed", "1", "--arithmetic", "portable"], True),
        (["roll_out", "--arithmetic=portable"], True),
        (["roll_out", "--arithmetic", "fast", "--wildcard", "x=portable"], False),
        (["portable"], False),
    ],
)
def test_words_that_ask_for_it(words, is_portable):
    assert requests_portable(words) is is_portable


@can_pin
def test_every_library_takes_what_is_pinned_whatever_the_variables_were():
    assert json.loads(python(LIBRARIES, **UNLIKE)) == {
        "pinned": True,
        "torch": "AVX2",
        "openblas": ["Haswell", "Haswell"],
        "numpy": ["X86_V3"],
        "numba": ["haswell", ""],
        "roots": True,
        "total": python(TOTAL, **pinned({})).strip(),
    }


@can_pin
def test_a_python_that_changes_its_variables_is_not_begun_for_ever(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import os; os.environ['MKL_CBWR'] = 'AVX2'")
    program = f"from frugal.core.arithmetic import begin_pinned\nbegin_pinned({PORTABLE_WORDS!r})"
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    with pytest.raises(AssertionError, match="this Python changes its environment variables"):
        python(program, PYTHONPATH=path)


@pytest.mark.trains
def test_replaced_functions_are_numpys_and_have_gradients():
    assert set(FUNCTIONS) >= {"sqrt", "log"}
    python(REPLACED)


def test_a_cpu_without_avx2_is_refused_in_a_sentence(tmp_path):
    told = tmp_path / "cpuinfo"
    told.write_text("flags : fpu sse2 fma")
    with pytest.raises(ConfigError, match="CPU has no avx2; arithmetic: portable needs"):
        arithmetic._require_cpu(told)
    told.write_text("flags : fpu avx2 fma")
    arithmetic._require_cpu(told)


def test_a_process_that_did_not_begin_with_the_pins_refuses(capsys):
    write_chain()
    words = ["summarise_afape", "--input", "estimates[]=results/data/dataset=a/table.parquet"]
    words += ["--output", f"summary={SUMMARY}", "--seed", "7", *PORTABLE_WORDS]
    assert main(words) == 2
    assert "arithmetic is pinned before Python starts" in capsys.readouterr().err


def test_no_stage_reaches_what_pins_so_that_fast_results_follow_from_no_edit_of_it():
    for module in STAGES.values():
        assert "frugal.core.arithmetic" not in reached_modules(module, "frugal.run.stage_command")


def test_a_manifest_says_fast_or_portable():
    write_chain()
    assert load_record(SUMMARY)["arithmetic"] == "fast"
    run_step(PORTABLE)
    name, _, digest = load_record(SUMMARY)["arithmetic"].partition(" ")
    assert (name, len(digest)) == ("portable", 12)


def test_another_arithmetic_is_made_again_and_the_same_is_not():
    write_chain()
    path = manifest_path(SUMMARY)
    fast, portable = (settled(7, {}, name) for name in ("fast", "portable"))
    assert fast == '[7, {}, "fast"]'
    assert not made_otherwise(load_manifest(path), fast)
    assert made_otherwise(load_manifest(path), portable)
    run_step(PORTABLE)
    assert made_otherwise(load_manifest(path), fast)
    assert not made_otherwise(load_manifest(path), portable)


def test_a_checkpoint_of_another_arithmetic_is_not_taken_up():
    write_chain()
    assert Checkpoint(SUMMARISE).path != Checkpoint(PORTABLE).path


def test_a_comparison_names_it():
    write_chain()
    fast = load_record(SUMMARY)
    run_step(PORTABLE)
    causes = list(recipe_changes(fast, load_record(SUMMARY)))
    assert [cause.kind for cause in causes] == ["arithmetic"]
    assert causes[0].text.startswith("arithmetic is fast in A, portable ")


def test_the_audit_runs_a_portable_step_as_it_was_run():
    write_chain()
    run_step(PORTABLE)
    jobs = []

    def run(job):
        jobs.append(job)
        run_step(job)

    assert audit_command(["--look-in", str(OUTSIDE.parent)], run) == 0
    assert {job.stage: job.arithmetic for job in jobs} == {
        "prepare_data": "fast",
        "summarise_afape": "portable",
    }


def test_a_job_in_its_own_python_is_given_all_its_words():
    words = own_python.job_words(PORTABLE)
    assert words[-4:] == ["--seed", "7", "--arithmetic", "portable"]
    assert "estimates[]=results/data/dataset=a/table.parquet" in words
    assert own_python.job_words(SUMMARISE)[-2:] == ["--seed", "7"]


def test_a_forged_arithmetic_is_no_manifest():
    write_chain()
    forge(SUMMARY, arithmetic="exact")
    with pytest.raises(AuditError, match="'arithmetic' is 'exact'"):
        load_record(SUMMARY)
