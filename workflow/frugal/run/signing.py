"""Signs results with an Ed25519 key of one's own, and holds results against such a signature.

Digests and seals show that a file was changed by accident or without its sidecar; who has the code
can make all of them anew. Only a signature shows that results are those of who holds the key. The
signed text lists every result with the SHA-256 of its sidecar, which states that of the result.
"""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from frugal.results.files import file_digest, json_bytes
from frugal.results.sidecars import sidecar_path, write_apart
from frugal.run.sidecar_checks import AuditError

SIGNATURE = Path("results.signature.json")


def sign_results(key: Path, payloads: Iterable[Path]) -> str:
    """Sign results that agree with their sidecars; what was done, in words.

    Args:
        key: private Ed25519 key, as `ssh-keygen -t ed25519` or `openssl genpkey` writes it.
        payloads: all results.

    Raises:
        AuditError: the file holds no such key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = _key(key, "private", Ed25519PrivateKey)
    listed = _listed(payloads)
    signature = base64.b64encode(private.sign(json_bytes(listed))).decode()
    write_apart(SIGNATURE, json_bytes({"files": listed, "signature": signature}))
    return f"{len(listed)} files are signed in {SIGNATURE}"


def verify_results(key: Path, payloads: Iterable[Path]) -> str:
    """Hold results against their signature; what holds, in words.

    Args:
        key: public Ed25519 key of who signed, of OpenSSH or PEM.
        payloads: all results.

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
    listed = _listed(payloads)
    names = sorted(signed.keys() | listed.keys())
    if wrong := [name for name in names if signed.get(name) != listed.get(name)]:
        raise AuditError("\n".join(f"{name}: is not what was signed" for name in wrong))
    return f"{len(listed)} files are those that the holder of {key} signed"


def _listed(payloads: Iterable[Path]) -> dict[str, str]:
    """Name of each result and the SHA-256 of its sidecar."""
    return {path.as_posix(): file_digest(sidecar_path(path)) for path in sorted(payloads)}


def _key(path: Path, kind: str, wanted: type) -> Any:
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
        if isinstance(key, wanted):
            return key
    raise AuditError(
        f"{path}: holds no {kind} Ed25519 key without a passphrase; ssh-keygen -t ed25519 -N '' -f "
        "FILE makes a pair: FILE signs, FILE.pub verifies"
    )
