"""Where labelling begins: the runs that can be labelled, and how much of each who has done."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.reports.figures import counted, utc
from howsure.services.hosting.labelling import EACH
from howsure.store.service.keys import Scope
from howsure.store.service.labels import Labelled
from howsure.web.pages.library import told_time
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

LIMIT = 10


class RunLine(Struct, frozen=True, kw_only=True):
    """A run that can be labelled."""

    id: str
    name: str
    agent: str
    judge: str
    created: str
    failed: int
    passed: int
    done: tuple[tuple[str, int], ...]


class LabelHome(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    lines: tuple[RunLine, ...]
    offer: str
    may_label: bool


def label_home(runs: Sequence[Run], labelled: Sequence[Labelled], *, may_label: bool = True) -> LabelHome:
    done: dict[str, list[tuple[str, int]]] = {}
    for each in labelled:
        done.setdefault(each.run_id, []).append((each.labeler, each.number))
    lines = tuple(_line(run, done.get(run.id, ())) for run in runs if run.counts.completed)
    return LabelHome(answer=_answer(lines), lines=lines, offer=_offer(lines), may_label=may_label)


def _answer(lines: Sequence[RunLine]) -> str:
    if not lines:
        return "There is nothing to label yet: no run has results."
    number = sum(count for line in lines for _, count in line.done)
    people = {name for line in lines for name, _ in line.done}
    if not number:
        return f"Nobody has labelled anything of the last {counted(len(lines), 'run')} yet."
    by = f"by {counted(len(people), 'person')}".replace("persons", "people")
    return f"{counted(number, 'label')} {by} over the last {counted(len(lines), 'run')}."


def _offer(lines: Sequence[RunLine]) -> str:
    """The queue that one click begins."""
    if not lines:
        return ""
    newest = lines[0]
    return f"{min(EACH, newest.failed)} failed + {min(EACH, newest.passed)} passed of {newest.name}"


def _line(run: Run, done: Sequence[tuple[str, int]]) -> RunLine:
    return RunLine(
        id=run.id,
        name=run.name or run.id[:8],
        agent=run.pins.agent_key,
        judge=run.pins.judge,
        created=told_time(utc(run.created_at)),
        failed=run.counts.failed,
        passed=run.counts.passed,
        done=tuple(done),
    )


async def show(request: Request) -> Response:
    asking, store = caller_of(request), host_of(request).store
    runs = await store.runs(limit=LIMIT, within=asking.within)
    labelled = await store.labels.counts([run.id for run in runs], asking.within)
    return respond(request, "label-home.html", label_home(runs, labelled, may_label=asking.may(Scope.WRITE)))


def routes() -> list[Page]:
    return [Page("/label", show)]
