"""References for verifying results: published digests, a signature, and an RO-Crate of them.

`config/published.json` has a digest of each summary table of the default, and the CPU that made
them. `audit --published` compares the tables of a run with it, `audit --publish` writes it anew.

Digests and seals show that a file was changed by accident or without its manifest; who has the code
can make all of them anew. Only a signature, with an Ed25519 key of one's own, shows that results
are those of who holds the key. The signed text lists every result with the SHA-256 of its manifest.

The crate's profile is Workflow Run Crate 0.5 (https://w3id.org/ro/wfrun/workflow/0.5) on RO-Crate
1.1. Knows manifests; must not depend on any stage.
"""

import base64
import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from frugal import __version__
from frugal.core.declarations import PACKAGE, PROJECT
from frugal.core.errors import DataError
from frugal.results.audit import recorded_files
from frugal.results.files import file_digest, json_bytes, payload_bytes, read_payload, write_bytes
from frugal.results.manifests import (
    RESULTS,
    AuditError,
    commit_here,
    load_record,
    made_by_other_code,
    write_apart,
)

PUBLISHED = PROJECT / "config" / "published.json"
SUMMARY = Path("results/summary")
_MEASURED = "cpu_s"  # a column that no two runs share


def table_digest(path: Path) -> str:
    """SHA-256 of a file; of a table with measured times, of the same file without that column."""
    if path.suffix == ".parquet":
        table = read_payload(path)
        if _MEASURED in table:
            rest = payload_bytes(path, table.drop(columns=_MEASURED))
            return hashlib.sha256(rest).hexdigest()
    return file_digest(path)


def publish() -> str:
    """Record the tables of this folder as the published ones; returns a line on them.

    Raises:
        DataError: there are none, or they were not all made with the same arithmetic and lock.
    """
    tables = _tables()
    if not tables:
        raise DataError(f"{SUMMARY}/ holds no table; run the default first")
    circumstances = {json.dumps(_circumstances(path)) for path in tables}
    if len(circumstances) > 1:
        raise DataError(
            f"the tables of {SUMMARY}/ were made in {len(circumstances)} ways "
            f"({', '.join(sorted(circumstances))}); allowed is one arithmetic and one "
            "requirements.lock"
        )
    digests = {path.as_posix(): table_digest(path) for path in tables}
    document = {"cpu": this_cpu(), **json.loads(circumstances.pop()), "tables": digests}
    write_bytes(PUBLISHED, json_bytes(document))
    return f"{len(digests)} tables written down in {PUBLISHED.name}"


def compare_published() -> str:
    """One line where every table of this folder has the published bytes.

    Raises:
        AuditError: names the tables that differ, the CPU that made the published ones, and
            everything else that differs between both runs.
    """
    document = json.loads(PUBLISHED.read_bytes())
    published: dict[str, str] = document["tables"]
    missing = [name for name in published if not Path(name).is_file()]
    present = [name for name in published if name not in missing]
    differ = [name for name in present if table_digest(Path(name)) != published[name]]
    origin = f"made on {document['cpu']}, arithmetic {document['arithmetic']}"
    if not missing and not differ:
        return f"{len(published)} tables have the published bytes ({origin})"
    lines = [f"{name}: is not there" for name in missing]
    lines += [f"{name}: differs from the published one" for name in differ]
    lines.append(
        f"{len(published) - len(missing) - len(differ)} of {len(published)} are as published"
    )
    lines += [f"published: {origin}; here: {this_cpu()}", *_other_causes(document, differ)]
    raise AuditError(*lines)


def _other_causes(document: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    """Differences between the two runs other than the CPU, one per line."""
    for key, label in (("arithmetic", "arithmetic"), ("environment", "requirements.lock")):
        current = {_circumstances(Path(name))[key] for name in names}
        for other in sorted(current - {document[key]}):
            yield f"{label} is {document[key][:21]} where they were published, {other[:21]} here"


def _tables() -> list[Path]:
    paths = sorted(SUMMARY.glob("*"))
    return [path for path in paths if path.is_file() and not path.name.startswith(("_", "."))]


def _circumstances(path: Path) -> dict[str, str]:
    document = load_record(path)
    return {key: document[key] for key in ("arithmetic", "environment")}


def this_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Maker, family and model of this machine's CPU, and its C library, which has exp and log."""
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    fields = dict(re.findall(r"^([\w ]+?)\s*:\s*(.*)$", text, re.MULTILINE))
    wide = "with" if "avx512f" in fields.get("flags", "").split() else "without"
    named = fields.get("model name", platform.machine())
    numbers = f"family {fields.get('cpu family', '?')}, model {fields.get('model', '?')}"
    return f"{named} ({numbers}), {wide} AVX-512, {' '.join(platform.libc_ver())}"


SIGNATURE = Path("results.signature.json")


def sign_results(key: Path, records: Mapping[Path, Mapping[str, Any]]) -> str:
    """Sign results that agree with their manifests; returns a sentence.

    Args:
        key: private Ed25519 key, as `ssh-keygen -t ed25519` or `openssl genpkey` writes it.
        records: of all results.

    Raises:
        AuditError: the file holds no such key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = _key(key, "private", Ed25519PrivateKey)
    listed = _listed(records)
    signature = base64.b64encode(private.sign(json_bytes(listed))).decode()
    write_apart(SIGNATURE, json_bytes({"files": listed, "signature": signature}))
    return f"{len(listed)} files are signed in {SIGNATURE}"


def verify_results(key: Path, records: Mapping[Path, Mapping[str, Any]]) -> str:
    """Check results against their signature; returns a sentence.

    Args:
        key: public Ed25519 key of who signed, of OpenSSH or PEM.
        records: of all results.

    Raises:
        AuditError: there is no signature, it is not of this key, or names of files differ.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = _key(key, "public", Ed25519PublicKey)
    try:
        document = json.loads(SIGNATURE.read_bytes())
        signed, signature = dict(document["files"]), base64.b64decode(document["signature"])
        public.verify(signature, json_bytes(signed))
    except OSError as error:
        raise AuditError(f"{SIGNATURE}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise AuditError(f"{SIGNATURE}: is no signature that audit --sign writes") from None
    except InvalidSignature:
        raise AuditError(f"{SIGNATURE}: was not signed with the key of {key}") from None
    listed = _listed(records)
    names = sorted(signed.keys() | listed.keys())
    if wrong := [name for name in names if signed.get(name) != listed.get(name)]:
        raise AuditError(*(f"{name}: differs from the signed file" for name in wrong))
    return f"{len(listed)} files are those that the holder of {key} signed"


def _listed(records: Mapping[Path, Mapping[str, Any]]) -> dict[str, str]:
    """Name of each result and the SHA-256 of its manifest."""
    digest = cache(file_digest)
    return {p.as_posix(): digest(Path(r["manifest"])) for p, r in sorted(records.items())}


def _key(path: Path, kind: str, key_type: type) -> Any:
    """An Ed25519 key of a file, of OpenSSH or PEM."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    words = () if kind == "public" else (None,)
    for form in ("ssh", "pem"):
        try:
            key = getattr(serialization, f"load_{form}_{kind}_key")(path.read_bytes(), *words)
        except OSError as error:
            raise AuditError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        if isinstance(key, key_type):
            return key
    raise AuditError(
        f"{path}: holds no {kind} Ed25519 key without a passphrase; ssh-keygen -t ed25519 -N '' -f "
        "FILE makes a pair: FILE signs, FILE.pub verifies"
    )


NAME = "ro-crate-metadata.json"
_WORKFLOW = Path("ro-crate-workflow/Snakefile")
_RUN = "https://w3id.org/ro/wfrun"
_BIOSCHEMAS = "https://bioschemas.org/profiles"
_HUB = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
_LICENSE = "https://spdx.org/licenses/MIT"
_PROFILES = {  # whose last part is the version
    f"{_RUN}/process/0.5": "Process Run Crate",
    f"{_RUN}/workflow/0.5": "Workflow Run Crate",
    _HUB: "Workflow RO-Crate",
}
_FORMS = {
    name: f"{_BIOSCHEMAS}/{name}/1.0-RELEASE"
    for name in ("ComputationalWorkflow", "FormalParameter")
}
_SNAKEMAKE = "https://snakemake.github.io"
_KINDS = {str: "Text", int: "Integer", float: "Float", bool: "Boolean"}
_FORMATS = {
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".txt": "text/plain",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".csv": "text/csv",
    ".safetensors": "application/octet-stream",
    ".md": "text/markdown",
}
Entity = dict[str, Any]


def write_crate() -> Path:
    """Describe `results/` of the working folder in `ro-crate-metadata.json`.

    Raises:
        DataError: there are no results.
    """
    records, _ = recorded_files(RESULTS)
    documents = {path: record for path, record in records.items() if path.is_file()}
    if not documents:
        raise DataError("results/ holds no file of a step; run the workflow first")
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
        documents: payload → its record.
        workflow: the Snakefile, in the folder of the crate.
        commit: of the code that made every file; None where it is not known.
    """
    payload_paths = {path.as_posix() for path in documents}
    outside = {
        (record["path"], record["sha256"])
        for document in documents.values()
        for record in document["inputs"]
        if record["path"] not in payload_paths
    }
    files = [_file(path, document) for path, document in sorted(documents.items())]
    read = [
        _entity(f"#input-{digest[:16]}", "CreativeWork", name=name, identifier=f"sha256:{digest}")
        for name, digest in sorted(outside)
    ]
    values, parameters = _settings(documents.values())
    written_at = [Path(document["manifest"]).stat().st_mtime for document in documents.values()]
    begun, ended = (
        datetime.fromtimestamp(at, UTC).isoformat("T", "seconds")
        for at in (min(written_at), max(written_at))
    )
    snakefile, profiles = {"@id": workflow.as_posix()}, [{"@id": profile} for profile in _PROFILES]
    graph = [
        _entity(
            NAME,
            "CreativeWork",
            about={"@id": "./"},
            conformsTo=[{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": _HUB}],
        ),
        _entity(
            "./",
            "Dataset",
            name="Results of Frugal",
            description="Results of a run of the Snakemake workflow Frugal: tables, policies, "
            "estimates and figures, each with its digest and its inputs.",
            datePublished=ended,
            license={"@id": _LICENSE},
            conformsTo=profiles,
            hasPart=_ids([snakefile, *files]),
            mainEntity=snakefile,
            mentions=[{"@id": "#run"}],
        ),
        _entity(
            workflow.as_posix(),
            ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            name="Frugal",
            encodingFormat="text/plain",
            description="Learns which panel to acquire next, and measures whether that answer can "
            "be trusted.",
            version=", commit ".join(filter(None, (__version__, commit))),
            license={"@id": _LICENSE},
            programmingLanguage={"@id": "#snakemake"},
            input=_ids(parameters),
            conformsTo={"@id": _FORMS["ComputationalWorkflow"]},
        ),
        _entity(
            "#run",
            "CreateAction",
            name="Run of Frugal",
            description="From the first file that is kept to the last.",
            instrument=snakefile,
            agent={"@id": "#people"},
            startTime=begun,
            endTime=ended,
            actionStatus="http://schema.org/CompletedActionStatus",
            object=_ids([*read, *values]),
            result=_ids(files),
        ),
        _entity(
            "#snakemake",
            "ComputerLanguage",
            name="Snakemake",
            url=_SNAKEMAKE,
            version=version("snakemake"),
            identifier={"@id": _SNAKEMAKE},
        ),
        _entity("#people", "Organization", name="Whoever ran the workflow"),
        _entity(_LICENSE, "CreativeWork", name="MIT License", url=_LICENSE),
        *(
            _entity(place, "CreativeWork", name=name, version=place.rpartition("/")[2])
            for place, name in {**_PROFILES, **{_FORMS[name]: name for name in _FORMS}}.items()
        ),
    ]
    return {
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
        ],
        "@graph": [*graph, *parameters, *values, *read, *files],
    }


def _entity(place: str, kind: str | list[str], **entries: Any) -> Entity:
    return {"@id": place, "@type": kind, **entries}


def _file(path: Path, document: Mapping[str, Any]) -> Entity:
    wildcards = ", ".join(f"{key} {value}" for key, value in document["wildcards"].items())
    return _entity(
        path.as_posix(),
        "File",
        name=path.name,
        description=f"{document['output']} of the stage {document['stage']}"
        f"{f' ({wildcards})' if wildcards else ''}, seed {document['seed']}",
        encodingFormat=_FORMATS.get(path.suffix, "application/octet-stream"),
        contentSize=str(document["bytes"]),
        sha256=document["sha256"],
    )


def _settings(documents: Iterable[Mapping[str, Any]]) -> tuple[list[Entity], list[Entity]]:
    """Values of the run and the parameters that they are of: the seed, and settings by stage.

    Settings that differ between the steps of a stage are left to the manifests.
    """
    values_of: dict[str, set[Any]] = {}
    for document in documents:
        values_of.setdefault("seed", set()).add(document["seed"])
        values_of.setdefault("environment", set()).add(document["environment"])
        settings = document["settings"]
        for key, value in (settings if isinstance(settings, dict) else {}).items():
            if type(value) in _KINDS:
                values_of.setdefault(f"{document['stage']}.{key}", set()).add(value)
    constant = {name: next(iter(values)) for name, values in values_of.items() if len(values) == 1}
    values, parameters = [], []
    for name, value in sorted(constant.items()):
        parameter = _entity(
            f"#parameter-{name}",
            "FormalParameter",
            name=name,
            additionalType=_KINDS[type(value)],
            valueRequired=True,
            conformsTo={"@id": _FORMS["FormalParameter"]},
        )
        parameters.append(parameter)
        example = {"@id": parameter["@id"]}
        values.append(
            _entity(
                f"#value-{name}",
                "PropertyValue",
                name=name,
                value=str(value),
                exampleOfWork=example,
            )
        )
    return values, parameters


def _ids(entities: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]
