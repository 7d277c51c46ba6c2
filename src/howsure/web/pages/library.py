"""The library: test sets, datasets, question sets and rubrics, each with its newest version and the note on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NotFound
from howsure.model.document import DocumentKind
from howsure.reports.figures import iso_utc, pluralize
from howsure.store.documents import DocumentPreview
from howsure.store.keys import KeyScope
from howsure.store.pages import next_cursor
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, decode_cursor, encode_cursor, host_of

LIMIT = 50


class LibraryShelf(Struct, frozen=True):
    """One kind of document, with its name in addresses and in sentences."""

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
    LibraryShelf("test-sets", DocumentKind.TEST_SET, "test set", "test sets"),
    LibraryShelf("datasets", DocumentKind.DATASET, "dataset", "datasets"),
    LibraryShelf("question-sets", DocumentKind.QUESTION_SET, "question set", "question sets"),
    LibraryShelf("rubrics", DocumentKind.RUBRIC, "rubric", "rubrics"),
)


class DocumentLine(Struct, frozen=True, kw_only=True):
    name: str
    address: str
    agent_id: str
    version: int
    changed: str
    author: str
    note: str
    holds: str


class LibraryPage(Struct, frozen=True, kw_only=True):
    answer: str
    shelf: LibraryShelf
    shelves: tuple[LibraryShelf, ...]
    lines: tuple[DocumentLine, ...]
    further: str
    may_write: bool


def library_page(
    shelf: LibraryShelf,
    cards: Sequence[DocumentPreview],
    counts: Mapping[str, int],
    *,
    further: str = "",
    may_write: bool = True,
) -> LibraryPage:
    number = pluralize(len(cards), shelf.word) + (" and more" if further else "")
    return LibraryPage(
        answer=f"{number}, newest first." if cards else f"No {shelf.words} yet.",
        shelf=shelf,
        shelves=SHELVES,
        lines=tuple(
            DocumentLine(
                name=card.name or card.id[:8],
                address=shelf.of(card.id),
                agent_id=card.agent_id,
                version=card.version,
                changed=short_time(iso_utc(card.updated_at)),
                author=card.author,
                note=card.note,
                holds=f"{pluralize(counts[card.id], 'case')}, {card.dialect}"
                if card.id in counts
                else f"{max(1, round(card.size / 1000)):,} kB",
            )
            for card in cards
        ),
        further=further,
        may_write=may_write,
    )


def short_time(moment: str | None) -> str:
    """`2026-11-15 13:30`, in UTC."""
    return (moment or "")[:16].replace("T", " ")


def shelf_of(request: Request) -> LibraryShelf:
    slug = request.path_params["shelf"]
    shelf = next((each for each in SHELVES if each.slug == slug), None)
    if shelf is None:
        raise NotFound(f"the library has no shelf {slug!r}: {', '.join(each.slug for each in SHELVES)} are there")
    return shelf


async def show(request: Request) -> Response:
    caller, store, shelf = caller_of(request), host_of(request).store, shelf_of(request)
    place = decode_cursor(request.query_params.get("after", ""))
    cards = await store.documents.previews(shelf.kind, limit=LIMIT, before=place, within=caller.within)
    counts: dict[str, int] = {}
    if shelf.kind is DocumentKind.DATASET:
        numbers = await store.dataset_cases.count(cards)
        counts = {card.id: numbers.get((card.organization_id, card.id), 0) for card in cards}
    full = len(cards) == LIMIT
    further = f"{shelf.address}?{urlencode({'after': encode_cursor(next_cursor(cards[-1]))})}" if full else ""
    page = library_page(shelf, cards, counts, further=further, may_write=caller.may(KeyScope.WRITE))
    return respond(request, "library.html", page)


ROUTES = [PageRoute("/library/{shelf}", show)]
