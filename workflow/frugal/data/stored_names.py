"""Names under which downloaded files are stored: plain words for every shell, path and log.

The declared name stays in the description; what is stored under `results/` bears the encoded one.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

LONGEST = 230  # a file's name has 255 bytes at most, and its sidecar's and temporary one are longer
_KEPT_OF_LONG = 180
_OURS = (".html", ".json", ".md", ".parquet", ".pdf", ".png", ".safetensors")  # read by suffix
_STRANGE = re.compile(rb"[^A-Za-z0-9._-]")


def stored_names(names: Sequence[str]) -> list[str]:
    """The stored name of each declared file of a data set, in order.

    It is the last part of the declared name, or all of it where two files share the last part.
    """
    last = [PurePosixPath(name).name for name in names]
    shared = Counter(last)
    return [
        _encoded(whole if shared[part] > 1 else part)
        for whole, part in zip(names, last, strict=True)
    ]


def _encoded(name: str) -> str:
    """ASCII letters, digits, `.`, `_` and `-` as they are; every other byte as `+` and two digits.

    So is the first character of a sidecar's or a hidden file's name, and the dot before a suffix
    that says how one of our own files is read. What is too long ends in its SHA-256.
    """
    plain = _STRANGE.sub(lambda found: b"+%02X" % found[0][0], name.encode()).decode()
    if plain.startswith(("_", ".")):
        plain = f"+{ord(plain[0]):02X}{plain[1:]}"
    stem, dot, suffix = plain.rpartition(".")
    if dot + suffix in _OURS:
        plain = f"{stem}+2E{suffix}"
    if len(plain) <= LONGEST:
        return plain
    return f"{plain[:_KEPT_OF_LONG]}+{hashlib.sha256(name.encode()).hexdigest()[:32]}"
