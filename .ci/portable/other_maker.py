"""A copy of PyTorch whose MKL takes this CPU for one of the other maker: AMD for Intel, and back.

MKL asks the processor for its maker's name, twelve letters in three registers, and compares it with
"GenuineIntel"; on others it runs other kernels. The copy has the letters of both names swapped
wherever code compares them. It runs at full speed and has what emulators lack, AVX-512.
"""

import re
from pathlib import Path

INTEL, AMD = (b"Genu", b"ineI", b"ntel"), (b"Auth", b"enti", b"cAMD")
NEAR = 96  # bytes of code within which the three parts of a name are compared
LIBRARY = "lib/libtorch_cpu.so"


def copy_with_swapped_names(torch: Path, site: Path) -> int:
    """Make `site/torch`, of links but for one library; the number of places that were swapped."""
    own = site / "torch"
    (own / "lib").mkdir(parents=True)
    for path in [*torch.iterdir(), *(torch / "lib").iterdir()]:
        relative = path.relative_to(torch)
        if relative.as_posix() not in {"lib", LIBRARY}:
            (own / relative).symlink_to(path)
    code = bytearray((torch / LIBRARY).read_bytes())
    swapped = _places(code, INTEL, AMD) | _places(code, AMD, INTEL)
    for at, letters in swapped.items():
        code[at : at + 4] = letters
    (own / LIBRARY).write_bytes(code)
    return len(swapped)


def _places(code: bytearray, name: tuple, other: tuple) -> dict:
    """Where four letters of a maker's name stand in code, and what to write there instead."""
    found = {}
    for match in re.finditer(re.escape(name[0]), code):
        at = match.start()
        if code[at + 4 : at + 8] == name[1]:
            continue  # a text, not a comparison
        around = slice(max(at - NEAR, 0), at + NEAR)
        places = {
            around.start + part.start(): letters
            for own, letters in zip(name, other, strict=True)
            for part in re.finditer(re.escape(own), code[around])
        }
        if set(places.values()) == set(other):
            found |= places
    return found
