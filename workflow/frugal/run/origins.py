"""Every file behind the inputs of a step, as plain data, for a page that tells them.

Reads sidecars alone; must not know what any stage computes.
"""

from pathlib import Path
from typing import Any

from frugal.results.sidecars import Job
from frugal.run.sidecar_checks import load_sidecar


def origins_of(job: Job) -> dict[str, Any]:
    """The inputs of a job by name, and every file that they come from, back to the raw data.

    Returns:
        `inputs`: name → paths. `files`: path → `sha256`, `bytes`, `stage`, `output`, `wildcards`,
        `rows` and `columns` of a table, and `inputs`, each with name, path and sha256; what came
        from outside has no entry of its own. `url` is the publisher's address of a fetched file.

    Raises:
        AuditError: a sidecar on the way is lacking, or was edited.
    """
    files: dict[str, dict[str, Any]] = {}
    inputs = {
        name: [path.as_posix() for path in (paths if isinstance(paths, list) else [paths])]
        for name, paths in job.inputs.items()
    }
    waiting = [path for paths in inputs.values() for path in paths]
    while waiting:
        path = waiting.pop()
        if path in files or not path.startswith("results/"):
            continue
        document = load_sidecar(Path(path))
        files[path] = {
            key: document[key]
            for key in ("sha256", "bytes", "stage", "output", "wildcards", "rows", "columns")
            if key in document
        } | {"inputs": document["inputs"]}
        settings = document["settings"]
        if isinstance(settings, dict) and {"url", "sha256"} <= settings.keys():
            files[path]["url"] = settings["url"]
        waiting += [record["path"] for record in document["inputs"]]
    return {"inputs": inputs, "files": dict(sorted(files.items()))}
