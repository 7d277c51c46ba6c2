"""What somebody writes in a document: as a page begins with it, and as a form brings it."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request

from howsure.model.document import Document
from howsure.services.hosting.drafting import Part, part_of, text_of
from howsure.store.service.places import is_number
from howsure.web.sharing import form_of

PLACES = ("start", "number", "of")
NUMBERS = ("expected", "base", *PLACES)
"""What a form says in numbers."""


class Typed(Struct, frozen=True, kw_only=True):
    """What somebody wrote. `name`, `agent_id` and `dialect` are a dataset's: other texts say them themselves. `part`:
    which entries of the version `base` the text holds, where it does not hold all."""

    text: str
    name: str = ""
    agent_id: str = ""
    dialect: str = ""
    note: str = ""
    expected: int | None = None
    part: Part | None = None
    base: int | None = None


def typed_of(document: Document, start: int = 0) -> Typed:
    part = part_of(document, start)
    return Typed(
        text=text_of(document, part),
        name=document.name,
        agent_id=document.agent_id,
        dialect=document.edition.dialect,
        expected=document.latest,
        part=part,
        base=document.edition.version,
    )


async def typed_in(request: Request) -> Typed:
    form = await form_of(request)
    numbers = {name: int(form[name]) for name in NUMBERS if is_number(form.get(name, ""))}
    return Typed(
        # Browsers send every line end as two characters.
        text=form.get("text", "").replace("\r\n", "\n"),
        name=form.get("name", "").strip(),
        agent_id=form.get("agent_id", "").strip(),
        dialect=form.get("dialect", ""),
        note=form.get("note", "").strip(),
        expected=numbers.get("expected"),
        part=Part(*(numbers[name] for name in PLACES)) if numbers.keys() >= set(PLACES) else None,
        base=numbers.get("base"),
    )
