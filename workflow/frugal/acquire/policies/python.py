"""The kind `python`: one's own function in a file, called with a batch of states at a time.

The file is the user's own code and runs with all rights of the user: it is read from the path that
the config names, never from results and never by name. Its answer is checked at every call,
and refused in one sentence with file and line. Must not know costs, labels or missingness.
"""

import ast
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.acquire.kinds import AgentKind, Saved
from frugal.acquire.reading import SingleWithoutVerdict
from frugal.core.episodes import Law, Panels, RowPanels, RowValues, Values
from frugal.core.errors import ConfigError, DataError, printable
from frugal.core.layout import Layout
from frugal.core.table import Table

STOP = "stop"
ROUNDING = 1e-6  # by which the sum of a row may miss 1, and two answers may differ
TELLING = 160  # characters of a foreign error, or of an answer, that a sentence repeats
MOST_KEPT = 1 << 19  # answers kept, some 150 MB; others are requested as often as they are needed
RESULTS = "results"  # folder of what steps made, where no code of one's own may lie


@dataclass(frozen=True)
class Origin:
    """Where a function is defined, for sentences.

    Attributes:
        path: of the file, as the config names it.
        name: of the function.
        line: of its definition.
    """

    path: str
    name: str
    line: int

    def refuse(self, reason: str, *, line: int | None = None) -> NoReturn:
        """Raise a sentence with file, line and function."""
        raise DataError(
            f"{printable(self.path)}, line {self.line if line is None else line}: the policy "
            f"{self.name!r} {reason}"
        )


def read_answer(
    origin: Origin, answer: Any, m: int, panels: Sequence[str]
) -> Float[np.ndarray, "m A"]:
    """An answer as probabilities, its shape and names checked. (m, a + 1)"""
    names = (*panels, STOP)
    if isinstance(answer, pd.DataFrame | pd.Series):
        answer = _in_order(origin, answer, m, names)
    elif not isinstance(answer, np.ndarray | list | tuple):
        origin.refuse(
            f"returns {shown(answer)}; allowed are probabilities as an array or a frame, or the "
            "name of a panel or 'stop' for each row"
        )
    try:
        array = np.asarray(answer)
    except Exception:
        origin.refuse("returns rows of different lengths, or no numbers")
    if array.ndim == 1 and array.dtype.kind in "OUT":
        if len(array) != m:
            origin.refuse(f"returns {len(array)} names for {m} states")
        number = {name: i for i, name in enumerate(names)}
        for row, action in enumerate(array):
            if not isinstance(action, str) or action not in number:
                action = str(action) if isinstance(action, str) else action  # not NumPy's own
                origin.refuse(
                    f"names {shown(action)} for row {row}; allowed are {', '.join(names)}"
                )
        return np.eye(len(names))[[number[action] for action in array]]
    if array.shape != (m, len(names)):
        origin.refuse(
            f"returns an array of shape {array.shape}; allowed are {(m, len(names))} for {m} "
            f"states, {len(panels)} panels and 'stop', or {m} names"
        )
    if array.dtype.kind == "O":
        array = _numbers(origin, array)
    if array.dtype.kind not in "fiub":
        origin.refuse(f"returns entries of type {array.dtype}; allowed are numbers")
    return array.astype(np.float64)


def _in_order(
    origin: Origin, answer: pd.DataFrame | pd.Series, m: int, names: Sequence[str]
) -> np.ndarray:
    """Rows of a frame or series, which must be those requested; columns sorted by name."""
    if not answer.index.equals(pd.RangeIndex(m)):
        origin.refuse(
            f"returns {len(answer)} rows for {m} states, or rows with another index than those of "
            "its arguments"
        )
    if isinstance(answer, pd.Series):
        return answer.to_numpy()
    if len(answer.columns) != len(names) or set(answer.columns) != set(names):
        origin.refuse(
            f"returns a frame of the columns {shown([*answer.columns])}; allowed are "
            f"{', '.join(names)}"
        )
    return answer[[*names]].to_numpy()


def _numbers(origin: Origin, array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        origin.refuse("returns entries that are not numbers")


def require_law(
    origin: Origin,
    action_probability: Float[np.ndarray, "m A"],
    acquired: RowPanels,
    available: RowPanels,
    panels: Sequence[str],
) -> None:
    """Rows are probabilities, of panels that are available and not acquired, and of "stop"."""
    names = (*panels, STOP)
    for wrong, problem in (
        (~np.isfinite(action_probability), "is no finite number"),
        (action_probability < 0, "is below zero"),
        (action_probability > 1 + ROUNDING, "is above 1"),
    ):
        if wrong.any():
            row, action = np.argwhere(wrong)[0]
            origin.refuse(
                f"gives {names[action]!r} the probability {action_probability[row, action]:.6g} in "
                f"row {row}, which {problem}"
            )
    total = action_probability.sum(axis=1)
    off = np.abs(total - 1) > ROUNDING
    if off.any():
        row = int(off.argmax())
        origin.refuse(f"gives row {row} probabilities that sum to {total[row]:.6g}; allowed is 1")
    closed = (action_probability[:, :-1] > 0) & (acquired | ~available)
    if closed.any():
        row, action = np.argwhere(closed)[0]
        why = "is acquired already" if acquired[row, action] else "is not available"
        origin.refuse(
            f"gives the panel {names[action]!r} the probability "
            f"{action_probability[row, action]:.6g} in row {row}, where it {why}"
        )


def shown(value: Any) -> str:
    """A thing of foreign code in few words, whatever its own words are."""
    try:
        return short(repr(value))
    except Exception:
        return f"a {type(value).__name__}"


def short(message: Any) -> str:
    """First line of a text, cut."""
    try:
        lines = [line.strip() for line in str(message).splitlines() if line.strip()]
    except Exception:
        lines = []
    text = printable(lines[0]) if lines else "no reason given"
    return text if len(text) <= TELLING else text[: TELLING - 1] + "…"


@dataclass(frozen=True, eq=False)
class PythonPolicy(SingleWithoutVerdict):
    """A function (values, acquired, available) as a policy. Shapes: d columns, a panels.

    Every state is evaluated in one call, with all others that are new in a batch, and its answer is
    kept: slow functions are called once in a step of the workflow, for all callers. To be sure of
    an answer it is computed twice, the second time of a copy of the file that was run anew, in
    three parts (one state, those of large values, those of small ones): a policy has no state and
    no randomness of its own, and the answer for one state does not depend on the others of its
    batch.

    Attributes:
        function: one's own.
        twin: the same of the copy.
        origin: where it is defined.
        columns: names of the columns of `values`.
        panels: names of the columns of `acquired` and `available`.
        source: SHA-256 of the file that was loaded.
        answers: digest of a state → answer of the function; at most `MOST_KEPT`.
    """

    function: Callable[..., Any]
    twin: Callable[..., Any]
    origin: Origin
    columns: tuple[str, ...]
    panels: tuple[str, ...]
    source: str
    answers: dict[bytes, Float[np.ndarray, " A"]] = field(default_factory=dict)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Answers of the function, rows divided by their sums. (1, m, a + 1)

        Raises:
            DataError: it raises an exception, or its answer is none that a policy may give.
        """
        state = values[0], acquired[0], available[0]
        digests = _digests(*state)
        new = {
            digest: k for k, digest in reversed([*enumerate(digests)]) if digest not in self.answers
        }
        action_probability = np.empty((len(digests), len(self.panels) + 1))
        computed = dict(self._read_anew(new, state)) if new else {}
        for k, digest in enumerate(digests):
            action_probability[k] = computed[digest] if digest in computed else self.answers[digest]
        room = max(MOST_KEPT - len(self.answers), 0)
        self.answers.update(islice(computed.items(), room))
        return action_probability[None]

    def _read_anew(
        self, new: Mapping[bytes, int], state: tuple[np.ndarray, ...]
    ) -> Iterable[tuple[bytes, np.ndarray]]:
        """Answers to states that are not kept, rows divided by their sums."""
        at = np.sort(np.fromiter(new.values(), dtype=np.int64, count=len(new)))
        action_probability = self._sure(tuple(part[at] for part in state))
        place = {int(k): j for j, k in enumerate(at)}
        return ((digest, action_probability[place[k]]) for digest, k in new.items())

    def _sure(self, state: tuple[np.ndarray, ...]) -> Float[np.ndarray, "m A"]:
        """The function's answer, which its copy must give, too. (m, a + 1)"""
        m = len(state[0])
        action_probability = self._ask(self.function, *state)
        again = np.empty_like(action_probability)
        order = np.argsort(-np.nansum(state[0], axis=1), kind="stable")
        for part in np.split(order, [1, max(m // 2, 1)]):
            if part.size:
                again[part] = self._ask(self.twin, *(array[part] for array in state))
        differs = np.abs(action_probability - again).max(axis=1) > ROUNDING
        if differs.any():
            self._refuse_another(action_probability, state, int(differs.argmax()))
        return action_probability / action_probability.sum(axis=1)[:, None]

    def _ask(
        self,
        function: Callable[..., Any],
        values: RowValues,
        acquired: RowPanels,
        available: RowPanels,
    ) -> Float[np.ndarray, "m a+1"]:
        """One call of a function, with frames of its own to write in; its checked answer."""
        frames = (
            pd.DataFrame(values.copy(), columns=list(self.columns)),
            pd.DataFrame(acquired.copy(), columns=list(self.panels)),
            pd.DataFrame(available.copy(), columns=list(self.panels)),
        )
        answer = _called(self.origin, function, *frames)
        action_probability = read_answer(self.origin, answer, len(values), self.panels)
        require_law(self.origin, action_probability, acquired, available, self.panels)
        return action_probability

    def _refuse_another(
        self, action_probability: np.ndarray, state: tuple[np.ndarray, ...], at: int
    ) -> NoReturn:
        """Tell randomness from an answer that depends on the other states."""
        anew = (self._ask(function, *state) for function in (self.function, self.twin))
        if any(np.abs(action_probability - answer).max() > ROUNDING for answer in anew):
            self.origin.refuse(
                "gives another answer for the same state; a policy must not draw at "
                "random, or remember: return probabilities, and actions are drawn by them"
            )
        self.origin.refuse(
            f"gives another answer for row {at} when the other rows differ; the answer for a row "
            "must follow from that row alone"
        )


def _digests(values: np.ndarray, acquired: np.ndarray, available: np.ndarray) -> list[bytes]:
    """A digest of each state, of 16 bytes. (m,)"""
    parts = [np.ascontiguousarray(values, dtype=np.float64).view(np.uint8), acquired, available]
    rows = np.hstack([part.astype(np.uint8) for part in parts])
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]


def source_of(path: Path) -> str:
    """SHA-256 of a policy's file, a parameter of the step that calls it.

    Raises:
        ConfigError: there is no such file, or it lies among results.
    """
    return hashlib.sha256(_read_source(path)).hexdigest()


def load_python_policy(path: Path, name: str, table: Table | Layout) -> PythonPolicy:
    """A function of a Python file as a policy.

    `name(values, acquired, available)` gets data frames of m states: encoded values, NaN where they
    are not known (m, d); the panels acquired, and those available, True or False (m, a). It returns
    probabilities (m, a + 1), "stop" last, as an array, or as a frame with the names of panels and
    "stop"; or for each state the name of a panel or "stop". The file can import installed packages;
    it cannot import files next to it, as its own digest alone is recorded.

    Args:
        path: of the file.
        name: of the function.
        table: whose columns and panels are meant; its values are not read.

    Raises:
        ConfigError: there is no such file, or a panel is called "stop".
        DataError: it cannot be run, or has no such function of three arguments; says on which line.
    """
    panels = tuple(panel.name for panel in table.actions)
    if STOP in panels:
        raise ConfigError(
            f"a python policy returns {STOP!r} to end, and a panel has this name; rename the panel"
        )
    content = _read_source(path)
    origin = Origin(str(path), name, _line_of(content, name))
    function, twin = (_function(origin, content) for _ in range(2))
    source = hashlib.sha256(content).hexdigest()
    return PythonPolicy(function, twin, origin, tuple(table.columns), panels, source)


def _function(origin: Origin, content: bytes) -> Callable[..., Any]:
    """The function of a file that is run for it."""
    names = _run(origin, content)
    if origin.name not in names:
        functions = [name for name, value in names.items() if inspect.isfunction(value)]
        origin.refuse(f"is not there; the file has the functions {', '.join(functions) or 'none'}")
    _require_callable(origin, names[origin.name])
    return names[origin.name]


def _read_source(path: Path) -> bytes:
    if Path(RESULTS).resolve() in path.resolve().parents:
        raise ConfigError(
            f"the policy's file {printable(str(path))} lies in {RESULTS}/, which holds outputs of "
            "steps; keep code of your own elsewhere"
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the policy's file {printable(str(path))} cannot be read: {error.strerror}"
        ) from None


def _line_of(content: bytes, name: str) -> int:
    """Line on which a name is last bound at the top of a file; 1 if it is not or is unreadable."""
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 1
    line = 1
    for node in body:
        bound = {getattr(node, "name", None)}
        bound |= {
            alias.asname or alias.name
            for alias in getattr(node, "names", ())
            if isinstance(alias, ast.alias)
        }
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            bound.add(getattr(target, "id", None))
        line = node.lineno if name in bound else line
    return line


def _run(origin: Origin, content: bytes) -> Mapping[str, Any]:
    """Run a file as a module that nothing else can import; its names."""
    try:
        code = compile(content, origin.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        origin.refuse(f"cannot be read: {short(error.msg)}", line=error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        origin.refuse(f"cannot be read: {short(error)}")
    module = types.ModuleType(f"_frugal_policy_{hashlib.sha256(content).hexdigest()[:16]}")
    module.__file__ = origin.path
    sys.modules[module.__name__] = module  # where dataclasses look for their own module
    _called(origin, exec, code, module.__dict__)
    return module.__dict__


def _called(origin: Origin, function: Callable[..., Any], *arguments: Any) -> Any:
    """Result of foreign code; its error is refused with the line it was raised on."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        reason = f"raises {type(error).__name__}: {short(error)}"
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == origin.path:
                line = trace.tb_lineno
            trace = trace.tb_next
        origin.refuse(reason, line=line)


def _require_callable(origin: Origin, function: Any) -> None:
    if not callable(function):
        origin.refuse(f"is {shown(function)}; allowed is a function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        origin.refuse("is a coroutine or a generator; allowed is a function that returns")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of compiled code, which is asked without knowing
    try:
        signature.bind(None, None, None)
    except TypeError:
        origin.refuse(
            f"takes {signature}; allowed are three arguments: values, acquired, available"
        )


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> PythonPolicy:
    """The function of the settings in the file that is among a step's inputs."""
    if not isinstance(stored, Path):
        raise ConfigError("an agent of kind 'python' acts by its file; it is not among the inputs")
    return load_python_policy(stored, settings["function"], layout)


PYTHON = AgentKind(
    name="python",
    build=build,
    fit=None,
    settings={
        "file": ("PythonFile", "a Python file (.py); it is run as your own code"),
        "function": ("str", "its name in the file"),
    },
    doc="one's own function in a Python file",
    file=True,
    runs_code=True,
)
