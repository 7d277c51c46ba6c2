"""The runs: what changed, what needs me? Those that are going on first, then the newest, each with both its scores, how
sure they are, and its counts. Every filter is in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import RunState
from howsure.reports.figures import counted
from howsure.services.hosting.materials import is_reference, read_reference
from howsure.store.browsing import RunFace
from howsure.store.service.keys import Scope
from howsure.web.pages.runs_line import Line, line_of
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, gallery_of, host_of, place_in, place_of

LIMIT = 12
LOOKED_AT = 5000
OFFERED = 100
"""So many agents and test sets can be chosen from a list; others by what an address says."""
LIVE = (RunState.RUNNING, RunState.PENDING)
BROKEN = (RunState.FAILED, RunState.INTERRUPTED, RunState.OUT_OF_BUDGET)


class Wanted(Struct, frozen=True, kw_only=True):
    """The filters, as in the address."""

    status: str = ""
    agent_id: str = ""
    test: str = ""
    q: str = ""

    def query(self, **changes: str) -> str:
        return urlencode({name: value for name, value in asdict(replace(self, **changes)).items() if value})

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        words = {"status": "state", "agent_id": "agent", "test": "test set", "q": "search"}
        return tuple((words[name], value) for name, value in asdict(self).items() if value)


class Choice(Struct, frozen=True):
    """Something a filter can be set to, and how many runs it leaves."""

    value: str
    number: int
    chosen: bool


class RunsPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    lines: tuple[Line, ...]
    wanted: Wanted
    states: tuple[Choice, ...]
    agents: tuple[Choice, ...]
    tests: tuple[Choice, ...]
    total: int
    matching: int
    going: int
    further: str
    may_run: bool
    address: str
    cleared: tuple[tuple[str, str, str], ...]

    @property
    def is_live(self) -> bool:
        return bool(self.going) or any(line.is_live for line in self.lines)


def tests_of(face: RunFace) -> tuple[str, ...]:
    """What its test sets are called in an address: a document's id, or a file's name."""
    return _called(face.tests)


@lru_cache(maxsize=LOOKED_AT)
def _called(tests: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Every page looks at the tests of every run, and most runs are of the same."""
    return tuple(
        read_reference(path).id if is_reference(path) else name or path.rsplit("/", 1)[-1] for path, name in tests
    )


def live_first(found: Sequence[RunFace]) -> Sequence[RunFace]:
    """Those that are going on come first."""
    live = [face for face in found if face.state in LIVE]
    return [*live, *(face for face in found if face.state not in LIVE)] if live else found


def named(faces: Sequence[RunFace], words: str) -> Sequence[RunFace]:
    """Those in which the words are."""
    text = words.casefold()
    return [face for face in faces if text in _words(face.name, face.id, face.agent_id)] if text else faces


def chosen(faces: Sequence[RunFace], wanted: Wanted) -> Sequence[RunFace]:
    """Those that are like that, whatever their words."""
    filters = wanted.status or wanted.agent_id or wanted.test
    return [face for face in faces if _is_like(face, wanted)] if filters else faces


def _is_like(face: RunFace, wanted: Wanted) -> bool:
    return (
        (not wanted.status or face.state.value == wanted.status)
        and (not wanted.agent_id or face.agent_id == wanted.agent_id)
        and (not wanted.test or wanted.test in tests_of(face))
    )


@lru_cache(maxsize=LOOKED_AT)
def _words(*said: str) -> str:
    """What a search looks through; the same for every search."""
    return " ".join(said).casefold()


def following(faces: Sequence[RunFace], after: str | None) -> Sequence[RunFace]:
    """What comes after the run of this id; from the start where it is not there."""
    place = next((number for number, face in enumerate(faces, 1) if face.id == after), 0)
    return faces[place:]


def choices(found: Iterable[tuple[str, int]], chosen: str) -> tuple[Choice, ...]:
    """What a filter can be set to, with how many there are of each, the commonest first."""
    numbers: Counter[str] = Counter()
    for value, number in found:
        if value:
            numbers[value] += number
    if chosen:
        numbers.setdefault(chosen, 0)
    return tuple(Choice(value, number, value == chosen) for value, number in numbers.most_common(OFFERED))


def states_in(faces: Sequence[RunFace]) -> Iterable[tuple[str, int]]:
    states = [face.state for face in faces]
    return ((state.value, states.count(state)) for state in RunState if state in states)


def agents_in(faces: Sequence[RunFace]) -> Iterable[tuple[str, int]]:
    return Counter([face.agent_id for face in faces]).items()


def tests_in(faces: Sequence[RunFace]) -> Iterable[tuple[str, int]]:
    alike = Counter([face.tests for face in faces])
    return ((name, number) for tests, number in alike.items() for name in _called(tests))


class Found(Struct, frozen=True):
    """Of all runs those in which the words are, and of these those that are shown."""

    every: Sequence[RunFace]
    named: Sequence[RunFace]
    like: Sequence[RunFace]


def found_in(faces: Sequence[RunFace], wanted: Wanted) -> Found:
    among = named(faces, wanted.q)
    return Found(faces, among, live_first(chosen(among, wanted)))


def runs_page(
    runs: Found, lines: Sequence[Line], wanted: Wanted, *, further: str = "", may_run: bool = False
) -> RunsPage:
    faces, among, found = runs.every, runs.named, runs.like
    return RunsPage(
        answer=answer(faces, found, wanted),
        lines=tuple(lines),
        wanted=wanted,
        states=choices(states_in(chosen(among, replace(wanted, status=""))), wanted.status),
        agents=choices(agents_in(chosen(among, replace(wanted, agent_id=""))), wanted.agent_id),
        tests=choices(tests_in(chosen(among, replace(wanted, test=""))), wanted.test),
        total=len(faces),
        matching=len(found),
        going=sum(face.state in LIVE for face in found),
        further=further,
        may_run=may_run,
        address=f"/?{wanted.query()}" if wanted.said else "/",
        cleared=tuple(
            (word, value, f"/?{wanted.query(**{name: ''})}")
            for (word, value), name in zip(wanted.said, [n for n, v in asdict(wanted).items() if v], strict=True)
        ),
    )


def answer(faces: Sequence[RunFace], found: Sequence[RunFace], wanted: Wanted) -> str:
    if not faces:
        return "No runs yet."
    if not found:
        return f"No run is like that: {', '.join(f'{word} {value}' for word, value in wanted.said)}."
    states = [face.state for face in found]
    live, broken = (sum(map(states.count, kind)) for kind in (LIVE, BROKEN))
    told = f"{len(found):,} of {counted(len(faces), 'run')}" if wanted.said else counted(len(faces), "run")
    going = f"{live:,} going on" if live else "none going on"
    return f"{told}, {going}{f', {broken:,} that did not reach the end' if broken else ''}."


async def show(request: Request) -> Response:
    asking, query, gallery = caller_of(request), request.query_params, gallery_of(request)
    faces: Sequence[RunFace] = await request.app.state.run_faces(asking.within)
    wanted = wanted_in(dict(query))
    runs = found_in(faces, wanted)
    rest = following(runs.like, place_in(query.get("after", "")))
    shown = rest[:LIMIT]
    summaries = await gallery.these([face.id for face in shown])
    names = await gallery.names(summaries, asking.within)
    further = f"/?{urlencode([*_kept(wanted), ('after', place_of(shown[-1].id))])}" if len(rest) > LIMIT else ""
    own = await host_of(request).store.queue.own([face.id for face in shown])
    lines = [line_of(summary, names, own) for summary in summaries]
    page = runs_page(runs, lines, wanted, further=further, may_run=asking.may(Scope.RUN))
    return respond(request, "runs.html", page)


def _kept(wanted: Wanted) -> list[tuple[str, str]]:
    return [(name, value) for name, value in asdict(wanted).items() if value]


def wanted_in(query: dict[str, str]) -> Wanted:
    status = query.get("status", "")
    known = status in [state.value for state in RunState]
    return Wanted(
        status=status if known else "",
        agent_id=query.get("agent_id", "")[:200],
        test=query.get("test", "")[:200],
        q=query.get("q", "")[:200],
    )


def routes() -> list[Page]:
    return [Page("/", show)]
