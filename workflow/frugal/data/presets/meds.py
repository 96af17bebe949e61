"""MEDS: events of subjects, as Parquet or text."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from frugal.data.long_files import LongFile
from frugal.data.long_formats import Preset


def _read(path: Path) -> LongFile:
    file = replace(LongFile.of(path), quantities=("numeric_value",))
    file.require_columns("subject_id", "time", "code", "numeric_value")
    cells = file.plain()
    text = pd.Series("", index=cells.index, dtype=object)
    if "text_value" in cells:
        text = cells["text_value"].mask(file.absent("text_value"), "")
    value = cells["numeric_value"].mask(cells["numeric_value"] == "", text)
    time = cells["time"].mask(file.absent("time"), "")
    # known from the start: GENDER//F is F of GENDER
    parts = cells["code"].str.rpartition("//")
    static = (time == "") & (value == "") & (parts[0] != "")
    rows = {
        "unit": pd.Series(file.names("subject_id", empty=True), dtype=object),
        "time": time,
        "name": cells["code"].mask(static, parts[0]),
        "value": value.mask(static, parts[2]),
    }
    events = int((value.eq("") & ~static).sum())
    remark = f"{file.name}: left out: {events:,} events without a value"
    remarks = (*file.remarks, *([remark] if events else []))
    return LongFile(file.name, pd.DataFrame(rows), file.lines, remarks=remarks)


MEDS = Preset(
    name="meds",
    holds="event",
    lacks={"unit": "'subject_id' is empty", "name": "'code' is empty"},
    read=_read,
)
