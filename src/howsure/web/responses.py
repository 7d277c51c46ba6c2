"""Responses: a page as HTML for people, as a fragment for htmx, or as JSON for programs (the JSON has the field names
of the page's struct). Text from agents, users and judges is escaped, and invisible characters in it are made
visible."""

from __future__ import annotations

from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from howsure.reports.html.page import template_environment
from howsure.web.conversations import MarkdownWriter
from howsure.web.sessions import TOKEN_FIELD, form_token

HERE = Path(__file__).parent
REPORTS = HERE.parent / "reports" / "html" / "templates"
STYLES = ("base.css", "summary.css", "cases.css", "markdown.css", "matrix.css", "narrow.css")
SHARED = ("mark", "sign", "rated", "sliced", "strip", "apart", "candidate_table")
"""Macros of the reports that pages use too."""
MACRO_CACHE = 4096
VERDICTS = ("passed", "failed", "errored", "skipped", "damaged", "pending")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Visit(Struct, frozen=True):
    """What every page needs to know about the request, besides its own content."""

    browser_token: str
    caller: str
    path: str
    keys_needed: bool
    is_admin: bool = False
    bar: tuple[tuple[str, str, str], ...] = ()
    may_write: bool = False
    may_label: bool = False

    @property
    def token(self) -> str:
        return form_token(self.browser_token)


def respond(request: Request, template: str, context: Struct, status: int = 200) -> Response:
    """The page as HTML, or only one of its blocks if htmx asks for one of that name; or as JSON where the request asks
    for it."""
    if wants_json(request):
        body = msgspec.json.encode(context, enc_hook=str)
        return Response(body, status, media_type="application/json")
    visit: Visit = request.state.visit
    block = request.headers.get("hx-target", "") if request.headers.get("hx-request") else ""
    source = environment().get_template(template)
    values: dict[str, Any] = {"page": context, "visit": visit, "csrf_field": TOKEN_FIELD, "assets": assets()}
    is_raw = bool(request.query_params.get("raw"))
    other_way = request.url.include_query_params(raw="" if is_raw else "yes").query
    values |= {"is_raw": is_raw, "other_way": f"?{other_way}", "markdown": MarkdownWriter(raw=is_raw)}
    if block in source.blocks:
        html = "".join(source.blocks[block](source.new_context(values)))
    else:
        html = source.render(values)
    headers = {"Content-Security-Policy": POLICY, "Vary": "HX-Request, Accept"}
    return HTMLResponse(html, status, headers)


def wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or accepted.startswith("application/json")


@cache
def environment() -> Environment:
    made = template_environment(FileSystemLoader([HERE / "templates", REPORTS]))
    # The name of each verdict and its count; few stores have damaged results.
    made.filters["verdicts"] = lambda counts: [
        (word, getattr(counts, word)) for word in VERDICTS if word != "damaged" or counts.damaged
    ]
    # Global, because a block that is rendered alone cannot see what its template imports. Cached, because the same
    # marks and rates occur on many lines of many pages.
    shared = made.get_template("macros.html").module
    made.globals.update({name: lru_cache(MACRO_CACHE)(getattr(shared, name)) for name in SHARED})
    return made


@cache
def style() -> bytes:
    """The stylesheet: that of the reports, and the additions of the pages."""
    parts = [REPORTS / name for name in STYLES] + sorted((HERE / "static").glob("*.css"))
    return b"\n".join(path.read_bytes() for path in parts)


@cache
def assets() -> dict[str, str]:
    """The addresses of the static files; an address changes with the content of its file."""
    files = {
        path.name: (path.name, path.read_bytes())
        for pattern in ("*.js", "*.svg")
        for path in (HERE / "static").glob(pattern)
    }
    files["style"] = ("style.css", style())
    return {key: f"/static/{name}?v={sha256(content).hexdigest()[:12]}" for key, (name, content) in files.items()}
