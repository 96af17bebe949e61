"""Random chains of results whose numbers follow from the recipe alone, for audit and comparison."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from frugal.results import manifests
from frugal.results.files import file_digest
from frugal.results.manifests import Job, input_records, write_outputs
from hypothesis import strategies as st

STAGES = ("fit_classifier", "roll_out", "summarise_afape")  # stand in; their code is never run


@dataclass(frozen=True)
class Chain:
    """Steps in order; step k reads the outputs of `reads[k]` and one file from outside."""

    reads: tuple[tuple[int, ...], ...]
    seed: int = 7
    settings: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    outside: Mapping[int, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    lock: str = "lock"

    def stage(self, step: int) -> str:
        return STAGES[step % len(STAGES)]

    def behind(self, step: int) -> set[int]:
        """The step and all that it depends on."""
        return {step}.union(*(self.behind(k) for k in self.reads[step]))

    def job(self, step: int) -> Job:
        inputs: dict[str, Path | list[Path]] = {"description": Path(f"outside/{step}.yaml")}
        if self.reads[step]:
            inputs["tables"] = [payload(k) for k in self.reads[step]]
        own = {"depth": {"size": 1}} | dict(self.settings.get(step, {}))
        outputs = {"table": payload(step), "about": payload(step, "about.json")}
        return Job(self.stage(step), inputs, outputs, own, {"dataset": f"d{step}"}, self.seed)


def payload(step: int, name: str = "table.parquet") -> Path:
    return Path(f"results/step/dataset=d{step}/{name}")


def write_chain(folder: Path, chain: Chain, monkeypatch) -> None:
    """Run every step of the chain in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    Path("lock").write_text(chain.lock)
    monkeypatch.setattr(manifests, "LOCK", Path("lock"))
    monkeypatch.setattr(
        manifests, "source_digest", lambda s, _: digest_text(chain.sources.get(s, s))
    )
    for step in range(len(chain.reads)):
        Path("outside").mkdir(exist_ok=True)
        Path(f"outside/{step}.yaml").write_text(chain.outside.get(step, f"name: {step}"))
        run_step(chain.job(step))


def run_step(job: Job) -> None:
    """A deterministic step: its numbers are drawn from the digest of its whole recipe."""
    paths = [p for v in job.inputs.values() for p in (v if isinstance(v, list) else [v])]
    recipe = [job.settings, job.seed, job.stage, *map(file_digest, paths)]
    source_digest = vars(manifests)["source_digest"]  # as a test has replaced it
    recipe += [source_digest(job.stage, job.settings), file_digest(manifests.LOCK)]
    draw = np.random.default_rng(int(digest_text(json.dumps(recipe))[:16], 16))
    table = pd.DataFrame({"seed": np.arange(3), "cost": draw.normal(size=3)})
    made = {"table": table, "about": {"size": float(draw.normal())}}
    write_outputs(job, made, input_records(job))


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@st.composite
def chains(draw) -> Chain:
    """Two to five steps, each reading some of the earlier ones."""
    reads = []
    for step in range(draw(st.integers(2, 5))):
        reads.append(
            tuple(sorted(draw(st.sets(st.integers(0, step - 1), max_size=2)))) if step else ()
        )
    return Chain(tuple(reads))


def changed(chain: Chain, kind: str, step: int) -> Chain:
    """The chain with one change of that kind at a step."""
    match kind:
        case "parameter":
            return replace(chain, settings={step: {"depth": {"size": 2}}})
        case "seed":
            return replace(chain, seed=8)
        case "data":
            return replace(chain, outside={step: "name: another"})
        case "code":
            return replace(chain, sources={chain.stage(step): "edited"})
        case _:
            return replace(chain, lock="another lock")
