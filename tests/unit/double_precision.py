"""Training in double precision, so that equality of two trainers does not depend on the machine.

Two orders of summing differ by rounding, and training amplifies it: Adam divides by the root of a
squared gradient, a maximum may switch. In float32 (rounding 2⁻²⁴) two equal trainers end up more
or less far apart, by the CPU's kernels. In double precision rounding is 2⁻⁵³, 5e8 times as small.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import torch

# Largest gap allowed, as a share of the largest move of a weight, beside the last place of float32
# in which the results are compared (2⁻²³ of the weight).
GAP, LAST_PLACE = 1e-8, 2.0**-23


@contextmanager
def double_precision() -> Iterator[None]:
    """Torch makes double precision, also where the code asks for float32 by `.float()`."""
    kept = torch.get_default_dtype()
    with mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(kept)
