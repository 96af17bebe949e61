"""Arguments that parts of the answer add, for type checkers and completion.

Made by `python -m frugal reference` from the declarations of `answer/parts/`; not edited by hand.
"""

from pathlib import Path
from typing import TypedDict


class PartOptions(TypedDict, total=False):
    """Arguments of parts of the answer; see `load`."""

    panel_worth: bool | None
    refer: float | None
    refer_risk: float | None
    audit_habit: bool | None
    design: int | None
    cases_a_year: float | None
    years: float | None
    record_price: float | None
    record_set_up: float | None
    transport: str | Path | None
