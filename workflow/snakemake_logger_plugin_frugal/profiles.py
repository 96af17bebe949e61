"""Resources of the command line go over those of the profile, each by its name.

Snakemake drops all of a profile's `set-resources` when one is given on the command line, and says
nothing; so with `default-resources` and `resources`. A step that was to have eight hours then has
what all others have. Here only what is named is replaced (tests/unit/test_profiles.py).
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from snakemake.resources import Resources

_BY_RULE, _BY_NAME = "set_resources", ("default_resources", "resources")
ParserOf = Callable[..., argparse.ArgumentParser]


def over(profile: Any, given: Any, stated: Collection[str] | None = None) -> Any:
    """Resources with those of the command line in the place of the profile's of the same name.

    Args:
        profile: resources by name, or nothing.
        given: of the command line; Snakemake adds defaults of its own to them.
        stated: names that the command line has in truth; None for all that are given.
    """
    if not isinstance(profile, Mapping) or not isinstance(given, Mapping):
        return profile if given is None else given
    own = {k: v for k, v in given.items() if stated is None or k not in profile or _in(k, stated)}
    return Resources(dict(profile) | own)


def _in(name: str, stated: Collection[str]) -> bool:
    """Sizes have a name with a unit and one without."""
    plain = re.sub(r"_mi?b$", "", name)
    return not {name, plain, f"{plain}_mb", f"{plain}_mib"}.isdisjoint(stated)


def over_by_rule(profile: Any, given: Any) -> Any:
    """The same for what rules are given, rule by rule."""
    profile, given = profile or {}, given or {}
    return {rule: over(profile.get(rule), given.get(rule)) for rule in [*profile, *given]}


def merging(own: ParserOf) -> ParserOf:
    """A maker of parsers, whose parsers lay what they read over what the profiles say."""

    def make(profiles: Any = None) -> argparse.ArgumentParser:
        parser = own(profiles)
        if not profiles:
            return parser
        read = parser.parse_args

        def parse_args(argv: Any = None, *args: Any, **words: Any) -> Any:
            found = read(argv, *args, **words)
            typed = sys.argv[1:] if argv is None else argv
            stated = {word.partition("=")[0] for word in typed if "=" in word}
            profile = own(profiles).parse_args([])
            found.set_resources = over_by_rule(profile.set_resources, found.set_resources)
            for name in _BY_NAME:
                setattr(found, name, over(getattr(profile, name), getattr(found, name), stated))
            return found

        vars(parser)["parse_args"] = parse_args
        return parser

    return make


def install() -> None:
    """Let Snakemake read its command line so."""
    if (cli := sys.modules.get("snakemake.cli")) is not None:
        vars(cli)["get_argument_parser"] = merging(vars(cli)["get_argument_parser"])
