"""A stand-in for a Kubernetes cluster: the calls that Snakemake's executor makes, on this machine.

A job's container becomes a process that `.ci/storage/submit.sh` starts, in an empty folder of its
own, with the variables of its secret and no others. Images, limits, nodes and a network of its own
are not imitated: what this shows is that a profile, the executor and a step's command fit together.
Imports nothing but the standard library.
"""

import base64
import contextlib
import json
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

SUBMIT = Path(__file__).resolve().parent / "submit.sh"
CONFIG = """apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: here, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: nobody, user: {{}}}}]
contexts: [{{name: here, context: {{cluster: here, user: nobody}}}}]
"""


class Cluster:
    """What the cluster holds: secrets, jobs with their processes, and how it starts one."""

    def __init__(self, workers: Path, user: str, folder: Path) -> None:
        self.workers, self.user, self.folder = workers, user or "-", folder
        self.secrets: dict[str, dict[str, str]] = {}
        self.processes: dict[str, str] = {}
        self.images: set[str] = set()
        self.commands: list[str] = []

    def run(self, job: dict[str, Any]) -> None:
        """Start the process of a job."""
        name = job["metadata"]["name"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        lines = [f"export {v['name']}={shlex.quote(self._value(v))}" for v in container["env"]]
        (_, line) = container["args"]
        self.images.add(container["image"])
        self.commands.append(line)
        script = self.folder / f"{name}.sh"
        script.write_text("\n".join([*lines, line, ""]))
        command = [str(SUBMIT), str(self.workers), self.user, str(script)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        self.processes[name] = done.stdout.strip()

    def _value(self, variable: dict[str, Any]) -> str:
        asked = variable["valueFrom"]["secretKeyRef"]
        return base64.b64decode(self.secrets[asked["name"]][asked["key"]]).decode()

    def ended(self, name: str) -> int | None:
        """The exit status of a job's process; None while it runs."""
        path = self.workers / "ended" / self.processes[name]
        said = path.read_text().strip() if path.is_file() else ""
        return int(said) if said else None

    def said(self, name: str) -> str:
        """All that the process of a job has said."""
        return (self.workers / "ended" / f"{self.processes[name]}.log").read_text(errors="replace")


class Handler(BaseHTTPRequestHandler):
    """The calls; any other is answered by 404."""

    cluster: ClassVar[Cluster]

    def do_POST(self) -> None:
        """A secret or a job is made."""
        made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/secrets"):
            self.cluster.secrets[made["metadata"]["name"]] = made["data"]
        elif self.path.endswith("/jobs"):
            self.cluster.run(made)
        self._answer(made)

    def do_GET(self) -> None:
        """How a job stands, its pod, or what this has said."""
        if found := re.search(r"/jobs/([\w-]+)/status", self.path):
            status = self.cluster.ended(found[1])
            told = {} if status is None else {"succeeded": 1} if status == 0 else {"failed": 1}
            self._answer({"metadata": {"name": found[1]}, "status": told})
        elif found := re.search(r"/pods\?labelSelector=job-name(?:=|%3D)([\w-]+)", self.path):
            status = self.cluster.ended(found[1])
            state = {"running": {}} if status is None else {"terminated": {"exitCode": status}}
            container = {
                "name": "snakemake",
                "image": "",
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "state": state,
            }
            pod = {"metadata": {"name": found[1]}, "status": {"containerStatuses": [container]}}
            self._answer({"kind": "PodList", "apiVersion": "v1", "items": [pod]})
        elif found := re.search(r"/pods/([\w-]+)/log", self.path):
            self._answer(self.cluster.said(found[1]))
        else:
            self.send_error(404)

    def do_DELETE(self) -> None:
        """A job, a pod or a secret is removed."""
        self._answer({"kind": "Status", "status": "Success"})

    def _answer(self, told: Any) -> None:
        content = told.encode() if isinstance(told, str) else json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def stand_in(workers: Path, user: str, folder: Path) -> Iterator[tuple[Cluster, Path]]:
    """A cluster that is there until the end, and the file by which one finds it (KUBECONFIG)."""
    folder.mkdir(parents=True)
    cluster = Cluster(workers, user, folder)
    handler = type("Bound", (Handler,), {"cluster": cluster})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = folder / "config"
    config.write_text(CONFIG.format(port=server.server_address[1]))
    try:
        yield cluster, config
    finally:
        server.shutdown()
        server.server_close()
