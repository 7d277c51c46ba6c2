"""What came of one test's case, and what that means for the test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import pytest
from msgspec import Struct

from howsure.model.case import Case, opening
from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.reports.safe_text import one_line

LONGEST = 500
GRAVEST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED)


class CaseOutcome(Struct, frozen=True, kw_only=True, dict=True):
    """The results of one case: one for each repeat and candidate. `lenient`: a failed case does not fail its test, for
    the whole dataset is held to something."""

    case: Case
    results: tuple[Result, ...]
    run_id: str
    lenient: bool = False

    @cached_property
    def verdict(self) -> Verdict:
        """One failed repeat is a failed case; else one that broke is an errored one."""
        found = {result.verdict for result in self.results}
        return next((verdict for verdict in GRAVEST_FIRST if verdict in found), Verdict.PASSED)

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def result(self) -> Result:
        """The first that did not pass; the first of all where every one did."""
        return next((each for each in self.results if each.verdict is self.verdict), self.results[0])

    @property
    def answer(self) -> str:
        """What the agent said in `result`."""
        said = self.result.transcript
        return said.answer if said else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.result.reasons

    def __repr__(self) -> str:
        return f"<case {self.case.id!r}: {self.verdict.value}>"

    def settle_early(self) -> None:
        """Before the test's own asserts: what broke is an error, not a failure, and what nobody could judge neither."""
        if self.verdict is Verdict.ERRORED:
            pytest.fail("\n".join(self._lines()), pytrace=False)
        if self.verdict is Verdict.SKIPPED:
            pytest.skip("; ".join(one_line(reason, LONGEST) for reason in self.reasons))

    def settle(self) -> None:
        """After them."""
        if self.verdict is Verdict.FAILED:
            if self.lenient:
                pytest.xfail("; ".join(one_line(reason, LONGEST) for reason in self.reasons))
            pytest.fail("\n".join(self._lines()), pytrace=False)

    def _lines(self) -> Iterator[str]:
        passed = sum(result.verdict is Verdict.PASSED for result in self.results)
        several = f" ({passed} of {len(self.results)} attempts passed)" if len(self.results) > 1 else ""
        yield f"case {one_line(self.case.id)} {self.verdict.value}{several}"
        yield f"asked: {one_line(opening(self.case.input), LONGEST)}"
        if self.result.transcript is not None:
            yield f"said:  {one_line(self.answer, LONGEST)}"
        yield from (f"why:   {one_line(reason, LONGEST)}" for reason in self.reasons)
        yield f"more:  howsure show {self.run_id[:8]} {one_line(self.case.id)}"
