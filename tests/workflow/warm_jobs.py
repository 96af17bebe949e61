"""Jobs of warm starts of Snakemake: forks of a Python that has imported the libraries.

Importing numpy, pandas and matplotlib takes most of a tiny job. `python -m frugal` of a job is a
shell function (`BASH_ENV`) that hands its words, folder, environment and streams to a server. The
server began with the pins of portable arithmetic and has imported nothing of the project. Jobs of
other arithmetic, and all jobs of the runs that start fresh, are processes of their own.
"""

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

LIBRARIES = ("numpy", "pandas", "pyarrow.parquet", "pyarrow.compute", "jaxtyping", "pydantic")
LIBRARIES += ("yaml", "torch", "numba", "scipy.special", "scipy.optimize", "scipy.sparse")
LIBRARIES += ("scipy.linalg", "sklearn.tree", "sklearn.ensemble", "lightgbm", "matplotlib.figure")
LIBRARIES += ("seaborn.objects", "altair", "safetensors.numpy", "jsonschema", "duckdb", "tqdm")
ADDRESSES = "MOST_ADDRESSES"  # in the environment of a start: bytes that each job may address
OWN = ("HOME", "TMPDIR", "LANG", "PATH")  # of the server's environment; all else are pins
FUNCTION = """unset BASH_ENV
python() {{
    case "$1 $2 $* " in
        "-m frugal "*"--arithmetic portable "*) {python} -I -S {file} {place} "${{@:3}}" ;;
        *) command python "$@" ;;
    esac
}}
"""


@cache
def variables() -> dict[str, str]:
    """What `snakemake` is started with for its jobs to be such forks; the server ends with us."""
    from frugal.core.arithmetic import pinned

    folder = Path(tempfile.mkdtemp(prefix="jobs"))
    kept = {name: os.environ[name] for name in OWN if name in os.environ}
    server = subprocess.Popen(
        [sys.executable, "-P", __file__, "serve", str(folder / "socket")],
        cwd="/",
        env=pinned(kept | {"OMP_NUM_THREADS": "1"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    words = {"python": sys.executable, "file": __file__, "place": folder / "socket"}
    (folder / "function.sh").write_text(FUNCTION.format(**words))
    return {"BASH_ENV": str(folder / "function.sh")}


def ask(place: str, words: list[str]) -> int:
    """Exit status of a job that the server runs with the streams of this process."""
    asked = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
    content = json.dumps(asked).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        socket.send_fds(server, [len(content).to_bytes(8)], [0, 1, 2])
        server.sendall(content)
        answer = server.recv(8)
    return int(answer) if answer else 70


def serve(place: str) -> None:
    """Fork for every connection; its job's exit status is the answer. Ends with stdin."""
    import gc
    import importlib
    import selectors

    for name in LIBRARIES:
        importlib.import_module(name)
    assert not any(name.startswith("frugal") for name in sys.modules)
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    ready = selectors.DefaultSelector()
    ready.register(0, selectors.EVENT_READ)
    ready.register(listener, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in ready.select():
            if key.fileobj == 0:
                os._exit(0)  # else DuckDB calls what is frozen a leak, on the terminal
            if key.fileobj is listener:
                connection = listener.accept()[0]
                length, streams, _, _ = socket.recv_fds(connection, 8, 3)
                content = connection.recv(int.from_bytes(length), socket.MSG_WAITALL)
                if (child := os.fork()) == 0:
                    _become(**json.loads(content), streams=streams)
                for stream in streams:
                    os.close(stream)
                ready.register(os.pidfd_open(child), selectors.EVENT_READ, (child, connection))
            else:
                child, connection = key.data
                ready.unregister(key.fileobj)
                os.close(key.fd)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                with connection:
                    connection.send(b"%d" % (status if status >= 0 else 128 - status))


def _become(words: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> None:
    """In the child: what a new Python does for `python -m frugal`; never returns."""
    import resource
    import runpy
    import threading
    import traceback

    status: object = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.chdir(folder)
        pins = {name: value for name, value in os.environ.items() if name not in OWN}
        os.environ.clear()
        os.environ.update(environment | pins)
        if most := int(environment.get(ADDRESSES, 0)):
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv[:] = ["frugal", *words]
        sys.orig_argv[:] = [sys.executable, "-m", "frugal", *words]
        runpy.run_module("frugal", run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
