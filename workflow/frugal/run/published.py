"""The default's summary tables as they are published: a digest of each, and the CPU that made them.

`config/published.json` is committed. `audit --published` compares the tables of a run with it,
`audit --publish` writes it anew. Knows no study; a table is what lies in results/summary/.
"""

import hashlib
import json
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import PROJECT
from frugal.core.errors import DataError
from frugal.results.files import file_digest, json_bytes, payload_bytes, read_payload, write_bytes
from frugal.results.sidecars import FAST
from frugal.run.sidecar_checks import AuditError, load_sidecar

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
    """Write down the tables of this folder as the published ones; returns what was written.

    Raises:
        DataError: there are none, or they were not all made with the same arithmetic and lock.
    """
    tables = _tables()
    if not tables:
        raise DataError(f"{SUMMARY}/ holds no table; run the default first")
    made = {json.dumps(_circumstances(path)) for path in tables}
    if len(made) > 1:
        raise DataError(
            f"the tables of {SUMMARY}/ were made in {len(made)} ways ({', '.join(sorted(made))}); "
            "allowed is one arithmetic and one requirements.lock"
        )
    digests = {path.as_posix(): table_digest(path) for path in tables}
    document = {"cpu": this_cpu(), **json.loads(made.pop()), "tables": digests}
    write_bytes(PUBLISHED, json_bytes(document))
    return f"{len(digests)} tables written down in {PUBLISHED.name}"


def compare_published() -> str:
    """One line where every table of this folder has the published bytes.

    Raises:
        AuditError: names the tables that differ, the CPU that made the published ones, and what
            else differs between both runs.
    """
    document = json.loads(PUBLISHED.read_bytes())
    wanted: dict[str, str] = document["tables"]
    missing = [name for name in wanted if not Path(name).is_file()]
    there = [name for name in wanted if name not in missing]
    differ = [name for name in there if table_digest(Path(name)) != wanted[name]]
    origin = f"made on {document['cpu']}, arithmetic {document['arithmetic']}"
    if not missing and not differ:
        return f"{len(wanted)} tables have the published bytes ({origin})"
    lines = [f"{name}: is not there" for name in missing]
    lines += [f"{name}: differs from the published one" for name in differ]
    lines.append(f"{len(wanted) - len(missing) - len(differ)} of {len(wanted)} are as published")
    lines += [f"published: {origin}; here: {this_cpu()}", *_other_causes(document, differ)]
    raise AuditError("\n".join(lines))


def _other_causes(document: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    """What differs between the two runs beside the CPU, a line each."""
    for key, what in (("arithmetic", "arithmetic"), ("environment", "requirements.lock")):
        here = {_circumstances(Path(name))[key] for name in names}
        for other in sorted(here - {document[key]}):
            yield f"{what} is {document[key][:21]} where they were published, {other[:21]} here"


def _tables() -> list[Path]:
    found = sorted(SUMMARY.glob("*"))
    return [path for path in found if path.is_file() and not path.name.startswith(("_", "."))]


def _circumstances(path: Path) -> dict[str, str]:
    document = load_sidecar(path)
    return {
        "arithmetic": document.get("arithmetic", FAST),
        "environment": document["environment"],
    }


def this_cpu(told: Path = Path("/proc/cpuinfo")) -> str:
    """Maker, family and model of this machine's CPU, and its C library, which has exp and log."""
    text = told.read_text(encoding="utf-8") if told.is_file() else ""
    fields = dict(re.findall(r"^([\w ]+?)\s*:\s*(.*)$", text, re.MULTILINE))
    wide = "with" if "avx512f" in fields.get("flags", "").split() else "without"
    named = fields.get("model name", platform.machine())
    numbers = f"family {fields.get('cpu family', '?')}, model {fields.get('model', '?')}"
    return f"{named} ({numbers}), {wide} AVX-512, {' '.join(platform.libc_ver())}"
