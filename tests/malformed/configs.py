"""Config files, `--config`, and what they say: a start of the workflow, without its engine."""

import copy
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from frugal.config.declared import learns
from frugal.core.strict_yaml import MOST_BYTES, read_config_file
from frugal.run.config_files import typed_entries
from frugal.run.study import load_study
from snakemake.cli import parse_config
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config
from snakemake_logger_plugin_frugal import require_harmless

from tests.defaults import DEFAULT
from tests.malformed.cases import ROOT, Case, Refused, Right, Warned, Wrong, mistakes
from tests.malformed.plain_words import of_change
from tests.unit import test_bad_configs
from tests.unit.dataset_documents import document
from tests.unit.spoiling import spoilt

FILES = "Config files, given with `--configfile`"
WORDS = "Values of `--config`"
VALUES = "What a config says"
DIGITS = "9" * 6000


def laughs(levels: int, first: str, pair: str, ends: str) -> str:
    """Every level holds the one before it eight times."""
    lines = [f"a0: &a0 {first}"]
    for k in range(levels):
        inner = ", ".join(pair.format(k=i, anchor=f"*a{k}") for i in range(8))
        lines.append(f"a{k + 1}: &a{k + 1} {ends[0]}{inner}{ends[1]}")
    return "\n".join(lines)


HOSTILE = {
    "lists of lists": (laughs(9, "[x]", "{anchor}", "[]"), "aliases expand to more than"),
    "mappings of mappings": (laughs(9, "{x: 1}", "k{k}: {anchor}", "{}"), "aliases expand to"),
    "merges of merges": ("a: &a {x: 1}\nb: {<<: [" + "*a, " * 30_000 + "]}", "aliases expand to"),
    "an alias inside itself": ("seed: &a {b: *a}", "line 1, column 14: *a is inside the value"),
    "10,000 lists": ("[" * 10_000 + "]" * 10_000, "nested deeper than 100 levels"),
    "10,000 mappings": ("a: " + "{a: " * 10_000, "nested deeper than 100 levels"),
    "10,000 lines of a block": ("- " * 10_000, "nested deeper than 100 levels"),
    "10,000 mappings in JSON": ('{"a": ' * 10_000 + "1" + "}" * 10_000, "nested deeper than 100"),
    "a list as a key": ("? [a, b]\n: 1", "a key is a sequence; allowed are keys of text"),
    "a mapping as a key": ("{a: 1}: 1", "a key is a mapping; allowed are keys of text"),
    "a key twice": ("seed: 1\nseed: 2", "line 2, column 1: key 'seed' is written twice"),
    "a key twice further down": ("a: {b: 1, c: 2, b: 3}", "key 'b' is written twice"),
    "a key twice in JSON": ('{"a": {"b": 1, "b": 2}}', "key 'b' is written twice"),
    "6,000 digits": (f"seed: {DIGITS}", "a number has 6000 characters; at most 100 are read"),
    "6,000 digits in JSON": (f'{{"seed": {DIGITS}}}', "a number has 6000 characters"),
    "6,000 digits to the base 16": (f"seed: 0x{DIGITS}", "a number has 6002 characters"),
    "6,000 decimals": (f"seed: 0.{DIGITS}", "a number has 6002 characters"),
    "base 60": ("cost: 1:30", "'1:30' is 90 to YAML, which reads colons as base 60"),
    "base 60, not whole": ("cost: -1:30.5", "'-1:30.5' is -90.5 to YAML"),
    "a leading zero": ("cost: 010", "'010' is 8 to YAML, which counts to the base 8"),
    "a date": ("value: 2020-01-31", "'2020-01-31' is a date to YAML; write it in quotes"),
    "a date that is none": ("value: 2020-13-45", "'2020-13-45' is a date to YAML"),
    "an equals sign": ("value: =", "'=' has a meaning of its own in YAML; write it in quotes"),
    "no number after 0x": ("value: 0x_", "not valid YAML"),
    "a Python object": ("a: !!python/object/apply:os.system [id]", "the tag '!!python/object/"),
    "a tuple": ("a: !!python/tuple [1, 2]", "the tag '!!python/tuple' is not allowed"),
    "a wrong number": ("a: !!int x", "the tag '!!int' is not allowed; write the value without it"),
    "a wrong truth": ("a: !!bool x", "the tag '!!bool' is not allowed"),
    "bytes": ("a: !!binary abc", "the tag '!!binary' is not allowed"),
    "a set": ("a: !!set {a, b}", "the tag '!!set' is not allowed"),
    "two documents": ("seed: 1\n---\nseed: 2", "expected a single document in the stream"),
    "an anchor twice": ("a: &a 1\nb: &a 2", "found duplicate anchor 'a'; first occurrence"),
    "a tab as indentation": ("afape:\n\tx: 1", "line 2, column 1: not valid YAML"),
    "a zero byte": ("seed: 1\0", "unacceptable character #x0000"),
    "half a character": ('note: "\\ud800"', "holds half a character"),
}
BYTES = {
    "two bytes a letter": ("seed: 1\n".encode("utf-16"), "byte 0 is 0xff; allowed is UTF-8"),
    "latin-1": (b"seed: 1 # \xe9\n", "byte 10 is 0xe9; allowed is UTF-8"),
    "too much": (b"#" * (MOST_BYTES + 1), f"at most {MOST_BYTES} are read"),
}


def start(config: dict[str, Any]) -> None:
    """All that is checked before the first job."""
    test_bad_configs.start(config)


def file_given(content: bytes) -> Right:
    """As the logger of profiles/default does before Snakemake reads it, and the Snakefile after."""
    path = Path("study.yaml")
    path.write_bytes(content)
    return taken_file(path)


def taken_file(path: Path) -> Right:
    read_config_file(path)
    config = copy.deepcopy(DEFAULT)
    update_config(config, load_configfile(str(path)))
    start(config)
    return Right("read")


def read_as(content: bytes, place: tuple[str, ...], value: Any, message: str) -> Right:
    """The file is taken, and has this value at this place."""
    Path("study.yaml").write_bytes(content)
    read_config_file(Path("study.yaml"))
    found = load_configfile("study.yaml")
    start_with = copy.deepcopy(DEFAULT)
    update_config(start_with, found)
    start(start_with)
    for key in place:
        found = found[key]
    if found != value:
        raise Wrong(f"read as {found!r}")
    return Right(message)


def words_given(*entries: str) -> Right:
    """As `snakemake --config` does: parsed by the engine, merged, lists typed, checked."""
    try:
        require_harmless(["--config", *entries])
    except SystemExit as error:
        raise Refused(str(error).removeprefix("Frugal cannot start: ")) from None
    config = copy.deepcopy(DEFAULT)
    parsed = parse_config(list(entries))
    update_config(config, parsed)
    update_config(config, typed_entries(entries, parsed))
    start(config)
    return Right("read")


def _no_file(make: Callable[[Path], Any]) -> Right:
    path = Path("study.yaml")
    make(path)
    return taken_file(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _locked(path: Path) -> Right:
    """A file that its reader may not open; root, who may, becomes nobody for the moment."""
    path.write_text("seed: 1\n", encoding="utf-8")
    path.chmod(0)
    return as_nobody(partial(taken_file, path))


def as_nobody(work: Callable[[], Any]) -> Any:
    """Do it without root's rights."""
    if os.geteuid() != 0:
        return work()
    Path().chmod(0o755)
    os.seteuid(65534)
    try:
        return work()
    finally:
        os.seteuid(0)


def config_files() -> Iterator[Case]:
    """Texts and files."""
    add = partial(Case, FILES)
    for name, (text, words) in HOSTILE.items():
        yield add(name, partial(file_given, text.encode()), words)
    for name, (content, words) in BYTES.items():
        yield add(name, partial(file_given, content), words)
    for name, content, words in (
        ("an empty file", b"", "study.yaml holds nothing"),
        ("comments only", b"# seed: 1\n", "study.yaml holds nothing"),
        ("a list", b"- 1\n", "study.yaml holds a list"),
        ("one number", b"7\n", "study.yaml holds a single value"),
        ("`null`", b"null\n", "study.yaml holds nothing"),
        ("a text in quotes", b'"seed: 1"', "study.yaml holds a single value"),
        ("one word", b"hello\n", "study.yaml holds a single value"),
        ("`__use_yte__: true`, which makes Snakemake run Python", b"__use_yte__: true\n", "yte"),
        ("an open bracket", b"datasets: {a: b\n", "study.yaml, line "),
        ("an open quote", b'data_mirror: "a\n', "study.yaml, line "),
        ("a colon in a bare text", b"data_mirror: a: b\n", "study.yaml, line 1"),
        ("a key without a blank after its colon", b"seed:1\n", "study.yaml holds a single value"),
        ("typographic quotes around a number", "seed: “1”\n".encode(), "'seed' is '“1”'"),
        (
            "a decimal comma",
            b"afape: {evaluation: {resample_share: 0,5}}\n",
            "'evaluation' holds the key 5",
        ),
        ("a merge key of text", b"<<: hello\n", "study.yaml"),
        ("JSON cut off", b'{"seed": 1', "study.yaml"),
        ("JSON with a trailing comma twice", b'{"seed": 1,,}', "study.yaml"),
        ("an alias without an anchor", b"seed: *gone\n", "gone"),
        (
            "a page of a web server",
            b"<!DOCTYPE html>\n<html></html>\n",
            "study.yaml holds a single",
        ),
        ("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "study.yaml"),
        (
            "the same line indented by one blank more",
            b"afape:\n  seeds: [0]\n   agents: {}\n",
            "line",
        ),
    ):
        yield add(name, partial(file_given, content), words)
    for name, make in (
        ("a folder", Path.mkdir),
        ("no file of that name", lambda path: None),
        ("a link to itself", _loop),
        ("a link to nothing", lambda path: path.symlink_to("gone.yaml")),
        ("a named pipe that nobody writes to", os.mkfifo),
        ("`/dev/zero` by a link", lambda path: path.symlink_to("/dev/zero")),
    ):
        yield add(name, partial(_no_file, make), "study.yaml")
    yield add("a file that may not be read", partial(_locked, Path("study.yaml")), "study.yaml")
    yield add(
        "a byte order mark, as of an editor of Windows",
        partial(
            read_as, b"\xef\xbb\xbfseed: 5\r\n", ("seed",), 5, "read: the mark is no part of it"
        ),
        ends="accepted",
    )


def config_words() -> Iterator[Case]:
    """KEY=VALUE."""
    for name, (entries, words) in _entries().items():
        yield Case(WORDS, name, partial(words_given, *entries), words)


def _entries() -> dict[str, tuple[tuple[str, ...], str]]:
    deep = "afape=" + "[" * 10_000
    shared = laughs(9, "{x: 1}", "k{k}: {anchor}", "{}").replace("\n", ", ")
    return {
        "`seed=abc`": (("seed=abc",), "'seed' is 'abc'"),
        "`seed=1:30`": (("seed=1:30",), "'seed' is "),
        "`seed=1.5`": (("seed=1.5",), "'seed' is 1.5"),
        "`seed=-1`": (("seed=-1",), "'seed' is -1"),
        "`seed=` and nothing": (("seed=",), "'seed'"),
        "`sed=1`": (("sed=1",), "unknown key 'sed'"),
        "`scale=papers`": (("scale=papers",), "did you mean 'paper'?"),
        "`datasets=[]`": (("datasets=[]",), "'datasets' is []"),
        "`afape={seeds: [a]}`": (("afape={seeds: [a]}",), "'afape.seeds[0]' is 'a'"),
        "`afape=null`": (("afape=null",), "'afape' is "),
        "a value nested 10,000 deep": ((deep,), "--config afape"),
        "a value with aliases of aliases": ((f"afape={{{shared}}}",), "--config afape"),
        "a value with a key twice": (("afape={seeds: [0], seeds: [1]}",), "is written twice"),
        "`datasets={breast_cancer: gone.yaml}`": (
            ("datasets={breast_cancer: gone.yaml}",),
            "gone.yaml",
        ),
    }


def _small_study(change: tuple[tuple[Any, ...], Any]) -> Right | Warned:
    """A study of the small table, whose YAML is allowed: may the study use it?"""
    Path("small.yaml").write_text(yaml.safe_dump(spoilt(document(), *change)), encoding="utf-8")
    config = copy.deepcopy(DEFAULT)
    config["datasets"]["small"] = "small.yaml"
    entry = copy.deepcopy(config["afape"]["scenarios"][0])
    missingness = {"source": "own", "panels": {"blood": {}, "scan": {}}}
    entry |= {"dataset": "small", "mechanism": "own", "missingness": missingness, "s": None}
    config["afape"]["scenarios"] = [entry]
    config["afape"]["agents"] = {
        name: None if learns(settings["kind"]) else settings
        for name, settings in config["afape"]["agents"].items()
    }
    config["afape"]["figures"] |= {"frequency_agent": "never", "convergence_agents": ["never"]}
    remarks = load_study(config, ROOT).remarks()
    return Warned(remarks[0]) if remarks else Right("read")


def config_values() -> Iterator[Case]:
    """The default changed in one place."""
    nobody = (("afape", "agents"), dict.fromkeys(DEFAULT["afape"]["agents"]), "at least one is")
    long = (("datasets", "breast_cancer"), "u" * 300, "there is no such file")
    for place, value, words in (*mistakes("config"), nobody, long):
        changed = partial(spoilt, DEFAULT, place, value)
        yield Case(VALUES, of_change(place, value), partial(_started, changed), words)
    costs = ("misclassification_cost",)
    for name, change, words, *ends in (
        (
            "all error costs zero",
            (costs, [[0, 0], [0, 0]]),
            "is zero everywhere, so no acquisition could pay",
        ),
        (
            "every decision costs the same",
            (costs, [[5, 5], [5, 5]]),
            "is the same for all decisions, so no acquisition could pay",
        ),
        (
            "a right decision dearer than a wrong one",
            (costs, [[9, 1], [5, 0]]),
            "'healthy' costs 9 … a right decision may cost no more",
        ),
        (
            "rows and columns of the error costs confused, so that one is negative gain",
            (costs, [[0, 0], [0, 100]]),
            "costs 100 and",
        ),
        (
            "one decision never wrong",
            (costs, [[0, 0], [50, 0]]),
            "is the cheapest for every true class … the best policy acquires nothing",
            "warned",
        ),
        (
            "a table with a panel recorded in part, for `afape`",
            (("missing_values",), "partial"),
            "names data set 'small', whose 'missing_values' is partial … allowed there are own",
        ),
        ("a YAML of another name than in the config", (("name",), "smal"), "'datasets.small'"),
        ("causes of a panel that the table lacks", (("panels", 1, "name"), "bloods"), "'blood'"),
    ):
        more: Any = ends
        yield Case(VALUES, name, partial(_small_study, change), words, *more)


def _started(config: Callable[[], dict[str, Any]]) -> Right:
    start(config())
    return Right("read")


def cases() -> Iterator[Case]:
    """Of all three."""
    yield from config_files()
    yield from config_words()
    yield from config_values()
