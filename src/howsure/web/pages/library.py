"""The library: what do we ask? Test sets, rubrics, question sets and datasets, each with its newest version and why it
was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NotFound
from howsure.model.document import DocumentKind
from howsure.reports.figures import counted, utc
from howsure.store.service.catalog import Card, cursor
from howsure.store.service.keys import Scope
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of, place_in, place_of

LIMIT = 50


class Shelf(Struct, frozen=True):
    """One kind of document, as addresses and people call it."""

    slug: str
    kind: DocumentKind
    word: str
    words: str

    @property
    def address(self) -> str:
        return f"/library/{self.slug}"

    def of(self, key: str) -> str:
        """The address of one of its documents."""
        return f"{self.address}/{quote(key, safe='')}"


SHELVES = (
    Shelf("test-sets", DocumentKind.TEST_SET, "test set", "test sets"),
    Shelf("datasets", DocumentKind.DATASET, "dataset", "datasets"),
    Shelf("question-sets", DocumentKind.QUESTION_SET, "question set", "question sets"),
    Shelf("rubrics", DocumentKind.RUBRIC, "rubric", "rubrics"),
)


class DocumentLine(Struct, frozen=True, kw_only=True):
    """One document."""

    name: str
    address: str
    agent_id: str
    version: int
    changed: str
    author: str
    note: str
    holds: str


class LibraryPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    shelf: Shelf
    shelves: tuple[Shelf, ...]
    lines: tuple[DocumentLine, ...]
    further: str
    may_write: bool


def library_page(
    shelf: Shelf, cards: Sequence[Card], counts: Mapping[str, int], *, further: str = "", may_write: bool = True
) -> LibraryPage:
    told = counted(len(cards), shelf.word) + (" and more" if further else "")
    return LibraryPage(
        answer=f"{told}, newest first." if cards else f"No {shelf.words} yet.",
        shelf=shelf,
        shelves=SHELVES,
        lines=tuple(_line(shelf, card, counts) for card in cards),
        further=further,
        may_write=may_write,
    )


def _line(shelf: Shelf, card: Card, counts: Mapping[str, int]) -> DocumentLine:
    return DocumentLine(
        name=card.name or card.id[:8],
        address=shelf.of(card.id),
        agent_id=card.agent_id,
        version=card.version,
        changed=told_time(utc(card.updated_at)),
        author=card.author,
        note=card.note,
        holds=_holds(card, counts),
    )


def _holds(card: Card, counts: Mapping[str, int]) -> str:
    if card.id in counts:
        return f"{counted(counts[card.id], 'case')}, {card.dialect}"
    return f"{max(1, round(card.size / 1000)):,} kB"


def told_time(moment: str | None) -> str:
    """`2026-11-15 13:30`, in UTC."""
    return (moment or "")[:16].replace("T", " ")


def shelf_of(request: Request) -> Shelf:
    slug = request.path_params["shelf"]
    found = next((shelf for shelf in SHELVES if shelf.slug == slug), None)
    if found is None:
        raise NotFound(f"the library has no shelf {slug!r}: {', '.join(shelf.slug for shelf in SHELVES)} are there")
    return found


async def show(request: Request) -> Response:
    asking, store, shelf = caller_of(request), host_of(request).store, shelf_of(request)
    place = place_in(request.query_params.get("after", ""))
    cards = await store.catalog.cards(shelf.kind, limit=LIMIT, before=place, within=asking.within)
    counts: dict[str, int] = {}
    if shelf.kind is DocumentKind.DATASET:
        found = await store.dataset_cases.count(cards)
        counts = {card.id: found.get((card.organization_id, card.id), 0) for card in cards}
    full = len(cards) == LIMIT
    further = f"{shelf.address}?{urlencode({'after': place_of(cursor(cards[-1]))})}" if full else ""
    page = library_page(shelf, cards, counts, further=further, may_write=asking.may(Scope.WRITE))
    return respond(request, "library.html", page)


def routes() -> list[Page]:
    return [Page("/library/{shelf}", show)]
