"""A bundle as the next step reads it from its file, without the file."""

import json

from frugal.core.layout import Bundle
from frugal.core.stored import StoredArrays


def as_read(bundle: Bundle, source: str = "policy.safetensors") -> StoredArrays:
    """Arrays and header, which goes through JSON."""
    return StoredArrays(bundle.arrays, source, json.loads(json.dumps(dict(bundle.header))))
