# Inputs of the rules of afape: files of roll-outs and of portions of the seeds.

from frugal.core.declarations import declared
from frugal.studies.afape.portions import Portions, table_rows

PORTION = f"{SCENARIO}{{seeds}}"
PORTIONS = Portions(STUDY, table_rows(STUDY, MEASURED.rows))


def rollouts(name):
    """An input function: a file of every agent's rollouts, of the seeds of the job."""
    return lambda w: PORTIONS.rollouts(w.dataset, w.mechanism, name, w.seeds)


def all_rollouts(name):
    """An input function: the same of all seeds."""
    return lambda w: [
        path
        for seeds in PORTIONS.seeds(w.dataset)
        for path in PORTIONS.rollouts(w.dataset, w.mechanism, name, seeds)
    ]


def first_rollouts(name):
    """An input function: the same of those seeds among which the first one is."""
    return lambda w: PORTIONS.rollouts(w.dataset, w.mechanism, name, PORTIONS.seeds(w.dataset)[0])


def of_seeds(folder, name):
    """An input function: a file of each portion of the seeds."""
    return lambda w: PORTIONS.files(w.dataset, w.mechanism, folder, name)


def trained_policies(wildcards):
    """The stored policies of all agents that learn, in the order of the config."""
    paths = STUDY.policy_inputs(wildcards.dataset, wildcards.mechanism, list(STUDY.agents))
    return {name: outside(path) for name, path in paths.items()}


def agent_words():
    """Agent → what its kind does, in a sentence."""
    kinds = declared("frugal.acquire.policies", "AgentKind")
    chosen = {name: agent["kind"] for name, agent in STUDY.agents.items()}
    return {
        name: f"Its kind, {kind}: {kinds[kind].literals['doc']}." for name, kind in chosen.items()
    }
