"""What a person can do with runs. Start one: which cases, rubric, agent, target and judge. Only what the operator
offers can be chosen, and a refusal comes before anything is stored. Load the demo: its runs have fixed ids, so a second
click makes no more. Pause, cancel, resume, retry, delete a run; grade it again with another judge or rubric, as a new
run that can be compared with this one; and edit its rubric, which the library then holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.run import Run, RunState
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.reports.figures import pluralize
from howsure.reports.headlines import page_words
from howsure.reports.run_facts import judge_name
from howsure.services.host import run_control
from howsure.services.host.demo import load_demo
from howsure.services.host.document_files import is_reference, reference_to
from howsure.services.host.keys import Caller
from howsure.services.host.roles import Permission
from howsure.services.host.run_control import rubric_key, save_rubric
from howsure.services.host.run_requests import document, offered_judges, offered_targets, submit_run
from howsure.services.workspace import Host
from howsure.store.documents import DocumentPreview
from howsure.store.pages import is_number
from howsure.store.store import Store
from howsure.web.pages.library import SHELVES
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, read_form, requested_run

MAX_OPTIONS = 100
KINDS: dict[DocumentKind, str] = {shelf.kind: shelf.words for shelf in SHELVES if shelf.kind is not DocumentKind.RUBRIC}
"""What has cases."""
RECORDED = "recorded"
ACTIONS = ("cancel", "pause", "resume", "retry", "delete")
ACTIONS_ON_ANY_RUN = ("regrade", "delete")
"""What is possible with a run that the service did not queue."""
MAX_NAME = 200


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
    judge_words = {OFFLINE: "offline (free: no model is asked)"}
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
    return FormChoice(value, _document_words(card), value == chosen)


def _document_words(card: DocumentPreview) -> str:
    return f"{card.name or card.id[:8]} v{card.version}"


async def run_choices(host: Host, within: AccessScope) -> RunChoices:
    documents, targets = host.store.documents, offered_targets(host, within)
    cases = {kind: await documents.previews(kind, limit=MAX_OPTIONS, within=within) for kind in KINDS}
    return RunChoices(
        cases=cases,
        rubrics=await documents.previews(DocumentKind.RUBRIC, limit=MAX_OPTIONS, within=within),
        targets=targets,
        default_target=host.rules.target if host.rules.target in targets else "",
        judges=offered_judges(host, within),
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
        until_sure=form.get("until_sure", "").strip(),
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


async def show_start(request: Request) -> Response:
    choices = await run_choices(host_of(request), caller_of(request).within)
    return respond(request, "start.html", start_page(choices, dict(request.query_params)))


async def start_run(request: Request) -> Response:
    host, caller, form = host_of(request), caller_of(request), await read_form(request)
    try:
        queued = await submit_run(host, request_from(form), caller.within)
    except InputError as error:
        choices = await run_choices(host, caller.within)
        return respond(request, "start.html", start_page(choices, form, trouble=page_words(str(error))), 422)
    return RedirectResponse(f"/runs/{queued.run.id}", 303)


async def load_demo_runs(request: Request) -> Response:
    await load_demo(host_of(request), caller_of(request).within)
    return RedirectResponse("/", 303)


def available_actions(state: RunState, errored: int, is_own: bool = True) -> tuple[str, ...]:
    """The actions that are possible in this state. The service cannot stop or resume a run that it did not queue
    (not `is_own`)."""
    if state in (RunState.PENDING, RunState.RUNNING):
        return ("pause", "cancel") if is_own else ()
    if not is_own:
        return ACTIONS_ON_ANY_RUN
    resume = () if state is RunState.COMPLETED else ("resume",)
    retry = ("retry",) if errored else ()
    return (*resume, *retry, "regrade", "delete")


async def allowed_actions(store: Store, run: Run, caller: Caller) -> tuple[str, ...]:
    """The actions that this caller may take on this run."""
    is_own = run.id in await store.queue.own([run.id])
    actions = available_actions(run.state, run.counts.errored, is_own)
    if is_own and run.state is RunState.COMPLETED and run.pins.stopped_early and run.counts.skipped:
        actions = ("resume", *actions)  # for the cases that were not asked
    return tuple(each for each in actions if caller.may(Permission.DELETE_RUNS if each == "delete" else Permission.RUN))


async def act_on_run(request: Request) -> Response:
    host, within = host_of(request), caller_of(request).within
    run_id, action = request.path_params["run_id"], request.path_params["deed"]
    match action:
        case "cancel":
            await run_control.stop(host, run_id, RequestedState.CANCEL, within)
        case "pause":
            await run_control.stop(host, run_id, RequestedState.PAUSE, within)
        case "resume":
            await run_control.resume(host, run_id, within)
        case "retry":
            await run_control.retry(host, run_id, within)
        case _:
            raise NotFound(f"{action!r} is nothing that can be done with a run: {', '.join(ACTIONS)} are")
    return RedirectResponse(f"/runs/{run_id}", 303)


async def delete_run(request: Request) -> Response:
    await run_control.delete(host_of(request), request.path_params["run_id"], caller_of(request).within)
    return RedirectResponse("/", 303)


class RegradePage(Struct, frozen=True, kw_only=True):
    answer: str
    trouble: str
    run_id: str
    run_name: str
    judges: tuple[FormChoice, ...]
    rubrics: tuple[FormChoice, ...]
    name: str
    has_rubric: bool


def regrade_page(
    run: Run, judges: Sequence[str], rubrics: Sequence[DocumentPreview], form: Mapping[str, str], trouble: str = ""
) -> RegradePage:
    name, judge = run.name or run.id[:8], form.get("judge", "")
    answers = pluralize(run.counts.completed, "answer")
    same_judge = FormChoice("", f"as before ({judge_name(run.pins)})", not judge)
    return RegradePage(
        answer=f"The {answers} of {name} are judged anew, as a new run. The agent is not called.",
        trouble=trouble,
        run_id=run.id,
        run_name=name,
        judges=(same_judge, *(FormChoice(each, each, each == judge) for each in judges)),
        rubrics=_rubric_choices(run, rubrics, form.get("rubric")),
        name=form.get("name", f"{name}, graded again"[:MAX_NAME]),
        has_rubric=run.pins.rubric is not None,
    )


def _rubric_choices(run: Run, rubrics: Sequence[DocumentPreview], chosen: str | None) -> tuple[FormChoice, ...]:
    """The rubrics of the library, that of the run first; the pinned one where the library does not have it."""
    own, pinned = rubric_key(run.pins), run.pins.rubric
    choices = []
    if not any(card.id == own for card in rubrics):
        words = f"as before ({pinned.name} v{pinned.version})" if pinned else "none"
        choices.append(FormChoice("", words, not chosen))
    for card in sorted(rubrics, key=lambda card: card.id != own):
        text = _document_words(card)
        if card.id == own and pinned is not None:
            text += f", {_used_version(run, pinned.version, card.version)}"
        choices.append(FormChoice(card.id, text, card.id == (own if chosen is None else chosen)))
    return tuple(choices)


def _used_version(run: Run, used: int, newest: int) -> str:
    """Which version the run used. The versions of a file are not those of the library, which began at 1 with it."""
    if not is_reference(run.pins.request.rubric):
        return f"as it is here now (this run used a file that calls itself version {used})"
    return "the newest, which this run used" if used == newest else f"the newest (this run used v{used})"


async def _regrade_page(request: Request, form: Mapping[str, str], trouble: str = "", status: int = 200) -> Response:
    host, within, run = host_of(request), caller_of(request).within, await requested_run(request)
    rubrics = await host.store.documents.previews(DocumentKind.RUBRIC, limit=MAX_OPTIONS, within=within)
    page = regrade_page(run, offered_judges(host, within), rubrics, form, trouble)
    return respond(request, "again.html", page, status)


async def show_regrade(request: Request) -> Response:
    return await _regrade_page(request, dict(request.query_params))


async def regrade_run(request: Request) -> Response:
    """Start a new run over the same answers and go to its page."""
    host, form, within = host_of(request), await read_form(request), caller_of(request).within
    chosen = document(DocumentKind.RUBRIC, form.get("rubric"))
    if not chosen:  # the page offers the newest of the run's own
        run = await host.store.run(request.path_params["run_id"], within)
        newest = await run_control.library_rubric(host, run, within)
        chosen = str(reference_to(newest)) if newest else ""
    change = RunRequest(
        judge=form.get("judge", "").strip(), rubric=chosen, name=form.get("name", "").strip()[:MAX_NAME]
    )
    try:
        made = await run_control.regrade(host, request.path_params["run_id"], change, within)
    except NotFound:
        raise
    except InputError as error:
        return await _regrade_page(request, form, page_words(str(error)), 422)
    return RedirectResponse(f"/runs/{made.run.id}", 303)


async def edit_rubric(request: Request) -> Response:
    """Go to the editor of the run's rubric. A rubric that is not in the library is saved there first."""
    caller = caller_of(request)
    saved = await save_rubric(host_of(request), await requested_run(request), caller.name, caller.within)
    return RedirectResponse(f"/library/rubrics/{saved.id}/edit", 303)


ROUTES = [
    PageRoute("/start", show_start, Permission.RUN),
    PageRoute("/start", start_run, Permission.RUN, "POST"),
    PageRoute("/demo", load_demo_runs, Permission.RUN, "POST"),
    PageRoute("/runs/{run_id}/regrade", show_regrade, Permission.RUN),
    PageRoute("/runs/{run_id}/regrade", regrade_run, Permission.RUN, "POST"),
    PageRoute("/runs/{run_id}/rubric", edit_rubric, Permission.EDIT, "POST"),
    PageRoute("/runs/{run_id}/delete", delete_run, Permission.DELETE_RUNS, "POST"),
    PageRoute("/runs/{run_id}/{deed}", act_on_run, Permission.RUN, "POST"),
]
