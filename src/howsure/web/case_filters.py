"""The filters of the case list of a run. Every filter is part of the address, so that a filtered list can be bookmarked
and shared, and the page of a case knows which case is next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace

from howsure.model.verdict import Verdict
from howsure.store.result_lists import ResultFilter, ResultOrder

ALL = "all"
VERDICTS = tuple(verdict.value for verdict in Verdict)
MAX_LENGTH = 200
FIELDS = ("candidate", "grader", "part", "component", "fault", "tag", "q")


class CaseFilter(Struct, frozen=True, kw_only=True):
    """The filters as in the address; "" means any. `-` stands for a candidate or component without a name."""

    verdict: str = ""
    candidate: str = ""
    grader: str = ""
    part: str = ""
    component: str = ""
    fault: str = ""
    tag: str = ""
    q: str = ""
    flaky: str = ""
    order: str = ""

    def result_filter(self, failed: int) -> ResultFilter:
        """The filter for the store. Without a verdict it selects the failures, where there are any (`failed` > 0)."""
        verdict = self.shown_verdict(failed)
        return ResultFilter(
            verdicts=() if verdict == ALL else (verdict,),
            candidate=_stored_name(self.candidate),
            grader=self.grader,
            part=self.part,
            component=_stored_name(self.component),
            fault=self.fault,
            tag=self.tag,
            text=self.q,
            flaky=bool(self.flaky),
            order=ResultOrder(self.order or ResultOrder.WORST.value),
        )

    def shown_verdict(self, failed: int) -> str:
        if self.verdict:
            return self.verdict
        return Verdict.FAILED.value if failed and not self.active else ALL

    @property
    def active(self) -> tuple[tuple[str, str], ...]:
        """The name and value of every filter that is set, except the verdict."""
        named = [(name, str(getattr(self, name))) for name in FIELDS if getattr(self, name)]
        return (*named, *((("flaky", "yes"),) if self.flaky else ()))

    def query(self, **changes: str) -> str:
        """These filters with some changes, as the query of an address."""
        return urlencode({name: value for name, value in asdict(replace(self, **changes)).items() if value})


def _stored_name(value: str) -> str | None:
    return None if not value else "" if value == "-" else value


def filter_value(name: str) -> str:
    """A candidate or component as an address names it."""
    return name or "-"


def read_case_filter(query: Mapping[str, str]) -> CaseFilter:
    """The filters of an address; unknown values are ignored."""
    texts: dict[str, Any] = {name: query.get(name, "")[:MAX_LENGTH] for name in FIELDS}
    verdict, order = query.get("verdict", ""), query.get("order", "")
    return CaseFilter(
        **texts,
        verdict=verdict if verdict in (*VERDICTS, ALL) else "",
        order=order if order in [each.value for each in ResultOrder] else "",
        flaky="yes" if query.get("flaky") else "",
    )
