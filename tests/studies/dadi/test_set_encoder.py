"""The lock-step set encoder against the plain one, and what holds for every set encoder."""

import numpy as np
import pytest
import torch
from frugal.core.errors import DataError
from frugal.learn.lockstep import FlatParameters
from frugal.studies.dadi.set_encoder import EncoderSteps, cell_forward, encode, read_sets
from frugal.studies.dadi.token_memory import (
    FREE,
    UnitTable,
    encoder_shapes,
    lay_out_tokens,
    remember,
)

from tests.studies.dadi.plain_set_encoder import PlainSetEncoder
from tests.unit.double_precision import double_precision

pytestmark = pytest.mark.trains

# columns: 0 numeric, 1 numeric (free), 2–4 one-hot, 5 and 6 two yes/no questions in one panel,
# 7 yes/no (free)
PANEL = np.array([0, FREE, 1, 1, 1, 2, 2, FREE])
PANELS, HIDDEN, WIDTH, STEPS = 3, 7, 5, 4
LEARNERS, AGENTS, SETS = 2, 6, 3


def _table(rng: np.random.Generator, n: int) -> np.ndarray:
    values = np.zeros((n, len(PANEL)), dtype=np.float32)
    values[:, :2] = rng.normal(size=(n, 2))
    values[np.arange(n), 2 + rng.integers(3, size=n)] = 1
    values[:, 5:] = rng.integers(2, size=(n, 3))
    values[0, 2:5] = 0  # a category that has no column
    values[1, 0] = values[2, 6] = np.nan  # what the table itself lacks
    values[3, 2:5] = np.nan
    return values


def _known(rng: np.random.Generator, learners: int, n: int) -> torch.Tensor:
    known = torch.ones(learners, n, PANELS + 1)
    drawn = rng.random((learners, n, PANELS)) < rng.random((learners, n, 1))
    known[..., :-1] = torch.from_numpy(drawn.astype(np.float32))
    return known


def _columns_in_set(values: np.ndarray, known: torch.Tensor) -> np.ndarray:
    """Which columns are in each set, column by column. (k, n, d)"""
    member = np.zeros((*known.shape[:2], len(PANEL)), dtype=bool)
    for column, panel in enumerate(PANEL):
        revealed = np.ones(known.shape[:2]) if panel == FREE else known[..., panel].numpy()
        member[..., column] = (revealed > 0) & ~np.isnan(values[..., column])
    return member


def _plain_and_fast(encoders: int) -> tuple[list[PlainSetEncoder], FlatParameters]:
    torch.manual_seed(3)  # of the oracle's own first weights
    plain = [PlainSetEncoder(len(PANEL), HIDDEN, WIDTH, STEPS) for _ in range(encoders)]
    for encoder in plain:
        for parameter in encoder.parameters():
            parameter.data.mul_(3)  # away from a nearly constant function
    shapes = encoder_shapes(len(PANEL), HIDDEN, WIDTH)
    stack = FlatParameters({f"e.{name}": (encoders, *s) for name, s in shapes.items()}, traced=True)
    for name in shapes:
        together = torch.stack([encoder.parameters_by_name()[name] for encoder in plain])
        stack.views[f"e.{name}"].data.copy_(together.detach())
    return plain, stack


def _fast_encodings(stack, table, row, knowns, steps):
    """Encodings of several sets of the same units, for 2 k encoders of k learners."""
    memory = remember(stack.views, "e.", table.tokens(row))
    readings = []
    for known in knowns:
        member = table.members(table.holdings(row), known)
        readings.append(
            read_sets(stack.views, "e.", memory, member, processing_steps=STEPS, steps=steps)
        )
    return encode(stack.views, "e.", memory, readings, steps=steps)


def _case(steps):
    rng = np.random.default_rng(0)
    values = _table(rng, 20)
    table = UnitTable(lay_out_tokens(values, PANEL), PANELS)
    row = torch.from_numpy(rng.integers(4, 20, size=(LEARNERS, AGENTS)))
    row[0, :4] = torch.arange(4)
    knowns = [_known(rng, LEARNERS, AGENTS) for _ in range(SETS)]
    knowns[0][..., :-1] = 0
    plain, stack = _plain_and_fast(2 * LEARNERS)
    fast = _fast_encodings(stack, table, row, knowns, steps)
    slow = []
    for g, encoder in enumerate(plain):
        units = values[row[g % LEARNERS].numpy()]
        by_set = []
        for known in knowns:
            member = _columns_in_set(units[None], known[g % LEARNERS][None])[0]
            given = torch.from_numpy(np.nan_to_num(units)).to(encoder.gates.weight.dtype)
            by_set.append(encoder(given, torch.from_numpy(member)))
        slow.append(torch.stack(by_set, dim=1))
    return plain, stack, torch.stack(slow), fast


def _gradients(encoder: PlainSetEncoder) -> dict[str, torch.Tensor]:
    """Gradients of the plain encoder under the names and in the shapes of the fast one."""
    copy = PlainSetEncoder(encoder.columns, HIDDEN, encoder.width, encoder.steps)
    copy.to(encoder.gates.weight.dtype)
    for parameter, source in zip(copy.parameters(), encoder.parameters(), strict=True):
        assert source.grad is not None
        parameter.data.copy_(source.grad)
    return {name: leaf.detach() for name, leaf in copy.parameters_by_name().items()}


def _assert_same_function(steps):
    plain, stack, slow, fast = _case(steps)
    assert slow.abs().max() > 0.1
    assert (fast - slow).abs().max() < 1e-13 * max(1, float(slow.detach().abs().max()))
    weight = torch.randn(slow.shape, generator=torch.Generator().manual_seed(1))
    (slow * weight).sum().backward()
    (fast * weight).sum().backward()
    for name in encoder_shapes(len(PANEL), HIDDEN, WIDTH):
        expected = torch.stack([_gradients(encoder)[name] for encoder in plain])
        found = stack.views[f"e.{name}"].grad
        assert found is not None
        scale = float(expected.abs().max())
        assert scale > 0, name
        assert float((found - expected).abs().max()) < 1e-12 * scale, name


@double_precision()
def test_encodings_and_gradients_equal_those_of_the_plain_encoder():
    """Sums of a few hundred terms in another order: 450 times their rounding, 2⁻⁵² · 10 at most."""
    _assert_same_function(EncoderSteps())


@double_precision()
def test_the_cell_that_is_compiled_is_the_same_function():
    """Without the compiler, which needs seconds: the one that runs in place is not compiled."""
    _assert_same_function(EncoderSteps(forward=cell_forward))


def test_the_empty_set_is_encoded_as_zero():
    rng = np.random.default_rng(1)
    panel = np.where(PANEL == FREE, 0, PANEL)
    table = UnitTable(lay_out_tokens(_table(rng, 4), panel), PANELS)
    _, stack = _plain_and_fast(2)
    known = torch.zeros(1, 4, PANELS + 1)
    known[..., -1] = 1
    fast = _fast_encodings(stack, table, torch.arange(4)[None], [known], EncoderSteps())
    assert (fast == 0).all()


def test_a_value_outside_the_set_changes_nothing():
    """Bit for bit: what is not a member has weight exactly 0."""
    rng = np.random.default_rng(4)
    values = _table(rng, 10)
    values[np.isnan(values)] = 0
    _, stack = _plain_and_fast(2)
    known = torch.ones(1, 10, PANELS + 1)
    known[..., 0] = known[..., 1] = 0
    other = values.copy()
    other[:, 0] += 1
    other[:, 2:5] = np.roll(other[:, 2:5], 1, axis=1)
    both = [
        _fast_encodings(
            stack,
            UnitTable(lay_out_tokens(v, PANEL), PANELS),
            torch.arange(10)[None],
            [known],
            EncoderSteps(),
        )
        for v in (values, other)
    ]
    assert torch.equal(*both)


def test_a_table_is_refused_that_its_panels_do_not_fit():
    values = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(DataError, match="2 columns, but the table has 3"):
        lay_out_tokens(values, np.array([0, 1]))
    with pytest.raises(DataError, match="panel -2"):
        lay_out_tokens(values, np.array([0, 1, -2]))
    values[0, 1] = np.inf
    with pytest.raises(DataError, match="infinite"):
        lay_out_tokens(values, np.array([0, 1, 1]))


def _one_set_each():
    rng = np.random.default_rng(6)
    table = UnitTable(lay_out_tokens(_table(rng, 8), PANEL), PANELS)
    _, stack = _plain_and_fast(2)
    knowns = [_known(rng, 1, 8) for _ in range(3)]
    return stack, _fast_encodings(stack, table, torch.arange(8)[None], knowns, EncoderSteps())


def test_a_gradient_may_come_in_any_layout():
    """The same numbers, stored in another order, give the same gradient to the byte."""
    found = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2)):
        stack, encoding = _one_set_each()
        weight = torch.randn(encoding.shape, generator=torch.Generator().manual_seed(1))
        stored = weight.permute(order).contiguous().permute(np.argsort(order).tolist())
        encoding.backward(stored)
        found.append([leaf.grad for leaf in stack.views.values()])
    assert found[0][0].abs().max() > 0
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_what_the_gradient_does_not_cover_is_refused():
    """A second derivative, and weights that changed since the sets were read."""
    stack, encoding = _one_set_each()
    (slope,) = torch.autograd.grad(
        encoding.square().sum(), [stack.views["e.cell"]], create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()
    stack, encoding = _one_set_each()
    with torch.no_grad():
        stack.views["e.cell"].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        encoding.sum().backward()


def test_no_unit_has_no_encoding():
    table = UnitTable(lay_out_tokens(_table(np.random.default_rng(6), 8), PANEL), PANELS)
    _, stack = _plain_and_fast(2)
    row, known = torch.empty(1, 0, dtype=torch.int64), torch.ones(1, 0, PANELS + 1)
    assert _fast_encodings(stack, table, row, [known], EncoderSteps()).shape == (2, 0, 1, WIDTH)
