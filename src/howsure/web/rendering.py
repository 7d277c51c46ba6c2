"""From a context to a page: HTML for people, a fragment where htmx asks for one, JSON for programs. Whatever agents,
users and judges said is escaped, and what would be invisible in it is shown."""

from __future__ import annotations

from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from howsure.model.run import Counts
from howsure.reports.figures import number
from howsure.reports.inert import inert
from howsure.web.sessions import FIELD, Session, Sessions

HERE = Path(__file__).parent
REPORTS = HERE.parent / "reports" / "html" / "templates"
STYLES = ("base.css", "summary.css", "cases.css", "matrix.css", "narrow.css")
SHARED = ("mark", "sign", "rated", "strip", "apart")
"""Macros of the reports that stand on pages, too."""
DRAWN = 4096
"""So many different ones are remembered."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Visit(Struct, frozen=True):
    """What every page knows of the request besides its own context."""

    session: Session
    sessions: Sessions
    caller: str
    path: str
    is_admin: bool
    keys_needed: bool
    bar: tuple[tuple[str, str, str], ...] = ()
    may_write: bool = False

    @property
    def token(self) -> str:
        return self.sessions.token(self.session)


def respond(request: Request, template: str, context: Struct, status: int = 200) -> Response:
    """The page, in the form that was asked for."""
    if wants_json(request):
        body = msgspec.json.encode(context, enc_hook=str)
        return Response(body, status, media_type="application/json")
    visit: Visit = request.state.visit
    block = request.headers.get("hx-target", "") if request.headers.get("hx-request") else ""
    html = render(template, context, visit, block)
    headers = {"Content-Security-Policy": POLICY, "Vary": "HX-Request, Accept"}
    return HTMLResponse(html, status, headers)


def wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or accepted.startswith("application/json")


def render(template: str, context: Struct, visit: Visit, block: str = "") -> str:
    """A whole page, or one of its blocks where it has one of that name."""
    found = environment().get_template(template)
    values: dict[str, Any] = {"page": context, "visit": visit, "csrf_field": FIELD, "assets": assets()}
    if block and block in found.blocks:
        return "".join(found.blocks[block](found.new_context(values)))
    return found.render(values)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader([HERE / "templates", REPORTS]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(inert=inert, number=number, thousands=_thousands, slug=_slug, verdicts=_verdicts)
    # For blocks that are rendered by themselves: what a template imports is not there for them. The same marks and
    # rates stand on many lines of many pages, and each is drawn once.
    shared = made.get_template("macros.html").module
    made.globals.update({name: lru_cache(DRAWN)(getattr(shared, name)) for name in SHARED})
    return made


def _thousands(count: int) -> str:
    return f"{count:,}"


def _verdicts(counts: Counts) -> list[tuple[str, int]]:
    """In words, and how many of each."""
    return [(word, getattr(counts, word)) for word in ("passed", "failed", "errored", "skipped", "pending")]


def _slug(word: str) -> str:
    return word.replace(" ", "-")


@cache
def style() -> bytes:
    """The looks of the reports, and what pages need besides."""
    parts = [REPORTS / name for name in STYLES] + sorted((HERE / "static").glob("*.css"))
    return b"\n".join(path.read_bytes() for path in parts)


@cache
def assets() -> dict[str, str]:
    """The addresses of our own files, changing when they do."""
    known = {path.name: path.read_bytes() for path in (HERE / "static").glob("*.js")}
    return {
        **{name: f"/static/{name}?v={_version(content)}" for name, content in known.items()},
        "style": f"/static/style.css?v={_version(style())}",
    }


def _version(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]
