"""Who is under test: every agent that runs or descriptions name."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.document import Document, DocumentKind
from howsure.model.summary import Summary
from howsure.reports.figures import counted, utc
from howsure.store.browsing import AgentFace
from howsure.store.service.documents import Listing
from howsure.web.pages.runs_line import Line, line_of
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, gallery_of, host_of

LIMIT = 12
DESCRIBED = 500


class AgentLine(Struct, frozen=True, kw_only=True):
    """One agent, with its newest run."""

    id: str
    name: str
    address: str
    runs: int
    latest: str
    described: bool
    newest: Line | None


class AgentsPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    lines: tuple[AgentLine, ...]
    further: str


def agent_address(agent_id: str) -> str:
    return f"/agent?{urlencode({'id': agent_id})}"


def agents_page(
    faces: Sequence[AgentFace], described: Sequence[Document], newest: dict[str, Summary], further: str = ""
) -> AgentsPage:
    names = {document.id: document.name for document in described}
    tried = [
        _line(face.id, names.get(face.id, ""), face, newest.get(face.id), described=face.id in names) for face in faces
    ]
    seen = {face.id for face in faces}
    untried = [_line(each.id, each.name, None, None, described=True) for each in described if each.id not in seen]
    lines = (*tried, *untried) if not further else tuple(tried)
    some = "and more" if further else ""
    return AgentsPage(answer=_answer(lines, some), lines=lines, further=further)


def _answer(lines: Sequence[AgentLine], some: str) -> str:
    if not lines:
        return "No agent yet: a run that names one (--agent FILE) brings it here."
    return " ".join(part for part in (counted(len(lines), "agent"), some) if part) + "."


def _line(id: str, name: str, face: AgentFace | None, newest: Summary | None, *, described: bool) -> AgentLine:
    line = line_of(newest, {}) if newest else None
    return AgentLine(
        id=id,
        name=name or (line.agent if line else "") or id,
        address=agent_address(id),
        runs=face.runs if face else 0,
        latest=(utc(face.latest) or "")[:16].replace("T", " ") if face else "",
        described=described,
        newest=line,
    )


async def show(request: Request) -> Response:
    within, store, gallery = caller_of(request).within, host_of(request).store, gallery_of(request)
    faces = await store.browsing.agents(within)
    start = int(request.query_params.get("from", "0")) if request.query_params.get("from", "").isdecimal() else 0
    shown = faces[start : start + LIMIT]
    described = await store.documents.several(DocumentKind.AGENT, Listing(limit=DESCRIBED), within)
    found = await gallery.these(await store.browsing.newest([face.id for face in shown], within))
    newest = {summary.run.pins.agent_key: summary for summary in found}
    further = f"/agents?from={start + LIMIT}" if len(faces) > start + LIMIT else ""
    return respond(request, "agents.html", agents_page(shown, described, newest, further))


def routes() -> list[Page]:
    return [Page("/agents", show)]
