"""What one record can evaluate, by listing every acquisition order [afape, A.10]."""

from itertools import chain, permutations


def orders_within(available: list[int]) -> list[tuple[int, ...]]:
    """Every order in which some of the available panels can be acquired before stopping."""
    return list(chain.from_iterable(permutations(available, k) for k in range(len(available) + 1)))


def table_row(record: list[int]) -> dict[str, tuple[int, int]]:
    """(n_trajectories, n_runs) per view for one record of 0/1 indicators."""
    available = [j for j, r in enumerate(record) if r]
    inside = orders_within(available)
    exactly = [u for u in inside if len(u) == len(available)]
    sets = {frozenset(u) for u in inside}
    complete = len(available) == len(record)
    return {
        "off_policy_sequence": (1, 1),
        "off_policy_set": (len(exactly), 1),
        "black_box": (len(inside), len(sets)) if complete else (0, 0),
        "off_environment_bandit": (len(inside), len(sets)),
        "off_environment_sequence": (len(inside), len(inside)),
    }
