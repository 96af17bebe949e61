"""Compiled: which actions another one replaces at no more cost, where only a cheaper set is sought.

Knows no unit and no search.
"""

from typing import no_type_check

import numba


@numba.njit(cache=True)
@no_type_check
def mark_dominated(lack, free, cost, links, providers, state, effect, shut_mark):
    """Mark in `state` free actions that give nothing, or no more than another that is as cheap.

    Args:
        lack: what each feature lacks; from 0 down where it is met. (d,)
        free: actions that may be taken, whose state is 0. (f,)
        cost: whole numbers, ascending. (a,)
        links: of each action its features and gains, see `lagrangian_tree.solve_choices`.
        providers: of each feature its actions.
        state: written. (a,)
        effect: zeros, and zeros again at the end. (d,)
        shut_mark: what is written.
    """
    first, feature, gain = links
    for i in free:
        rarest, wanted = -1, 0
        for k in range(first[i], first[i + 1]):
            j = feature[k]
            if lack[j] > 0:
                effect[j] = min(gain[k], lack[j])
                wanted += 1
                size = providers[0][j + 1] - providers[0][j]
                if rarest < 0 or size < providers[0][rarest + 1] - providers[0][rarest]:
                    rarest = j
        if wanted == 0:
            state[i] = shut_mark
            continue
        for p in range(providers[0][rarest], providers[0][rarest + 1]):
            other = providers[1][p]
            if cost[other] > cost[i]:
                break  # providers ascend in cost
            if other == i or state[other] != 0:
                continue
            met, more = 0, cost[other] < cost[i] or other < i
            for k in range(first[other], first[other + 1]):
                j = feature[k]
                if lack[j] > 0:
                    some = min(gain[k], lack[j])
                    met += effect[j] > 0 and some >= effect[j]
                    more = more or some > effect[j]
            if met == wanted and more:
                state[i] = shut_mark
                break
        for k in range(first[i], first[i + 1]):
            effect[feature[k]] = 0
