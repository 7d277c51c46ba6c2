"""Which results of a run are shown, as the address says it: every filter is a part of the address, so that it can be
kept, sent and gone back to, and the case page knows what is next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace

from howsure.model.verdict import Verdict
from howsure.store.browsing import Chosen, Order

ALL = "all"
VERDICTS = tuple(verdict.value for verdict in Verdict)
LONGEST = 200
FIELDS = ("candidate", "grader", "part", "component", "fault", "tag", "q")


class Filter(Struct, frozen=True, kw_only=True):
    """As in the address; "" is what is not said. `candidate` and `component` may be the empty name: `-` says that."""

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

    def chosen(self, failed: int) -> Chosen:
        """What the store is asked for; where no verdict is said, the failures, if there are any."""
        verdict = self.shown_verdict(failed)
        return Chosen(
            verdicts=() if verdict == ALL else (verdict,),
            candidate=_named(self.candidate),
            grader=self.grader,
            part=self.part,
            component=_named(self.component),
            fault=self.fault,
            tag=self.tag,
            text=self.q,
            flaky=bool(self.flaky),
            order=Order(self.order or Order.WORST.value),
        )

    def shown_verdict(self, failed: int) -> str:
        if self.verdict:
            return self.verdict
        return Verdict.FAILED.value if failed and not self.said else ALL

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """The filters besides the verdict: name and value."""
        named = [(name, str(getattr(self, name))) for name in FIELDS if getattr(self, name)]
        return (*named, *((("flaky", "yes"),) if self.flaky else ()))

    def query(self, **changes: str) -> str:
        """The rest of an address that says the same, but for these changes."""
        return urlencode({name: value for name, value in asdict(replace(self, **changes)).items() if value})


def _named(word: str) -> str | None:
    return None if not word else "" if word == "-" else word


def name_of(word: str) -> str:
    """The other way round: how an address names a candidate or component."""
    return word or "-"


def filter_in(query: Mapping[str, str]) -> Filter:
    """What an address says; values that mean nothing are as if they were not said."""
    given: dict[str, Any] = {name: query.get(name, "")[:LONGEST] for name in FIELDS}
    verdict, order = query.get("verdict", ""), query.get("order", "")
    return Filter(
        **given,
        verdict=verdict if verdict in (*VERDICTS, ALL) else "",
        order=order if order in [each.value for each in Order] else "",
        flaky="yes" if query.get("flaky") else "",
    )
