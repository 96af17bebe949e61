"""Run by check_crate.py in an environment of its own: `crate_validator.py FOLDER`.

The validator fetches the context of RO-Crate 1.1 from the network. Where that cannot be reached it
gets the one that the package `rocrate` holds, with the addresses of Bioschemas that 1.1 has.
"""

import importlib.util
import io
import json
import socket
import sys
from pathlib import Path

import rdflib.plugins.shared.jsonld.context as contexts
import rdflib.plugins.shared.jsonld.util as util
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

ADDRESS = "https://w3id.org/ro/crate/1.1/context"
NEWER, ITS_OWN = "https://bioschemas.org/terms/", "https://bioschemas.org/"


def bring_context() -> None:
    """Give the context of the package to whoever asks for its address."""
    held = Path(importlib.util.find_spec("rocrate").origin).parent / "data/ro-crate.jsonld"
    text = held.read_text(encoding="utf-8").replace(NEWER, ITS_OWN)
    fetched, sent = util.source_to_json, HTTPAdapter.send

    def to_json(source, *words, **named):
        if str(source).startswith(ADDRESS):
            return json.loads(text), None
        return fetched(source, *words, **named)

    def send(adapter, request, *words, **named):
        if not str(request.url).startswith(ADDRESS):
            return sent(adapter, request, *words, **named)
        answer = HTTPResponse(
            body=io.BytesIO(text.encode()),
            status=200,
            preload_content=False,
            headers={"Content-Type": "application/ld+json"},
            request_url=request.url,
        )
        return adapter.build_response(request, answer)

    util.source_to_json = contexts.source_to_json = to_json
    HTTPAdapter.send = send


try:
    socket.getaddrinfo("w3id.org", 443)
except OSError:
    bring_context()
    print("the context is the one of the package rocrate; its address cannot be reached")

from rocrate_validator import models, services  # noqa: E402

found = services.validate(
    services.ValidationSettings(
        rocrate_uri=sys.argv[1],
        profile_identifier="workflow-run-crate",
        requirement_severity=models.Severity.REQUIRED,
    )
)
for issue in found.get_issues():
    print(issue.severity.name, issue.check.identifier, issue.message)
sys.exit(1 if found.has_issues() else 0)
