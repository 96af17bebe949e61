"""Places where Frugal replaces a part of Snakemake or a plugin: the code is as it was made for."""

import hashlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
import snakemake.api  # noqa: F401  its modules import each other, in this order only

PAGE = Path(__file__).parents[2] / "docs/how-to/cluster.md"
PLACES = re.findall(r"(?m)^\| (`.+:.+`) \| `(\w{12})` \| .+ \|$", PAGE.read_text(encoding="utf-8"))


def test_at_most_five_places_are_replaced():
    assert 0 < len(PLACES) <= 5


@pytest.mark.parametrize(("names", "digest"), PLACES)
def test_what_is_replaced_is_the_code_that_the_replacement_was_made_for(names, digest):
    places = [pkgutil.resolve_name(name) for name in re.findall("`(.+?)`", names)]
    source = "".join(map(inspect.getsource, places))
    assert hashlib.sha256(source.encode()).hexdigest()[:12] == digest
