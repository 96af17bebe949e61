"""Each place where Frugal replaces a part of Snakemake or a plugin, with the code it is made for.

A test here fails when a new version of the package differs in that code: read the difference,
follow it in the module that is named, and write down the new digest. The reasons are in
docs/how-to/cluster.md.
"""

import hashlib
import inspect
from pathlib import Path

import pytest
import snakemake.api  # noqa: F401  its modules import each other, in this order only
import snakemake_executor_plugin_slurm as slurm
from snakemake.dag import DAG
from snakemake.jobs import Job
from snakemake.persistence import PersistenceBase
from snakemake_interface_storage_plugins.storage_provider import StorageProviderBase

ROOT = Path(__file__).parents[2]
REPLACED = {  # what is replaced → where, and the functions that it takes the place of or relies on
    "Job.remove_existing_output": ("frugal_engine", [Job.remove_existing_output], "60336044309b"),
    "Job.cleanup": ("frugal_engine", [Job.cleanup], "3dae832da305"),
    "Job.postprocess": ("frugal_engine", [Job.postprocess], "6c242cdd6b93"),
    "PersistenceBase.finished": (
        "frugal_engine", [PersistenceBase.finished, PersistenceBase.started], "fdefd217dd27",
    ),
    "DAG.check_incomplete": ("frugal_engine", [DAG.check_incomplete, DAG.init], "2a1e3a163587"),
    "DAG.get_sources": ("frugal_workers", [DAG.get_sources], "f47d6369ee86"),
    "StorageProvider.get_storage_object_cls": (
        "frugal_store",
        [
            StorageProviderBase.get_storage_object_cls, StorageProviderBase.object,
            DAG.retrieve_storage_inputs, DAG.handle_storage, DAG.store_storage_outputs,
            DAG.cleanup_storage_objects,
        ],
        "a8e947fc4ca2",
    ),
    "snakemake_executor_plugin_slurm.Executor": (
        "frugal_slurm",
        [
            slurm.Executor.__init__, slurm.Executor.__post_init__, slurm.Executor.run_job,
            slurm.Executor.check_active_jobs, slurm.Executor.get_account_arg,
        ],
        "1bfa3398dc24",
    ),
}  # fmt: skip


def test_at_most_eight_places_are_replaced_and_a_page_gives_the_reason_of_each():
    page = (ROOT / "docs/how-to/cluster.md").read_text(encoding="utf-8")
    assert len(REPLACED) <= 8
    assert [name for name in REPLACED if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_is_the_code_that_the_replacement_was_made_for(name):
    module, functions, digest = REPLACED[name]
    source = "".join(inspect.getsource(function) for function in functions)
    now = hashlib.sha256(source.encode()).hexdigest()[:12]
    assert now == digest, f"{name} differs from what workflow/{module} was made for"
