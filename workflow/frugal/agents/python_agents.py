"""The kind `python`: one's own function of what is known, what was acquired and what can be had.

The file is run as its owner's own code, with all that Python may do. It is loaded by its path, so
that nothing else is imported by its name. Must not know costs, labels or missingness.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.agents.kinds import AgentKind, Stored
from frugal.contracts import ConfigError, DataError
from frugal.contracts.layout import Layout

STOP = "stop"
SUM_TOLERANCE = 1e-6  # of a row of probabilities
_TOLD = 120  # characters of a foreign error that a sentence repeats


@dataclass(frozen=True, eq=False)
class PythonPolicy:
    """A function in a Python file as a policy.

    It is called as `function(values, acquired, available)` with three DataFrames of equally many
    rows: encoded columns, NaN where unknown; and True or False for each panel. It returns the
    probabilities of all panels and, last, of stopping (m, a + 1), or for each row the name of the
    next panel or "stop".

    Attributes:
        function: the function.
        path: of its file.
        line: of its definition.
        layout: columns and panels, in order.
    """

    function: Callable[..., Any]
    path: Path
    line: int
    layout: Layout

    @property
    def members(self) -> int:
        """1."""
        return 1

    def action_probabilities(
        self,
        values: Float[np.ndarray, "1 m d"],
        acquired: Bool[np.ndarray, "1 m a"],
        available: Bool[np.ndarray, "1 m a"],
    ) -> Float[np.ndarray, "1 m a+1"]:
        """What the function answers, checked, asked twice. (1, m, a + 1)

        Raises:
            DataError: it fails, or its answer is no law over what is allowed; one sentence names
                file, function and line.
        """
        answer = self._asked(values[0], acquired[0], available[0])
        again = self._asked(values[0], acquired[0], available[0])
        if not np.array_equal(answer, again):
            raise self._refusal(
                "answers otherwise when it is asked the same again; a policy leaves no chance "
                "beside the probabilities that it returns"
            )
        return answer[None]

    def predict(
        self, values: Float[np.ndarray, "1 m d"], acquired: Bool[np.ndarray, "1 m a"]
    ) -> None:
        """None: it has no verdict of its own."""
        del values, acquired

    def _asked(self, values: np.ndarray, acquired: np.ndarray, available: np.ndarray) -> np.ndarray:
        panels = [panel.name for panel in self.layout.actions]
        shown = pd.DataFrame(values.copy(), columns=list(self.layout.columns))
        sets = [pd.DataFrame(s.copy(), columns=panels) for s in (acquired, available)]
        try:
            found = self.function(shown, *sets)
        except Exception as error:
            where = _line_in(error, self.path) or self.line
            raise self._refusal(f"raises {_said(error)}", line=where) from error
        return self._law(found, acquired, available)

    def _law(self, found: Any, acquired: np.ndarray, available: np.ndarray) -> np.ndarray:
        """The answer as probabilities, checked. (m, a + 1)"""
        (m, a), names = acquired.shape, [panel.name for panel in self.layout.actions]
        answer = np.asarray(found)
        if answer.ndim == 1 and answer.dtype.kind in "OUT" and len(answer) == m:
            answer = self._named(answer.astype(str), [*names, STOP])
        if answer.shape != (m, a + 1):
            raise self._refusal(
                f"returns the shape {answer.shape}; allowed are {(m, a + 1)}, probabilities of the "
                f"{a} panels and of stopping, and {(m,)}, names of panels or {STOP!r}"
            )
        if answer.dtype.kind not in "fiub":
            raise self._refusal(f"returns entries of type {answer.dtype}; allowed are numbers")
        law = answer.astype(np.float64)
        if not np.isfinite(law).all() or (law < 0).any():
            bad = law[~np.isfinite(law) | (law < 0)][0]
            raise self._refusal(f"returns the probability {bad}; allowed are 0 to 1")
        gap = np.abs(law.sum(axis=1) - 1)
        if gap.max(initial=0.0) > SUM_TOLERANCE:
            total = law.sum(axis=1)[gap.argmax()]
            raise self._refusal(f"returns probabilities that sum to {total:.6g}; allowed is 1")
        taken = (law[:, :-1] > 0) & (acquired | ~available)
        if taken.any():
            row, panel = np.argwhere(taken)[0]
            why = "is acquired already" if acquired[row, panel] else "cannot be had there"
            raise self._refusal(f"acquires panel {names[panel]!r}, which {why}")
        return law

    def _named(self, answer: np.ndarray, names: list[str]) -> np.ndarray:
        odd = sorted(set(answer) - set(names))
        if odd:
            raise self._refusal(f"names {odd[0][:60]!r}; allowed are {', '.join(names)}")
        return np.eye(len(names))[[names.index(name) for name in answer]]

    def _refusal(self, what: str, *, line: int | None = None) -> DataError:
        at = self.line if line is None else line
        return DataError(f"{self.path}, line {at}: {self.function.__name__} {what}")


def load_python_policy(path: Path, name: str, layout: Layout) -> PythonPolicy:
    """One's own function as a policy.

    Args:
        path: of a Python file.
        name: of the function in it.
        layout: of the table on which it acts.

    Raises:
        ConfigError: the file cannot be read or run, or has no such function; one sentence names
            file and line.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a Python file: {_said(error)}") from error
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise ConfigError(f"{path}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        raise ConfigError(f"{path}, line {_line_in(error, path)}: {_said(error)}") from error
    function = module.__dict__.get(name)
    if not isinstance(function, types.FunctionType):
        own = [k for k, v in module.__dict__.items() if isinstance(v, types.FunctionType)]
        raise ConfigError(
            f"{path} has no function {name!r}; its functions are {', '.join(own) or 'none'}"
        )
    return PythonPolicy(function, path, function.__code__.co_firstlineno, layout)


def _line_in(error: BaseException, path: Path) -> int | None:
    """The last line of the file that an error passed through."""
    lines, at = [], error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(path):
            lines.append(at.tb_lineno)
        at = at.tb_next
    return lines[-1] if lines else None


def _said(error: BaseException) -> str:
    words = " ".join(str(error).split())[:_TOLD]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> PythonPolicy:
    if not isinstance(stored, Path):
        raise ConfigError("an agent of kind 'python' acts by its file; it is not among the inputs")
    return load_python_policy(stored, settings["function"], layout)


PYTHON = AgentKind(
    name="python",
    build=_build,
    fit=None,
    needs=("file", "function"),
    doc="one's own function in a Python file",
    file=True,
)
