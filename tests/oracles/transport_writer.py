"""Writes SAS transport files (version 5) from the published layout, number by number.

TS-140, "The Record Layout of a Data Set in SAS Transport (XPORT) Format": records of 80 bytes,
numbers as IBM's base-16 floating point, a missing number as a full stop and zeros.
"""

import math
import struct
from collections.abc import Mapping, Sequence


def ibm_number(value: float) -> bytes:
    """Eight bytes: sign and excess-64 exponent of 16, then a fraction of 56 bits below one."""
    if math.isnan(value):
        return b"." + b"\0" * 7
    if value == 0:
        return b"\0" * 8
    sign, value = (0x80, -value) if value < 0 else (0, value)
    exponent = 0
    while value >= 1:
        value, exponent = value / 16, exponent + 1
    while value < 1 / 16:
        value, exponent = value * 16, exponent - 1
    return bytes([sign | (exponent + 64)]) + int(value * 2**56).to_bytes(7, "big")


def smallest_number() -> bytes:
    """The least positive number, about 5.4e-79, as which zero is sometimes written."""
    return bytes([0x00, 0x10]) + b"\0" * 6


def _padded(content: bytes, fill: bytes = b" ") -> bytes:
    return content + fill * (-len(content) % 80)


def transport_file(columns: Mapping[str, Sequence[float | bytes]]) -> bytes:
    """A library of one member with numeric columns; a cell may be eight bytes, as they stand."""
    stamp = b"01JAN20:00:00:00"
    names = list(columns)
    header = b"HEADER RECORD*******%-8sHEADER RECORD!!!!!!!%030d  "
    parts = [
        header % (b"LIBRARY", 0),
        b"SAS     SAS     SASLIB  9.4     LINUX   " + b" " * 24 + stamp,
        stamp + b" " * 64,
        b"HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!000000000000000001600000000140  ",
        header % (b"DSCRPTR", 0),
        b"SAS     TABLE   SASDATA 9.4     LINUX   " + b" " * 24 + stamp,
        stamp + b" " * 64,
        b"HEADER RECORD*******NAMESTR HEADER RECORD!!!!!!!000000%04d" % len(names)
        + b"0" * 20
        + b"  ",
    ]
    described = b""
    for k, name in enumerate(names):
        described += struct.pack(
            ">hhhh8s40s8shhh2s8shhl52s",
            1,
            0,
            8,
            k + 1,
            name.encode().ljust(8),
            b" " * 40,
            b" " * 8,
            0,
            0,
            0,
            b"\0\0",
            b" " * 8,
            0,
            0,
            8 * k,
            b"\0" * 52,
        )
    parts += [_padded(described), header % (b"OBS", 0)]
    rows = b"".join(
        cell if isinstance(cell, bytes) else ibm_number(cell)
        for row in zip(*columns.values(), strict=True)
        for cell in row
    )
    return b"".join(parts) + _padded(rows)
