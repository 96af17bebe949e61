"""Documents of the project that many tests start from: parsed once in a process, never changed."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from frugal.config.root import effective

ROOT = Path(__file__).parents[1]


@cache
def shipped(name: str) -> Any:
    """What a YAML of the project holds, by its path there; who changes it takes a copy."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((ROOT / name).read_text(encoding="utf-8"), Loader=loader)


DEFAULT: dict[str, Any] = effective(shipped("config.yaml"))
