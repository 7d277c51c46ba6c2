"""What goes wrong over the whole run: which criteria, rules and graders fail how often, each with its words. The counts
come from the store, the words from one result that shows each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade
from howsure.model.verdict import Verdict
from howsure.reports.inert import one_line
from howsure.store.browsing import Failing
from howsure.store.store import Store
from howsure.web.filtering import ALL, Filter

SHOWN = 10
LOOKED_AT = 14
BROKEN_LOOKED_AT = 20
LONGEST = 200
KINDS = {"rubric": "RUBRIC", "criteria": "CRITERIA", "weighted_criteria": "CRITERIA"}
SEVERITIES = ("high", "medium", "low", "")
MARKS = {"failed": "failed", "error": "errored"}


class CommonFailure(Struct, frozen=True, kw_only=True):
    """Something that went wrong in `number` results; `query` is the filter that shows them, `part_id` what the file
    calls the criterion or rule."""

    mark: str
    kind: str
    grader: str
    text: str
    severity: str
    component: str
    number: int
    query: str


async def common_failures(store: Store, run: Run, found: Sequence[Failing]) -> tuple[CommonFailure, ...]:
    shown = worth_showing(found)[:LOOKED_AT]
    places = sorted({place for each in shown for place in (each.first, each.last)})
    known = {result.position: result for result in await store.browsing.at(run.id, places)}
    broken = await store.results(run.id, limit=BROKEN_LOOKED_AT, verdict=Verdict.ERRORED) if run.counts.errored else []
    return (*told(shown, known)[:SHOWN], *broke(broken, run.counts.errored))


def worth_showing(found: Sequence[Failing]) -> list[Failing]:
    """Parts speak for their grader."""
    spoken = {each.name for each in found if each.part_id is not None}
    return [each for each in found if each.part_id is not None or each.name not in spoken]


def told(found: Sequence[Failing], known: Mapping[int, Result]) -> list[CommonFailure]:
    """In words. Where cases have criteria of their own under the same ids, these are counted together: their ids say
    nothing across cases."""
    said: list[CommonFailure] = []
    own: Counter[tuple[str, str]] = Counter()
    for each in found:
        first, last = (_grade(known.get(place), each) for place in (each.first, each.last))
        if first is None:
            continue
        if each.part_id is not None and _words(first) != _words(last or first):
            own[each.name, each.outcome] += each.number
        else:
            said.append(_common(each, first))
    said += [_of_each_case(name, outcome, number) for (name, outcome), number in own.items()]
    return sorted(said, key=lambda each: (-each.number, SEVERITIES.index(each.severity)))


def _grade(result: Result | None, failing: Failing) -> Grade | None:
    own = [grade for grade in result.grades if grade.name == failing.name] if result else []
    return next((grade for grade in own if (grade.part.id if grade.part else None) == failing.part_id), None)


def _words(grade: Grade) -> str:
    return grade.part.text if grade.part else grade.name


def _common(failing: Failing, grade: Grade) -> CommonFailure:
    part = grade.part
    return CommonFailure(
        mark=MARKS[failing.outcome],
        kind=KINDS.get(failing.name, ""),
        grader=one_line(failing.name, LONGEST),
        text=one_line(part.text or part.id, LONGEST) if part else "",
        severity=part.severity.value if part and part.severity else "",
        component=one_line(part.scope, LONGEST) if part else "",
        number=failing.number,
        query=Filter(verdict=ALL, grader=failing.name, part=failing.part_id or "").query(),
    )


def _of_each_case(name: str, outcome: str, number: int) -> CommonFailure:
    return CommonFailure(
        mark=MARKS[outcome],
        kind=KINDS.get(name, ""),
        grader=one_line(name, LONGEST),
        text="criteria of single cases",
        severity="",
        component="",
        number=number,
        query=Filter(verdict=ALL, grader=name).query(),
    )


def broke(results: Sequence[Result], errored: int) -> list[CommonFailure]:
    """What broke by itself, before anything could be graded."""
    kinds = Counter(
        (one_line(failure.kind, LONGEST), one_line(failure.message, LONGEST))
        for result in results
        for failure in result.failures
    )
    more = "" if errored <= len(results) else f" (of the first {len(results)} that errored)"
    return [
        CommonFailure(
            mark="errored",
            kind="",
            grader=kind,
            text=message + more,
            severity="",
            component="",
            number=number,
            query=Filter(verdict="errored").query(),
        )
        for (kind, message), number in kinds.most_common(4)
    ]
