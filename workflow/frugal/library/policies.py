"""A policy, its decisions on the table, and its advice about new cases."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frugal.core.errors import DataError
from frugal.library.asked import Asked, require
from frugal.library.chain import bundle_of, made

if TYPE_CHECKING:
    import pandas as pd

    from frugal.acquire.bundles import CaseBundle


class _Advises:
    """Answers questions about new cases, from the bundle of a policy."""

    @cached_property
    def _read(self) -> "CaseBundle":
        raise NotImplementedError

    def advise(
        self,
        cases: "pd.DataFrame | str | Path",
        *,
        without: Sequence[str] = (),
        simulate: bool = False,
        id_column: str | None = None,
        rollout: int | None = None,
    ) -> "pd.DataFrame":
        """What to acquire next for each new case, its price, the belief, and why.

        Args:
            cases: the table's columns by their names in its file, or such a CSV, Excel or Parquet
                file; empty or NaN is not acquired yet.
            without: panels that cannot be had now.
            simulate: the whole path from nothing acquired, where the cases have the values.
            id_column: names the cases; by default the first column, if it is no feature.
            rollout: draw as the roll-out of this seed did, for the table's rows in their order.

        Returns:
            A row for each decision, as `python -m frugal advise --out` writes it.

        Raises:
            DataError: the cases are not cases of the policy's table, or a panel is none.
        """
        import pandas as pd

        from frugal.acquire.advice import advice_frame
        from frugal.data.cases import read_cases
        from frugal.run.advise import advise

        kinds = (str, Path, pd.DataFrame)
        require("cases", cases, kinds, "a data frame, or the path of a CSV")
        bundle = self._read
        read = read_cases(
            Path(cases) if isinstance(cases, str) else cases, bundle.cases,
            provides=bundle.layout.provides, id_column=id_column, whole=simulate,
        )  # fmt: skip
        told = advise(bundle, read, without, simulate=simulate, rollout=rollout)
        return advice_frame(bundle, read, told)


@dataclass(frozen=True, eq=False, repr=False)
class StoredPolicy(_Advises):
    """A policy that was kept as a folder.

    Attributes:
        bundle: the folder.
        function: file of one's own function, for a policy of kind `python`.
    """

    bundle: Path
    function: Path | None = None

    @cached_property
    def _read(self) -> "CaseBundle":
        from frugal.acquire.bundles import read_bundle

        return read_bundle(self.bundle, function=self.function)

    @property
    def kind(self) -> str:
        """One of docs/reference/agents.md."""
        return self._read.kind

    def __repr__(self) -> str:
        return f"StoredPolicy({str(self.bundle)!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Policy(_Advises):
    """A policy of one table and its missingness, trained if it is of a kind that learns.

    Attributes:
        asked: its config and folder.
        name: under which it is judged.
        of_answer: whether it is one that `decide` hands out, which learned on all rows.
    """

    asked: Asked
    name: str
    of_answer: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """As under `afape.agents` of a config."""
        return self.asked.study.agents[self.name]

    @property
    def kind(self) -> str:
        """One of docs/reference/agents.md."""
        return self.settings["kind"]

    @property
    def training(self) -> "pd.DataFrame | None":
        """The training curve; None for a kind that does not learn."""
        if self.name not in self.asked.study.trained_agents:
            return None
        return made(self.asked, "train_agent", agent=self.name)["training"]

    @property
    def bundle(self) -> Path:
        """The folder that `python -m frugal advise` and `export` take."""
        return bundle_of(self.asked, self.name, of_answer=self.of_answer)

    @cached_property
    def _read(self) -> "CaseBundle":
        from frugal.acquire.bundles import read_bundle

        return read_bundle(self.bundle, function=self.asked.study.own_files.get(self.name))

    def save(self, folder: str | Path) -> Path:
        """Keep the policy as a folder of its own, which `load_policy` reads anywhere.

        Raises:
            DataError: there is such a file or folder already.
        """
        place = Path(folder)
        if place.exists():
            raise DataError(f"{place} is there already; name a folder that is not")
        shutil.copytree(self.bundle, place)
        return place

    def __repr__(self) -> str:
        return f"Policy({self.name!r}, kind={self.kind!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Rollouts:
    """What a policy does on a table.

    Attributes:
        policy: whose decisions they are.
    """

    policy: Policy

    @property
    def blocked(self) -> "pd.DataFrame":
        """Run on the records: what is missing cannot be acquired. A row for each unit and seed."""
        return self._made["blocked"]

    @property
    def worlds(self) -> "pd.DataFrame":
        """Run on the full table, where there is one, and on imputed ones."""
        return self._made["worlds"]

    @property
    def decisions(self) -> "pd.DataFrame":
        """Every decision with its probability."""
        return self._made["decisions"]

    def __repr__(self) -> str:
        return f"Rollouts({self.policy.name!r})"

    @property
    def _made(self) -> Mapping[str, Any]:
        return made(self.policy.asked, "roll_out", agent=self.policy.name)
