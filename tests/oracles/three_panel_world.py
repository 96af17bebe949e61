"""Three yes/no panels, every policy written out, and exact losses of what each set reveals."""

import itertools

import numpy as np

PANELS = 3
STOP = PANELS


def all_policies(left: tuple[int, ...]):
    """Every deterministic policy over the panels left: "stop", or a panel and what follows on 0, 1.

    244 policies for three panels.
    """
    yield STOP
    for panel in left:
        rest = tuple(p for p in left if p != panel)
        follow = list(all_policies(rest))
        for on_zero, on_one in itertools.product(follow, follow):
            yield panel, on_zero, on_one


def decisions_of(policy, x) -> tuple[int, ...]:
    """Panels that the policy acquires for a unit with answers x, then STOP."""
    taken = []
    while policy != STOP:
        panel, on_zero, on_one = policy
        taken.append(panel)
        policy = on_one if x[panel] else on_zero
    return (*taken, STOP)


class ThreePanelWorld:
    """A joint law p(x, y, b) of three answers, a label and a sensitive attribute."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.law = rng.dirichlet(np.full(2 ** (PANELS + 2), 0.7)).reshape((2,) * (PANELS + 2))
        self.units = list(itertools.product((0, 1), repeat=PANELS + 2))

    def losses(self, unit, acquired) -> tuple[float, float]:
        """−log p(y | x_O) and −log p(b | x_O) of the posterior itself."""
        at = tuple(unit[p] if p in acquired else slice(None) for p in range(PANELS))
        joint = self.law[at].reshape(-1, 2, 2).sum(axis=0)
        joint = joint / joint.sum()
        y, b = unit[PANELS], unit[PANELS + 1]
        return -np.log(joint.sum(axis=1)[y]), -np.log(joint.sum(axis=0)[b])
