"""A run that Python code holds in its hands: its numbers, its results when they are asked for, and what may be asked of
it: gates, comparisons, tables, pages. It shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.run import Counts
from howsure.model.summary import GateOutcome, GateRuling, Summary, worst_outcome
from howsure.reports.comparisons import comparison_markdown, comparison_sentence
from howsure.reports.notebooks import data_frame, grade_columns, notebook_html, result_columns
from howsure.reports.run_facts import run_sentence
from howsure.services.gate.gate import rule_on_gates
from howsure.services.python.background_loop import run_sync
from howsure.services.report import write_reports
from howsure.services.workspace import Workspace


class GateResults(Struct, frozen=True):
    """What came of gates. It is true where every one held: `assert run.gate("pass_rate >= 0.9")`."""

    rulings: tuple[GateRuling, ...]

    @property
    def outcome(self) -> GateOutcome:
        return worst_outcome(self.rulings)

    @property
    def held(self) -> bool:
        return self.outcome is GateOutcome.HELD

    @property
    def reason(self) -> str:
        return " ".join(each.reason for each in self.rulings)

    def __bool__(self) -> bool:
        return self.held

    def __repr__(self) -> str:
        rulings = "; ".join(f"{each.expression}: {each.outcome.value}. {each.reason}" for each in self.rulings)
        return f"<gate {rulings}>"


class RunComparison(Struct, frozen=True):
    """One run held against another. `sentence` is the answer; a notebook shows all of it."""

    comparison: Comparison
    sentence: str
    markdown: str

    def __repr__(self) -> str:
        return f"<comparison: {self.sentence}>"

    def _repr_markdown_(self) -> str:
        return self.markdown


class FinishedRun:
    """A run and its results. Everything is read from the store when it is asked for."""

    def __init__(self, work: Workspace, summary: Summary) -> None:
        self._work = work
        self.summary = summary

    @property
    def id(self) -> str:
        return self.summary.run.id

    @property
    def name(self) -> str:
        return self.summary.run.name

    @property
    def database(self) -> str:
        """Where it is kept; empty: in the folder's own `.howsure/howsure.db`."""
        return self._work.settings.database

    @property
    def counts(self) -> Counts:
        """total = passed + failed + errored + skipped + damaged + pending."""
        return self.summary.run.counts

    @property
    def pass_rate(self) -> float | None:
        """Of what could be judged; None where nothing could."""
        return self.counts.pass_rate

    @property
    def gates(self) -> GateResults:
        """What came of the gates the run was started with."""
        return GateResults(self.summary.gates)

    @property
    def passed(self) -> bool:
        """Whether every gate held; where there is none, whether every case passed."""
        if self.summary.gates:
            return self.gates.held
        return bool(self.counts.total) and self.counts.passed == self.counts.total

    @property
    def sentence(self) -> str:
        """What came of it, and how sure that is."""
        return run_sentence(self.summary)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """Every result, in the order of the cases."""

        async def read() -> tuple[Result, ...]:
            async with await self._work.store(read_only=True) as store:
                return tuple([each async for each in store.iterate(self.id)])

        return run_sync(read())

    def gate(self, *expressions: str) -> GateResults:
        """Hold it to gates: `run.gate("pass_rate >= 0.9")`. Decided on the whole 95 % interval."""
        if not expressions:
            raise PlanRefused("gate expects what to hold the run to, such as 'pass_rate >= 0.9'")
        return run_sync(self._gate(expressions))

    async def _gate(self, expressions: Sequence[str]) -> GateResults:
        async with await self._work.store(read_only=True) as store:
            return GateResults((await rule_on_gates(store, self.summary, expressions, pinned=False)).gates)

    def compare(self, other: FinishedRun | str, **options: Any) -> RunComparison:
        """Is this one better than `other` (a run, its id or name), worse, the same, or can nobody tell yet? Further
        arguments as in `howsure compare`: `by`, `candidates`, `margin`, `confidence`, `cluster`."""
        base = other if isinstance(other, str) else other.id
        # Comparing loads numpy and scipy: only who compares pays for that.
        comparing = import_module("howsure.services.compare.compare")
        done = run_sync(comparing.compare_runs(self._work, comparing.CompareRequest(runs=(base, self.id), **options)))
        sentence = " ".join(comparison_sentence(pair, done.unit) for pair in done.pairs)
        return RunComparison(done, sentence, comparison_markdown(done))

    def to_frame(self, library: str = "", *, of: str = "results") -> Any:
        """A table of the results, or of every grade (`of="grades"`), in pandas or polars: the one named, or the one
        that is installed."""
        if of not in ("results", "grades"):
            raise PlanRefused(f"to_frame expects of='results' or of='grades', not {of!r}")
        made = result_columns(self.summary, self.results) if of == "results" else grade_columns(self.results)
        return data_frame(made, library)

    def write(self, *paths: str | Path) -> list[Path]:
        """Write reports, each in the format of its ending: .html, .md, .csv, .jsonl …"""
        return run_sync(write_reports(self._work, self.id, [str(path) for path in paths]))

    def __len__(self) -> int:
        return self.counts.total

    def __bool__(self) -> bool:
        """A run is there, whatever it holds: ask `passed`."""
        return True

    def __repr__(self) -> str:
        return f"<run {self.id[:8]} {self.name!r}: {self.sentence}>"

    def _repr_html_(self) -> str:
        return notebook_html(self.summary, self.results)
