"""The page of one case: the verdict and its reason, the conversation with the judges' quotes marked in it, and the
grades; then spans, repeats, the same case in other runs, and the raw result. Also the attachments of a case, as files:
an address names one by its number; the case says where the file is, which must be in the folder of its dataset.
Pictures and plain text are shown, everything else is downloaded; neither may run scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from howsure.errors import NotFound
from howsure.judges.attachment_paths import find_document
from howsure.judges.documents import media_type
from howsure.model.access_scope import AccessScope
from howsure.model.case import Attachment, SingleTurn
from howsure.model.label import HumanLabel
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.case_facts import DOCUMENT
from howsure.reports.headlines import grader_name, headline, note_words
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.files import native_path
from howsure.services.host.document_files import is_reference
from howsure.store.browse import OtherRunResult
from howsure.store.pages import is_number
from howsure.store.store import Store
from howsure.web import conversations
from howsure.web.pages.label import WORDS, rule_conditions
from howsure.web.pages.run_cases import (
    LIMIT,
    CaseFilter,
    case_address,
    page_address,
    read_case_filter,
    row_anchor,
)
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, requested_run

Conditions = Mapping[str, tuple[tuple[str, str], ...]]
Opinions = Mapping[str, Sequence[tuple[str, str, str]]]
REPEATS = 20
MAX_ANSWER = 3000
SAMPLE_BYTES = 8192
"""The first bytes of a file decide whether it is text."""
FILE = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
ATTACHMENT_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin; frame-ancestors 'none'"
)
"""Nothing may run. The inline styles are those that a browser adds to a picture or a text."""


class GradeView(Struct, frozen=True, kw_only=True):
    """A grade, or the grade of one criterion or rule."""

    name: str
    mark: str
    status: str
    value: str = ""
    needed: str
    severity: str = ""
    reason: str
    judge: str
    conditions: tuple[tuple[str, str], ...]
    quotes: tuple[conversations.Quote, ...]
    people: tuple[tuple[str, str, str], ...] = ()
    details: str = ""
    decides: bool = True
    parts: tuple[GradeView, ...] = ()


def opinions_by_grade(result: Result, labels: Sequence[HumanLabel]) -> Opinions:
    """The labels of people (who, opinion, reason), by the text of the grade they are about."""
    texts = {}
    for grade in result.grades:
        name, part_id = (grade.part.text, grade.part.id) if grade.part else (grader_name(grade.name), "")
        texts[grade.name, part_id] = make_inert(name)
    opinions: dict[str, list[tuple[str, str, str]]] = {}
    for label in labels:
        text = texts.get((label.grader, label.part_id))
        if text is not None:
            opinion = (make_inert(label.labeler), WORDS[label.opinion], one_line(label.why, 300))
            opinions.setdefault(text, []).append(opinion)
    return opinions


def grade_view(
    shown: Mapping[str, Any], name: str, conditions: Conditions, quotes: conversations.QuoteNumbers, opinions: Opinions
) -> GradeView:
    """A grade of the block, or one of its parts, with what the page adds to it."""
    added = {
        "name": name,
        "conditions": conditions.get(name, ()),
        "quotes": tuple(quotes.quote(text) for text in shown["evidence"]),
        "people": tuple(opinions.get(name, ())),
        "parts": tuple(grade_view(each, each["text"], conditions, quotes, opinions) for each in shown.get("parts", ())),
    }
    return GradeView(**{key: value for key, value in shown.items() if key in GradeView.__struct_fields__} | added)


class OtherAttempt(Struct, frozen=True, kw_only=True):
    """An attempt at the same case: another repeat, or another candidate."""

    called: str
    verdict: str
    address: str
    answer: str
    why: str
    is_this: bool


class OtherRunCase(Struct, frozen=True, kw_only=True):
    called: str
    verdict: str
    address: str
    compare: str


class CasePage(Struct, frozen=True, kw_only=True):
    run_id: str
    run_name: str
    case_id: str
    position: int
    name: str
    verdict: str
    answer: str
    fault: str
    turns: tuple[conversations.TurnView, ...]
    ghosts: tuple[str, ...]
    changes: tuple[conversations.StateChange, ...]
    is_silent: bool
    grades: tuple[GradeView, ...]
    expected: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    attachments: tuple[tuple[str, str, str], ...]
    has_rubric: bool
    is_imported: bool
    state: str
    failures: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    measured: str
    spans: conversations.Waterfall | None
    repeats: tuple[OtherAttempt, ...]
    others: tuple[OtherRunCase, ...]
    place: str
    previous: str
    following: str
    up: str
    raw: str
    files: str


async def case_page(store: Store, run: Run, result: Result, chosen: CaseFilter, scope: AccessScope) -> CasePage:
    filter = chosen.result_filter(run.counts.failed)
    neighbors = await store.browse.neighbors(run.id, filter, result.position, LIMIT)
    attempts = await store.results(run.id, limit=REPEATS, case_id=result.case.id)
    others = await store.browse.other_results(run, result.case.id, scope)
    labels = await store.labels.of_run(run.id, scope, [result.position])
    previous, following = (
        "" if position is None else case_address(run.id, position, chosen)
        for position in (neighbors.previous, neighbors.following)
    )
    shown = conversations.fit_case_block(result)
    quotes = conversations.QuoteNumbers(conversations.conversation_texts(shown))
    rules = run.pins.rubric.rules if run.pins.rubric else ()
    conditions = {make_inert(rule.name): rule_conditions(rule) for rule in rules}
    # The grades come first: they number the quotes.
    opinions = opinions_by_grade(result, labels)
    grades = tuple(grade_view(each, each["name"], conditions, quotes, opinions) for each in shown["grades"])
    why = headline(result, 300)
    return CasePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        case_id=result.case.id,
        position=result.position,
        name=one_line(result.case.name),
        verdict=result.verdict.value,
        answer=f"{result.verdict.value.capitalize()}{f': {why}' if why else '.'}",
        fault=f"{result.fault.party.words}: {one_line(note_words(result.fault.reason), 300)}" if result.fault else "",
        turns=conversations.turn_views(shown, quotes, raw=bool(chosen.raw)),
        ghosts=conversations.missing_calls(result),
        changes=conversations.state_changes(result),
        is_silent=shown["silent"],
        grades=grades,
        expected=tuple((each["title"], each["text"]) for each in shown["expected"]),
        given=tuple((each["title"], each["text"]) for each in shown["given"] if each["title"] != DOCUMENT),
        attachments=tuple(
            (one_line(file.title or file.path, 200), make_inert(file.path), make_inert(file.kind))
            for file in attachments_of(result)
        ),
        has_rubric=run.pins.rubric is not None,
        is_imported=run.pins.imported is not None,
        state=shown["state"],
        failures=tuple((each["kind"], each["message"]) for each in shown["failures"]),
        tags=tuple(shown["tags"]),
        measured=shown["measured"],
        spans=conversations.waterfall(result.transcript),
        repeats=tuple(_other_attempt(run, each, result, chosen) for each in attempts if len(attempts) > 1),
        others=tuple(_other_run(run, each, result) for each in others),
        place="" if neighbors.place is None else f"{neighbors.place:,} of {neighbors.matching:,}",
        previous=previous,
        following=following,
        up=f"{page_address(run.id, chosen, neighbors.page)}#{row_anchor(result)}",
        raw=f"/runs/{run.id}/cases/{result.position}/raw",
        files=f"/runs/{run.id}/cases/{result.position}/attachments",
    )


def _other_attempt(run: Run, result: Result, this: Result, chosen: CaseFilter) -> OtherAttempt:
    repeat = f"repeat {result.repeat}" if run.pins.request.repeat > 1 or not result.candidate else ""
    return OtherAttempt(
        called=" ".join(part for part in (make_inert(result.candidate), repeat) if part),
        verdict=result.verdict.value,
        address=case_address(run.id, result.position, chosen),
        answer=make_inert(result.transcript.answer)[:MAX_ANSWER] if result.transcript else "",
        why=headline(result, 200),
        is_this=result.position == this.position,
    )


def _other_run(run: Run, other: OtherRunResult, result: Result) -> OtherRunCase:
    called = (other.run_name or other.run_id[:8], other.candidate, f"repeat {other.repeat}" if other.repeat > 1 else "")
    compared = [("run", other.run_id), ("run", run.id), ("case", result.case.id)]
    return OtherRunCase(
        called=make_inert(" ".join(part for part in called if part)),
        verdict=other.verdict,
        address=f"/runs/{other.run_id}/cases/{other.position}",
        compare=f"/compare/case?{urlencode(compared)}",
    )


async def requested_result(request: Request) -> tuple[Run, Result]:
    """The run and the result that the address names."""
    run, position = await requested_run(request), request.path_params["position"]
    known = position.isascii() and position.isdecimal() and len(position) < 12
    results = await host_of(request).store.browse.results_at(run.id, [int(position)]) if known else []
    if not results:
        raise NotFound(f"run {run.id} has no result at position {position}")
    return run, results[0]


async def show(request: Request) -> Response:
    run, result = await requested_result(request)
    chosen, within = read_case_filter(request.query_params), caller_of(request).within
    return respond(request, "case.html", await case_page(host_of(request).store, run, result, chosen, within))


async def raw(request: Request) -> Response:
    """The stored result as JSON."""
    _, result = await requested_result(request)
    return Response(msgspec.json.encode(result), media_type="application/json")


async def by_id(request: Request) -> Response:
    """Redirect to the first result of the case with this id."""
    store, query, run = host_of(request).store, request.query_params, await requested_run(request)
    results = await store.results(run.id, limit=1, case_id=query.get("id", ""), candidate=query.get("candidate"))
    if not results:
        raise NotFound(f"run {run.id} has no case {query.get('id', '')!r}")
    return RedirectResponse(case_address(run.id, results[0].position, CaseFilter()), 303)


class AttachmentFile(Struct, frozen=True):
    """A file, its media type, and whether a browser may show it."""

    path: Path
    media: str
    is_shown: bool


def attachments_of(result: Result) -> tuple[Attachment, ...]:
    return result.case.input.attachments if isinstance(result.case.input, SingleTurn) else ()


def folders_of(run: Run) -> list[Path]:
    """The folders of the datasets of a run. An uploaded dataset has no folder and no files beside it."""
    paths = [Path(native_path(pin.path)) for pin in run.pins.datasets if not is_reference(pin.path)]
    return [path if path.is_dir() else path.parent for path in paths]


def find_attachment(folders: Sequence[Path], named: str) -> AttachmentFile | None:
    """The file of this name in one of the folders; None where there is none, or where nobody may be shown it."""
    for folder in folders:
        try:
            path = find_document(named, folder)
            if isinstance(path, Path):
                picture = media_type(path)
                if picture:
                    return AttachmentFile(path, picture, True)
                return AttachmentFile(path, TEXT, True) if _is_text(path) else AttachmentFile(path, FILE, False)
        except (OSError, ValueError):
            continue
    return None


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(SAMPLE_BYTES)
    if b"\x00" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut in two.
        return len(head) == SAMPLE_BYTES and error.start > SAMPLE_BYTES - 4
    return True


async def show_attachment(request: Request) -> Response:
    run, result = await requested_result(request)
    number, named = request.path_params["number"], attachments_of(result)
    if not is_number(number) or not 1 <= int(number) <= len(named):
        raise NotFound(f"this case has no attachment {number}")
    file = await asyncio.to_thread(find_attachment, folders_of(run), named[int(number) - 1].path)
    if file is None:
        raise NotFound("this attachment is not where its dataset lies: what is uploaded brings no files beside it")
    disposition = "inline" if file.is_shown else "attachment"
    headers = {
        "Content-Security-Policy": ATTACHMENT_POLICY,
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(file.path.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return FileResponse(file.path, media_type=file.media, headers=headers)


ROUTES = [
    PageRoute("/runs/{run_id}/cases/{position}", show),
    PageRoute("/runs/{run_id}/cases/{position}/raw", raw),
    PageRoute("/runs/{run_id}/case", by_id),
    PageRoute("/runs/{run_id}/cases/{position}/attachments/{number}", show_attachment),
]
