"""Grading a run again: the same answers, judged by another judge or by another version of the rubric, as a new run that
can be held against this one. And the way from a run to its rubric, which the library keeps from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run import Run
from howsure.reports.figures import counted
from howsure.reports.header import judged_by
from howsure.services.hosting import steering
from howsure.services.hosting.host import Host
from howsure.services.hosting.ordering import Order
from howsure.services.hosting.regrading import keep_rubric, rubric_key
from howsure.store.service.catalog import Card
from howsure.store.service.keys import Scope
from howsure.web.pages.starting import Choice
from howsure.web.pages.steering import offered_judges
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, form_of, host_of

MOST = 100
LONGEST = 200


class AgainPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `kept`: the library has the rubric of this run, so that it can be put better there."""

    answer: str
    trouble: str
    run_id: str
    run_name: str
    judges: tuple[Choice, ...]
    rubrics: tuple[Choice, ...]
    name: str
    has_rubric: bool


def again_page(
    run: Run, judges: Sequence[str], cards: Sequence[Card], given: Mapping[str, str], trouble: str = ""
) -> AgainPage:
    name = run.name or run.id[:8]
    answers = counted(run.counts.completed, "answer")
    return AgainPage(
        answer=f"The {answers} of {name} are judged anew, as a new run. The agent is not called.",
        trouble=trouble,
        run_id=run.id,
        run_name=name,
        judges=_judges(run, judges, given.get("judge", "")),
        rubrics=_rubrics(run, cards, given.get("rubric")),
        name=given.get("name", f"{name}, graded again"[:LONGEST]),
        has_rubric=run.pins.rubric is not None,
    )


def _judges(run: Run, judges: Sequence[str], chosen: str) -> tuple[Choice, ...]:
    before = Choice("", f"as before ({judged_by(run.pins)})", not chosen)
    return (before, *(Choice(each, each, each == chosen) for each in judges))


def _rubrics(run: Run, cards: Sequence[Card], chosen: str | None) -> tuple[Choice, ...]:
    """The newest versions of what the library has, that of the run first; as pinned, where the library has it not."""
    own, pinned = rubric_key(run.pins), run.pins.rubric
    ordered = sorted(cards, key=lambda card: card.id != own)
    if not any(card.id == own for card in cards):
        words = f"as before ({pinned.name} v{pinned.version})" if pinned else "none"
        first: tuple[Choice, ...] = (Choice("", words, not chosen),)
    else:
        first = ()
    wanted = own if chosen is None else chosen
    return (*first, *(Choice(card.id, _words(card, run, own), card.id == wanted) for card in ordered))


def _words(card: Card, run: Run, own: str) -> str:
    told = f"{card.name or card.id[:8]} v{card.version}"
    if card.id != own or run.pins.rubric is None:
        return told
    before = run.pins.rubric.version
    # A file counts its versions by itself: the library began anew with what the run had of it.
    return f"{told}, the newest (this run: {f'v{before}' if before <= card.version else f'v{before} of a file'})"


async def _page(request: Request, given: Mapping[str, str], trouble: str = "", status: int = 200) -> Response:
    host, within = host_of(request), caller_of(request).within
    run = await host.store.run(request.path_params["run_id"], within)
    cards = await _cards(host, run, within)
    return respond(request, "again.html", again_page(run, offered_judges(host), cards, given, trouble), status)


async def _cards(host: Host, run: Run, within: AccessScope) -> list[Card]:
    return await host.store.catalog.cards(DocumentKind.RUBRIC, limit=MOST, within=within)


async def show(request: Request) -> Response:
    return await _page(request, dict(request.query_params))


async def grade(request: Request) -> Response:
    """A new run over the same answers, and on to its page."""
    host, given = host_of(request), await form_of(request)
    change = Order(
        judge=given.get("judge", "").strip(),
        rubric_id=given.get("rubric", ""),
        name=given.get("name", "").strip()[:LONGEST],
    )
    try:
        made = await steering.regrade(host, request.path_params["run_id"], change, caller_of(request).within)
    except NotFound:
        raise
    except InputError as error:
        return await _page(request, given, str(error), 422)
    return RedirectResponse(f"/runs/{made.run.id}", 303)


async def rubric(request: Request) -> Response:
    """To the text of the run's rubric; where the library did not have it, it has now."""
    host, asking = host_of(request), caller_of(request)
    run = await host.store.run(request.path_params["run_id"], asking.within)
    kept = await keep_rubric(host, run, asking.name, asking.within)
    return RedirectResponse(f"/library/rubrics/{kept.id}/edit", 303)


def routes() -> list[Page]:
    return [
        Page("/runs/{run_id}/regrade", show, Scope.RUN),
        Page("/runs/{run_id}/regrade", grade, Scope.RUN, "POST"),
        Page("/runs/{run_id}/rubric", rubric, Scope.WRITE, "POST"),
    ]
