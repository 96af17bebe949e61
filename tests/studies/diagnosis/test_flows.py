"""Flows: exact inverse, log-determinant against autograd, density that integrates to one."""

import numpy as np
import pytest
import torch
from frugal.core.errors import DataError
from frugal.studies.diagnosis.flows import AffineFlow, log_density

pytestmark = pytest.mark.trains


def bent_flow(d: int, couplings: int = 6, *, size: float = 0.3) -> AffineFlow:
    """A flow that is no longer the identity, in double precision."""
    generator = torch.Generator().manual_seed(d)
    flow = AffineFlow(d, couplings=couplings, hidden=(16, 16), generator=generator).double()
    for parameter in flow.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data.add_(size * noise)
    return flow.requires_grad_(False)


@pytest.mark.parametrize("d", [2, 3, 8, 13])
def test_the_inverse_is_exact(d):
    flow = bent_flow(d)
    x = torch.randn(40, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    z, _ = flow.inverse(x)
    assert (z - x).abs().max() > 0.1  # it does something
    torch.testing.assert_close(flow(z)[0], x, rtol=0, atol=1e-10)
    torch.testing.assert_close(flow.inverse(flow(x)[0])[0], x, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [2, 5])
def test_log_determinant_is_that_of_the_jacobian(d):
    flow = bent_flow(d)
    x = torch.randn(5, d, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    z, log_det = flow.inverse(x)
    torch.testing.assert_close(flow(z)[1], -log_det, rtol=0, atol=1e-10)
    for row, value in zip(x, log_det, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda v: flow.inverse(v[None])[0][0], row)
        assert torch.linalg.slogdet(jacobian)[1] == pytest.approx(float(value), abs=1e-10)


def test_the_density_integrates_to_one():
    flow = bent_flow(2, size=0.15)
    mean = torch.tensor([0.3, -0.2], dtype=torch.float64)
    factor = torch.tensor([[1.1, 0.0], [0.4, 0.8]], dtype=torch.float64)
    line = torch.linspace(-12, 12, 301, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)
    total = log_density(flow, grid, mean, factor).exp().sum() * (line[1] - line[0]) ** 2
    # trapezoids of a smooth density that vanishes at the edge: the error is far below 1e-4
    assert float(total) == pytest.approx(1.0, abs=1e-4)


def test_an_untrained_flow_is_the_identity_with_the_base_density():
    flow = AffineFlow(4, couplings=32, hidden=(32, 32), generator=torch.Generator())
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(3))
    z, log_det = flow.inverse(x)
    assert torch.equal(z, x)
    assert not log_det.any()
    base = torch.distributions.MultivariateNormal(torch.zeros(4), torch.eye(4))
    torch.testing.assert_close(
        log_density(flow, x, torch.zeros(4), torch.eye(4)), base.log_prob(x), rtol=0, atol=1e-5
    )


def test_weights_come_back_from_their_vector():
    flow = bent_flow(5).float()
    again = AffineFlow.from_vector(flow.to_vector(), 5, couplings=6, hidden=(16, 16))
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(4))
    assert torch.equal(flow(x)[0], again(x)[0])
    assert not any(p.requires_grad for p in again.parameters())
    with pytest.raises(DataError, match="its shape needs"):
        AffineFlow.from_vector(np.zeros(3, dtype=np.float32), 5, couplings=6, hidden=(16, 16))


def test_one_coordinate_is_refused():
    with pytest.raises(DataError, match="at least 2 coordinates; there are 1"):
        AffineFlow(1, couplings=2, hidden=(4,), generator=torch.Generator())
