"""`python -m frugal rocrate`: results as a Workflow Run RO-Crate, for archives and other readers.

Writes `ro-crate-metadata.json` beside `results/`, made from the sidecars: every file with its
digest, what the run read from outside, its settings as parameters, and one action that joins them.
The profile is Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5) on RO-Crate 1.1. It
checks nothing that `audit` checks. Knows sidecars; must not know what any stage computes.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from frugal.core.declarations import PACKAGE
from frugal.core.errors import DataError, say
from frugal.results.files import json_bytes
from frugal.results.sidecars import sidecar_path, write_apart
from frugal.run.arguments import command_parser
from frugal.run.inventory import payloads_and_strays
from frugal.run.sidecar_checks import commit_here, load_sidecar, made_by_other_code

RESULTS, NAME = Path("results"), "ro-crate-metadata.json"
_WORKFLOW = Path("ro-crate-workflow/Snakefile")
_RUN = "https://w3id.org/ro/wfrun"
_BIOSCHEMAS = "https://bioschemas.org/profiles"
_PROFILES = {
    f"{_RUN}/process/0.5": "Process Run Crate",
    f"{_RUN}/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_SCALARS = (str, int, float, bool)
_FORMATS = {
    ".parquet": "application/vnd.apache.parquet", ".json": "application/json", ".txt": "text/plain",
    ".png": "image/png", ".pdf": "application/pdf", ".html": "text/html", ".csv": "text/csv",
    ".safetensors": "application/octet-stream", ".md": "text/markdown",
}  # fmt: skip
Entity = dict[str, Any]


def rocrate_command(words: list[str]) -> int:
    """Write the description of the results in this folder; returns the exit status."""
    parser = command_parser("rocrate", __doc__)
    parser.parse_args(words)
    path = write_crate()
    say(f"{path}: {len(json.loads(path.read_bytes())['@graph'])} entities")
    return 0


def write_crate() -> Path:
    """Describe `results/` of the working folder in `ro-crate-metadata.json`.

    Raises:
        DataError: there are no results.
    """
    payloads, _ = payloads_and_strays(RESULTS) if RESULTS.is_dir() else ([], [])
    payloads = [path for path in payloads if path.is_file()]
    if not payloads:
        raise DataError("results/ holds no file with a sidecar; run the workflow first")
    documents = {path: load_sidecar(path) for path in payloads}
    path = Path(NAME)
    stale = any(map(made_by_other_code, documents.values()))
    commit = None if stale else commit_here()
    write_apart(path, json_bytes(crate(documents, _workflow_file(), commit)))
    return path


def _workflow_file() -> Path:
    """The Snakefile of this folder; a copy of the project's where it has none."""
    if Path("Snakefile").is_file():
        return Path("Snakefile")
    if _WORKFLOW.parent.is_symlink():
        raise DataError(f"{_WORKFLOW.parent} is a link; remove it, or put a folder in its place")
    write_apart(_WORKFLOW, (PACKAGE.parent / "Snakefile").read_bytes())
    return _WORKFLOW


def crate(
    documents: Mapping[Path, Mapping[str, Any]], workflow: Path, commit: str | None = None
) -> dict[str, Any]:
    """The metadata document: context and graph.

    Args:
        documents: payload → its sidecar.
        workflow: the Snakefile, in the folder of the crate.
        commit: of the code that made every file; None where it is not known.
    """
    made = {path.as_posix() for path in documents}
    outside = {
        (record["path"], record["sha256"])
        for document in documents.values()
        for record in document["inputs"]
        if record["path"] not in made
    }
    files = [_file(path, document) for path, document in sorted(documents.items())]
    read = [
        {
            "@id": f"#input-{digest[:16]}", "@type": "CreativeWork", "name": name,
            "identifier": f"sha256:{digest}",
        }
        for name, digest in sorted(outside)
    ]  # fmt: skip
    values, parameters = _settings(documents.values())
    kept_at = [sidecar_path(path).stat().st_mtime for path in documents]
    begun, ended = (
        datetime.fromtimestamp(at, UTC).isoformat("T", "seconds")
        for at in (min(kept_at), max(kept_at))
    )
    return {
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
        ],
        "@graph": [
            {
                "@id": NAME, "@type": "CreativeWork", "about": {"@id": "./"},
                "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"},
                               {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"}],
            },
            {
                "@id": "./", "@type": "Dataset", "name": "Results of Frugal",
                "description": "What a run of the Snakemake workflow Frugal has made: tables, "
                "policies, estimates and figures, each with its digest and what it was made from.",
                "datePublished": ended, "license": {"@id": "https://spdx.org/licenses/MIT"},
                "conformsTo": [{"@id": profile} for profile in _PROFILES],
                "hasPart": _ids([{"@id": workflow.as_posix()}, *files]),
                "mainEntity": {"@id": workflow.as_posix()}, "mentions": [{"@id": "#run"}],
            },
            *(
                {"@id": profile, "@type": "CreativeWork", "name": name,
                 "version": profile.rpartition("/")[2]}
                for profile, name in _PROFILES.items()
            ),
            {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License",
             "url": "https://spdx.org/licenses/MIT"},
            {
                "@id": workflow.as_posix(),
                "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
                "name": "Frugal", "encodingFormat": "text/plain",
                "description": "Learns what is worth acquiring next, and measures whether that "
                "answer can be trusted.",
                "version": ", commit ".join(filter(None, (version("frugal"), commit))),
                "license": {"@id": "https://spdx.org/licenses/MIT"},
                "programmingLanguage": {"@id": "#snakemake"}, "input": _ids(parameters),
                "conformsTo": {"@id": f"{_BIOSCHEMAS}/ComputationalWorkflow/1.0-RELEASE"},
            },
            *(
                {"@id": f"{_BIOSCHEMAS}/{name}/1.0-RELEASE", "@type": "CreativeWork",
                 "name": name, "version": "1.0-RELEASE"}
                for name in ("ComputationalWorkflow", "FormalParameter")
            ),
            {
                "@id": "#snakemake", "@type": "ComputerLanguage", "name": "Snakemake",
                "url": "https://snakemake.github.io", "version": version("snakemake"),
                "identifier": {"@id": "https://snakemake.github.io"},
            },
            {"@id": "#people", "@type": "Organization", "name": "Whoever ran the workflow"},
            {
                "@id": "#run", "@type": "CreateAction", "name": "Run of Frugal",
                "description": "From the first file that is kept to the last.",
                "instrument": {"@id": workflow.as_posix()}, "agent": {"@id": "#people"},
                "startTime": begun, "endTime": ended,
                "actionStatus": "http://schema.org/CompletedActionStatus",
                "object": _ids([*read, *values]), "result": _ids(files),
            },
            *parameters, *values, *read, *files,
        ],
    }  # fmt: skip


def _file(path: Path, document: Mapping[str, Any]) -> Entity:
    wildcards = ", ".join(f"{key} {value}" for key, value in document["wildcards"].items())
    return {
        "@id": path.as_posix(), "@type": "File", "name": path.name,
        "description": f"{document['output']} of the stage {document['stage']}"
        f"{f' ({wildcards})' if wildcards else ''}, seed {document['seed']}",
        "encodingFormat": _FORMATS.get(path.suffix, "application/octet-stream"),
        "contentSize": str(document["bytes"]), "sha256": document["sha256"],
    }  # fmt: skip


def _settings(documents: Iterable[Mapping[str, Any]]) -> tuple[list[Entity], list[Entity]]:
    """Values of the run and the parameters that they are of: the seed, and settings by stage.

    Settings that differ between the steps of a stage are left to the sidecars.
    """
    seen: dict[str, set[Any]] = {}
    for document in documents:
        seen.setdefault("seed", set()).add(document["seed"])
        seen.setdefault("environment", set()).add(document["environment"])
        settings = document["settings"]
        for key, value in (settings if isinstance(settings, dict) else {}).items():
            if isinstance(value, _SCALARS):
                seen.setdefault(f"{document['stage']}.{key}", set()).add(value)
    found = {name: next(iter(values)) for name, values in seen.items() if len(values) == 1}
    values, parameters = [], []
    for name, value in sorted(found.items()):
        parameters.append({
            "@id": f"#parameter-{name}", "@type": "FormalParameter", "name": name,
            "additionalType": _kind(value), "valueRequired": True,
            "conformsTo": {"@id": f"{_BIOSCHEMAS}/FormalParameter/1.0-RELEASE"},
        })  # fmt: skip
        values.append({
            "@id": f"#value-{name}", "@type": "PropertyValue", "name": name,
            "value": str(value), "exampleOfWork": {"@id": f"#parameter-{name}"},
        })  # fmt: skip
    return values, parameters


def _kind(value: Any) -> str:
    kinds = {bool: "Boolean", int: "Integer", float: "Float"}
    return kinds.get(type(value), "Text")


def _ids(entities: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]
