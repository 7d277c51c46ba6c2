"""Starting a run: which cases, rubric, agent, target and judge. Only what the operator offers can be chosen, and a
refusal comes before anything is stored. Also the button that loads the demo: its runs have fixed ids, so a second click
makes no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.reports.figures import pluralize
from howsure.services.host.context import Host
from howsure.services.host.demo import load_demo
from howsure.services.host.run_requests import document, submit_run
from howsure.store.documents import DocumentPreview
from howsure.store.keys import KeyScope
from howsure.store.pages import is_number
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, read_form

MAX_OPTIONS = 100
KINDS = {
    DocumentKind.TEST_SET: "test sets",
    DocumentKind.DATASET: "datasets",
    DocumentKind.QUESTION_SET: "question sets",
}
RECORDED = "recorded"


class FormChoice(Struct, frozen=True):
    value: str
    words: str
    chosen: bool


class StartPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `given` holds the form fields of a refused request."""

    answer: str
    trouble: str
    cases: tuple[tuple[str, tuple[FormChoice, ...]], ...]
    rubrics: tuple[FormChoice, ...]
    targets: tuple[FormChoice, ...]
    judges: tuple[FormChoice, ...]
    given: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        return not any(choices for _, choices in self.cases)


class RunChoices(Struct, frozen=True, kw_only=True):
    cases: Mapping[DocumentKind, Sequence[DocumentPreview]]
    rubrics: Sequence[DocumentPreview]
    targets: Sequence[str]
    default_target: str
    judges: Sequence[str]


def start_page(choices: RunChoices, form: Mapping[str, str], trouble: str = "") -> StartPage:
    number, rubrics = sum(map(len, choices.cases.values())), pluralize(len(choices.rubrics), "rubric")
    targets = ["", RECORDED, *sorted(choices.targets)]
    default = f" ({choices.default_target})" if choices.default_target else ""
    words = {"": f"as the service is set up{default}", RECORDED: "the answers that the cases bring"}
    judge_words = {OFFLINE: "offline (free, no language model: it can say less)"}
    return StartPage(
        answer=f"{pluralize(number, 'set')} of cases and {rubrics} to choose from."
        if number
        else "Nothing can be run yet: there are no cases.",
        trouble=trouble,
        cases=tuple(
            (kind_words, tuple(_document_choice(card, f"{kind.value}:{card.id}", form.get("cases")) for card in cards))
            for kind, kind_words in KINDS.items()
            if (cards := choices.cases.get(kind, ()))
        ),
        rubrics=tuple(_document_choice(card, card.id, form.get("rubric")) for card in choices.rubrics),
        targets=tuple(FormChoice(each, words.get(each, each), each == form.get("target", "")) for each in targets),
        judges=tuple(
            FormChoice(each, judge_words.get(each, each), each == form.get("judge")) for each in choices.judges
        ),
        given=form,
    )


def _document_choice(card: DocumentPreview, value: str, chosen: str | None) -> FormChoice:
    return FormChoice(value, f"{card.name or card.id[:8]} v{card.version}", value == chosen)


async def run_choices(host: Host, within: AccessScope) -> RunChoices:
    documents, settings = host.store.documents, host.work.settings
    cases = {kind: await documents.previews(kind, limit=MAX_OPTIONS, within=within) for kind in KINDS}
    judges = dict.fromkeys((settings.judge or OFFLINE, OFFLINE, *host.rules.judges))
    return RunChoices(
        cases=cases,
        rubrics=await documents.previews(DocumentKind.RUBRIC, limit=MAX_OPTIONS, within=within),
        targets=tuple(settings.targets),
        default_target=host.rules.target,
        judges=tuple(judges),
    )


def request_from(form: Mapping[str, str]) -> RunRequest:
    """The run that a form asks for; PlanRefused names the field that cannot be read."""
    kind, _, key = form.get("cases", "").partition(":")
    if kind not in [each.value for each in KINDS] or not key:
        raise PlanRefused("choose the cases that are to be run")
    case_ids = tuple(filter(None, (each.strip() for each in form.get("case_ids", "").split(","))))
    return RunRequest(
        datasets=(document(DocumentKind(kind), key),),
        rubric=document(DocumentKind.RUBRIC, form.get("rubric")),
        agent=document(DocumentKind.AGENT, form.get("agent_id", "").strip()),
        target=form.get("target", ""),
        judge=form.get("judge", ""),
        repeat=_read_number(form, "repeat", "how often each case is tried") or 1,
        limit=_read_number(form, "limit", "how many cases at most"),
        budget=form.get("budget", "").strip(),
        name=form.get("name", "").strip(),
        filters={"id": case_ids} if case_ids else {},
    )


def _read_number(form: Mapping[str, str], name: str, words: str) -> int | None:
    text = form.get(name, "").strip()
    if not text:
        return None
    if not is_number(text) or not int(text):
        raise PlanRefused(f"{words}: expected a whole number from 1, found {text!r}")
    return int(text)


async def show(request: Request) -> Response:
    choices = await run_choices(host_of(request), caller_of(request).within)
    return respond(request, "start.html", start_page(choices, dict(request.query_params)))


async def begin(request: Request) -> Response:
    host, caller, form = host_of(request), caller_of(request), await read_form(request)
    try:
        queued = await submit_run(host, request_from(form), caller.within)
    except InputError as error:
        choices = await run_choices(host, caller.within)
        return respond(request, "start.html", start_page(choices, form, trouble=str(error)), 422)
    return RedirectResponse(f"/runs/{queued.run.id}", 303)


async def load_demo_runs(request: Request) -> Response:
    await load_demo(host_of(request), caller_of(request).within)
    return RedirectResponse("/", 303)


ROUTES = [
    PageRoute("/start", show, KeyScope.RUN),
    PageRoute("/start", begin, KeyScope.RUN, "POST"),
    PageRoute("/demo", load_demo_runs, KeyScope.RUN, "POST"),
]
