"""What policies cost by the records, and what that comes to."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.library.asked import Asked
from frugal.library.chain import made, page_of
from frugal.library.policies import Policy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class _Judged:
    """Policies that were judged.

    Attributes:
        asked: their config and folder.
    """

    asked: Asked

    @property
    def policies(self) -> list[str]:
        """Names of the policies that were judged."""
        return list(self.asked.study.agents)

    @property
    def folder(self) -> Path | None:
        """In which `results/` lies, as after `snakemake decide`; None where all is in memory."""
        return self.asked.folder

    def _require(self, name: str) -> None:
        """Refuse a name of no policy.

        Raises:
            ConfigError: no policy of that name was judged.
        """
        if name not in self.policies:
            raise ConfigError(
                f"there is no policy {name!r}; judged were {listed(self.policies)}"
                f"{did_you_mean(name, self.policies)}"
            )

    def __repr__(self) -> str:
        own = type(self).__name__
        return f"{own}({self.asked.decision.dataset!r}, policies={self.policies})"


@dataclass(frozen=True, eq=False, repr=False)
class Answer(_Judged):
    """What to do with a table: which policy, what it costs and saves, and how sure that is."""

    @property
    def document(self) -> dict[str, Any]:
        """The answer under stable names, as `answer.json`."""
        return made(self.asked, "write_answer")["document"]

    @property
    def best(self) -> str:
        """The policy to use."""
        return str(self.document["policy"])

    @property
    def state(self) -> str:
        """How sure it is: best, good_enough, short_list or open."""
        return str(self.document["state"])

    def summary(self) -> str:
        """The answer in at most twelve lines, as `verdict.txt`."""
        return made(self.asked, "write_answer")["text"].decode()

    @property
    def outcomes(self) -> "pd.DataFrame":
        """Cost of every policy with its interval, split into panels and errors; a row each."""
        return made(self.asked, "judge_candidates")["outcomes"]

    @property
    def page(self) -> Path:
        """The whole answer as one page of HTML, with its picture."""
        return page_of(self.asked)

    def policy(self, name: str) -> Policy:
        """One of the policies, which learned on all rows, to be asked about new cases.

        Raises:
            ConfigError: no policy of that name was judged.
        """
        self._require(name)
        return Policy(self.asked, name, of_answer=True)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(_Judged):
    """Policies, judged by every estimator of the study."""

    @property
    def verdict(self) -> str:
        """Which policy to use, at what cost and how sure; as `results/summary/verdict.txt`."""
        return made(self.asked, "give_verdicts")["sentence"].decode().strip()

    @property
    def best(self) -> str | None:
        """The policy that the verdict of the first scenario names; None where it names none."""
        return str(self.verdicts["agent"].iloc[0]) or None

    @property
    def estimates(self) -> "pd.DataFrame":
        """Cost per unit by policy, estimator and seed; as `results/summary/afape.parquet`."""
        return made(self.asked, "summarise_afape")["summary"]

    @property
    def comparisons(self) -> "pd.DataFrame":
        """Differences between policies on the same rows; `results/summary/comparisons.parquet`."""
        return made(self.asked, "give_verdicts")["comparisons"]

    @property
    def groups(self) -> "pd.DataFrame":
        """Costs and error rates of each group; `results/summary/groups.parquet`."""
        return made(self.asked, "give_verdicts")["groups"]

    @property
    def sensitivity(self) -> "pd.DataFrame":
        """How far hidden causes would move estimates; `results/summary/sensitivity.parquet`."""
        return made(self.asked, "give_verdicts")["sensitivity"]

    @property
    def verdicts(self) -> "pd.DataFrame":
        """The verdict of each seed in columns; `results/summary/verdicts.parquet`."""
        return made(self.asked, "give_verdicts")["verdicts"]

    @property
    def graph_check(self) -> "pd.DataFrame":
        """Where the records contradict what is assumed of the gaps."""
        return made(self.asked, "check_graph")["graph_check"]

    def policy(self, name: str) -> Policy:
        """One of the policies, to be asked about new cases.

        Raises:
            ConfigError: no policy of that name was judged.
        """
        self._require(name)
        return Policy(self.asked, name)
