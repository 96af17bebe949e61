"""What Slurm prints is read as it is meant; its words as seen in 22.05."""

import pytest
from frugal_slurm import states
from frugal_slurm.states import Cluster, Seen, SlurmSilentError

CONFIG = """Configuration data as of 2026-11-25T00:11:02
AccountingStorageHost   = localhost
AccountingStorageType   = {kind}
MinJobAge               = {age} sec
"""


class Asked:
    """Answers as told, and keeps what was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.words = []

    def __call__(self, words):
        self.words = words
        return self.answer


@pytest.mark.parametrize(
    ("kind", "age", "cluster", "pause"),
    [
        ("accounting_storage/slurmdbd", 300, Cluster(True, 300), 180),
        ("accounting_storage/slurmdbd", 2, Cluster(True, 2), 180),
        ("accounting_storage/none", 300, Cluster(False, 300), 100),
        ("(null)", 0, Cluster(False, None), 180),
        ("accounting_storage/none", 3000, Cluster(False, 3000), 180),
    ],
)
def test_a_cluster_is_known_by_its_accounts_and_its_memory(kind, age, cluster, pause):
    found = states.read_cluster(Asked(CONFIG.format(kind=kind, age=age)))
    assert found == cluster
    assert found.longest_pause_s == pause


def test_the_queue_is_asked_by_names_and_tells_why_a_job_waits():
    ask = Asked(
        "1|COMPLETED|b|None\n2|PENDING|a|ReqNodeNotAvail, UnavailableNodes:n2\n"
        "CLUSTER: frugal\n3_4|CANCELLED|a|x|y\n"
    )
    found = states.ask_queue({"b", "a"}, ["c2", "c1"], ask)
    assert found == {
        "1": Seen("1", "COMPLETED", "b", "None"),
        "2": Seen("2", "PENDING", "a", "ReqNodeNotAvail, UnavailableNodes:n2"),
        "3_4": Seen("3_4", "CANCELLED", "a", "x|y"),
    }
    assert [seen.alive for seen in found.values()] == [False, True, False]
    assert ask.words[-2:] == ["--name=a,b", "--clusters=c1,c2"]
    assert "--states=all" in ask.words


def test_accounts_are_asked_by_id_and_say_who_cancelled():
    ask = Asked("7|CANCELLED by 1000\n8|OUT_OF_ME+\n9|RUNNING\n")
    found = states.ask_accounts({"8", "7", "9"}, ask=ask)
    assert {i: seen.state for i, seen in found.items()} == {
        "7": "CANCELLED",
        "8": "OUT_OF_ME",
        "9": "RUNNING",
    }
    assert "--jobs=7,8,9" in ask.words
    steps = states.ask_steps("7", Asked("CANCELLED by 1000\nCANCELLED\n\n"))
    assert steps == ["CANCELLED by 1000", "CANCELLED"]


def test_nodes_that_take_no_job_are_named_with_their_reason():
    ask = Asked("n1|drained|disk swap\nn2|idle|none\nn3|down*|none\nn1|drained|disk swap\n")
    assert states.ask_unusable_nodes("main", ask) == ["n1 drained (disk swap)", "n3 down"]
    assert "--partition=main" in ask.words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sh", "-c", "echo 'no controller' >&2; exit 1"], "sh: no controller"),
        (["no-such-command"], "no-such-command: "),
    ],
)
def test_silence_is_an_error_of_its_own(words, said):
    with pytest.raises(SlurmSilentError, match=said):
        states.ask_slurm(words)


def test_an_answer_is_what_was_printed():
    assert states.ask_slurm(["echo", "1|2"]) == "1|2\n"
