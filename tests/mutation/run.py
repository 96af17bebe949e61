"""Mutants of the science, each judged by the tests that import its module. Not part of `make test`.

    make mutants                         # a sample of every module; goes on where it stopped
    make mutants PER_MODULE=5 ONLY=judge/  # more of them, of one room

Cosmic-ray names and makes the mutants: another operator, comparison or constant, `not` added or
taken away. All of them would take days, so of each module some are drawn, by a seed. A mutant lives
in a copy of the project under `build/mutation`; the project itself is never touched.
"""

import argparse
import ast
import functools
import hashlib
import json
import os
import random
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build/mutation"
FOUND = PLACE / "found.jsonl"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
COMPILING = 90  # CPU seconds more, where numba compiles all anew
MADE = ("build", "results", "logs", "benchmarks", ".git", ".*env", ".snakemake", ".hypothesis")
ROOMS = ("data", "missing", "learn", "acquire", "judge", "search", "cover")
SWAPS = ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow")
COMPARED = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
OPERATORS = (
    "core/AddNot",
    "core/NumberReplacer",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/ReplaceBinaryOperator_BitAnd_BitOr",
    "core/ReplaceBinaryOperator_BitOr_BitAnd",
    *(f"core/ReplaceBinaryOperator_{a}_{b}" for a in SWAPS for b in SWAPS if a != b),
    *(f"core/ReplaceComparisonOperator_{a}_{b}" for a in COMPARED for b in COMPARED if a != b),
)
# Arguments that change no result: how a declaration is shown, what is promised, where code is kept.
UNTOLD = ("place", "look", "looks", "strict", "frozen", "eq", "repr", "slots", "cache")
LOADERS = ("load_one", "load_all")  # of `frugal.core.declarations`: they import a folder
REFUSE = ("data", "cover")  # rooms whose refusals the catalogue of malformed inputs tests
KINDS = ("acquire", "policies")  # the room whose modules are tested by the name of their kind, in
KIND_TESTS = ("tests/unit/test_agent_kinds.py", "tests/unit/test_advice.py")
TIMES = 5  # a mutant may take so many times what its tests take without it


def modules() -> list[Path]:
    """The modules of the science, relative to the package's folder."""
    package = ROOT / "workflow/frugal"
    found = (path for room in ROOMS for path in package.joinpath(room).rglob("[a-z]*.py"))
    return sorted(path.relative_to(package.parent) for path in found)


class _Plain(ast.NodeTransformer):
    """Leaves out types, assertions against our own mistakes, and the arguments of `UNTOLD`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.Assign([node.target], node.value or ast.Constant(None), lineno=node.lineno)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.Pass()

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg in UNTOLD:
            node.value = ast.Constant(None)
        return self.generic_visit(node)


def plain(code: str) -> tuple[str, int] | None:
    """What of a module decides a run, and its stars (they multiply nothing); None if no Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    stars = [n for n in ast.walk(tree) if isinstance(n, ast.Starred)]
    stars += [n for n in ast.walk(tree) if isinstance(n, ast.keyword | ast.Dict) and _unpacks(n)]
    stars += [n for n in ast.walk(tree) if isinstance(n, ast.arguments) and n.kwonlyargs]
    stars += [n for n in ast.walk(tree) if isinstance(n, ast.arguments) and (n.vararg or n.kwarg)]
    return ast.dump(_Plain().visit(tree)), len(stars)


def _unpacks(node: ast.keyword | ast.Dict) -> bool:
    return node.arg is None if isinstance(node, ast.keyword) else None in node.keys


def mutants(module: Path) -> Iterator[tuple[str, int]]:
    """(operator, occurrence) of every mutant of a module."""
    from cosmic_ray.ast import ast_nodes, get_ast  # pyright: ignore[reportMissingImports]
    from cosmic_ray.plugins import get_operator  # pyright: ignore[reportMissingImports]

    code = (ROOT / "workflow" / module).read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(code)))
    for name in OPERATORS:
        operator = get_operator(name)()
        count = sum(len(list(operator.mutation_positions(node))) for node in nodes)
        yield from ((name, k) for k in range(count))


def mutated(module: Path, operator: str, occurrence: int) -> str | None:
    """The code of one mutant; None where it differs in nothing that a run can tell."""
    from cosmic_ray.mutating import mutate_code  # pyright: ignore[reportMissingImports]
    from cosmic_ray.plugins import get_operator  # pyright: ignore[reportMissingImports]

    code = (ROOT / "workflow" / module).read_text(encoding="utf-8")
    new = mutate_code(code, get_operator(operator)(), occurrence)
    before, after = plain(code), plain(new or "")
    assert before is not None, f"bug: {module} is Python"
    if new is None or after is None or after[0] == before[0] or after[1] != before[1]:
        return None
    return new


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in LOADERS:
            folder = str(getattr(node.args[0], "value", ""))
            found |= {f"{folder}.{p.stem}" for p in _folder(folder).glob("[a-z]*.py")}
    return frozenset(found)


def _folder(package: str) -> Path:
    return ROOT.joinpath("workflow", *package.split("."))


def files_for(module: Path, root: Path) -> list[str]:
    """Test files that import a module, or of those that import it through fewest others.

    Malformed inputs enter by commands: they come last, for the rooms of `REFUSE`. Those of all
    kinds of policies name them in configurations.
    """
    own = root / "workflow/frugal"
    sources = {
        ".".join(path.relative_to(own.parent).with_suffix("").parts): path
        for path in own.rglob("*.py")
    }
    tests = {path: _imports(path) for path in sorted((root / "tests/unit").glob("test_*.py"))}
    asked, seen = {".".join(module.with_suffix("").parts)}, set()
    while asked:
        found = [str(path.relative_to(root)) for path, names in tests.items() if names & asked]
        if found:
            found += ["tests/unit/test_malformed.py"] * (module.parts[1] in REFUSE)
            more = KIND_TESTS if module.parts[1:3] == KINDS else ()
            return found + [file for file in more if file not in found]
        seen |= asked
        asked = {name for name, path in sources.items() if _imports(path) & asked} - seen
    return []


def sample(module: Path, count: int, seed: int) -> Iterator[tuple[str, int, str]]:
    """(operator, occurrence, code) of so many mutants of a module; fewer where it has no more."""
    every = list(mutants(module))
    random.Random(f"{seed} {module}").shuffle(every)
    codes = ((operator, k, mutated(module, operator, k)) for operator, k in every)
    differing = ((operator, k, code) for operator, k, code in codes if code is not None)
    return (one for one, _ in zip(differing, range(count), strict=False))


def difference(old: str, new: str) -> tuple[int, str, str]:
    """Number of the first line that differs, before and after."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    k, (before, after) = next((k, p) for k, p in enumerate(pairs, 1) if p[0] != p[1])
    return k, before.strip(), after.strip()


def digest(root: Path, *files: str) -> str:
    """One word for the contents of some files."""
    return hashlib.sha256(b"".join(root.joinpath(f).read_bytes() for f in files)).hexdigest()[:16]


def made(folder: str, names: list[str]) -> set[str]:
    """What a copy of the project leaves out, at its root alone: a package may be called results."""
    return shutil.ignore_patterns(*MADE)(folder, names) if Path(folder) == ROOT else set()


class Copy:
    """A copy of the project in which mutants live, one at a time, and a process that runs tests."""

    def __init__(self) -> None:
        self.place = PLACE / "project"
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(ROOT, self.place, ignore=made)
        self.limits: dict[str, float] = {}
        words = [str(ROOT / ".venv/bin/python"), str(Path(__file__).with_name("pytests.py"))]
        told = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(self.place / "workflow")}
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(
            words, cwd=self.place, env=os.environ | told, stdin=pipe, stdout=pipe, text=True
        )

    def pytest(self, files: list[str], seconds: float, fresh: bool) -> tuple[int, float]:
        """Pytest's code and CPU seconds of some test files, as the copy is now."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        asked = {"files": files, "seconds": seconds, "fresh": fresh}
        print(json.dumps(asked), file=self.server.stdin, flush=True)
        answer = json.loads(self.server.stdout.readline())
        return answer["code"], answer["seconds"]

    def limit(self, file: str) -> float:
        """CPU seconds that a mutant may use in a test file."""
        if file not in self.limits:
            code, seconds = self.pytest([file], 600, fresh=False)
            assert code == 0, f"{file} fails without a mutant: pytest's code is {code}"
            self.limits[file] = TIMES * seconds
        return self.limits[file]

    def judge(self, module: Path, code: str, tests: list[str]) -> tuple[str, float]:
        """`caught`, `killed` (it crashed, or did not end) or `survived`, and CPU seconds."""
        path = self.place / "workflow" / module
        fresh = "njit" in code  # numba stores what it compiled, and sees no change in what it calls
        by_time = sorted(tests, key=self.limit)
        most = sum(map(self.limit, tests)) + (COMPILING if fresh else 0)
        path.write_text(code, encoding="utf-8")
        try:
            status, used = self.pytest(by_time, most, fresh)
        finally:
            shutil.copy2(ROOT / "workflow" / module, path)
        return ("survived" if status == 0 else "caught" if status > 0 else "killed"), used


def run(per_module: int, seed: int, only: str) -> None:
    """Judge the sample, one mutant after the other; what was judged already is skipped."""
    copy, judged = Copy(), records()
    for module in modules():
        if not any(word in str(module) for word in only.split(",")):
            continue
        tests, own = files_for(module, copy.place), f"workflow/{module}"
        for operator, occurrence, code in sample(module, per_module, seed):
            old = judged.get((str(module), operator, occurrence))
            state = {"code": digest(copy.place, own), "tests": digest(copy.place, *tests)}
            if (
                old
                and old["code"] == state["code"]
                and (old["outcome"] != "survived" or old["tests"] == state["tests"])
            ):
                continue
            line, before, after = difference((ROOT / own).read_text(encoding="utf-8"), code)
            outcome, seconds = copy.judge(module, code, tests)
            record = {
                "module": str(module),
                "operator": operator,
                "occurrence": occurrence,
                "line": line,
                "before": before,
                "after": after,
                "outcome": outcome,
                "seconds": round(seconds, 1),
                **state,
            }
            with FOUND.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{outcome:8} {seconds:5.1f} s {module}:{line}: {before} -> {after}", flush=True)


def records() -> dict[tuple[str, str, int], dict]:
    """What was judged, the last word on each mutant of a module as it is now."""
    found = {}
    lines = FOUND.read_text(encoding="utf-8").splitlines() if FOUND.exists() else []
    for one in map(json.loads, lines):
        path = f"workflow/{one['module']}"
        if ROOT.joinpath(path).exists() and digest(ROOT, path) == one["code"]:
            found[one["module"], one["operator"], one["occurrence"]] = one
    return found


def table() -> None:
    """Prints what survived and is not equivalent, then by room how many did what."""
    told = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    same = {(one["module"], one["before"], one["after"]) for one in told}
    counts: dict[str, Counter[str]] = {room: Counter() for room in (*ROOMS, "all")}
    for one in records().values():
        outcome = "survived" if one["outcome"] == "survived" else "caught"
        if outcome == "survived" and (one["module"], one["before"], one["after"]) in same:
            outcome = "equivalent"
        if outcome == "survived":
            print(f"survived {one['module']}:{one['line']}: {one['before']} -> {one['after']}")
        for room in (one["module"].split("/")[1], "all"):
            counts[room][outcome] += 1
    print("\n| room | mutants | caught | equivalent | survived | caught of those that differ |")
    print("|---|---|---|---|---|---|")
    for room, count in counts.items():
        differ = max(1, count.total() - count["equivalent"])
        cells = [room, count.total(), *(count[k] for k in ("caught", "equivalent", "survived"))]
        print("|", " | ".join(map(str, cells)), f"| {100 * count['caught'] / differ:.0f} % |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Mutants of the science, each judged by tests.")
    parser.add_argument("what", choices=("run", "table", "count"))
    parser.add_argument("--per-module", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="parts of modules' paths, with commas between")
    given = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    if given.what == "run":
        run(given.per_module, given.seed, given.only)
    if given.what == "count":
        print(sum(len(list(mutants(module))) for module in modules()), "mutants in all")
    else:
        table()
