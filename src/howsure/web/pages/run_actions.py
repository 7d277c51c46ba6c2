"""What a person can do with a run: pause, cancel, resume, retry, delete; grade it again with another judge or rubric,
as a new run that can be compared with this one; and edit its rubric, which the library then holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, NotFound
from howsure.model.document import DocumentKind
from howsure.model.job import RequestedState
from howsure.model.run import Run, RunState
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import judge_name
from howsure.services.host import run_control
from howsure.services.host.keys import Caller
from howsure.services.host.run_control import rubric_key, save_rubric
from howsure.services.host.run_requests import document
from howsure.store.documents import DocumentPreview
from howsure.store.keys import KeyScope
from howsure.store.store import Store
from howsure.web.pages.start import FormChoice
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, read_form

ACTIONS = ("cancel", "pause", "resume", "retry", "delete")
ACTIONS_ON_ANY_RUN = ("regrade", "delete")
"""What is possible with a run that the service did not queue."""
MAX_RUBRICS = 100
MAX_NAME = 200


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
    if not caller.may(KeyScope.RUN):
        return ()
    return available_actions(run.state, run.counts.errored, run.id in await store.queue.own([run.id]))


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
        case "delete":
            await run_control.delete(host, run_id, within)
            return RedirectResponse("/", 303)
        case _:
            raise NotFound(f"{action!r} is nothing that can be done with a run: {', '.join(ACTIONS)} are")
    return RedirectResponse(f"/runs/{run_id}", 303)


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
        text = f"{card.name or card.id[:8]} v{card.version}"
        if card.id == own and pinned is not None:
            # The versions of a file are not those of the library, which began at 1 with the rubric of the run.
            where = "" if pinned.version <= card.version else " of a file"
            text += f", the newest (this run: v{pinned.version}{where})"
        choices.append(FormChoice(card.id, text, card.id == (own if chosen is None else chosen)))
    return tuple(choices)


async def _page(request: Request, form: Mapping[str, str], trouble: str = "", status: int = 200) -> Response:
    host, within = host_of(request), caller_of(request).within
    run = await host.store.run(request.path_params["run_id"], within)
    rubrics = await host.store.documents.previews(DocumentKind.RUBRIC, limit=MAX_RUBRICS, within=within)
    judges = [each for each in (host.work.settings.judge, *sorted(host.rules.judges), OFFLINE) if each]
    page = regrade_page(run, list(dict.fromkeys(judges)), rubrics, form, trouble)
    return respond(request, "again.html", page, status)


async def show_regrade(request: Request) -> Response:
    return await _page(request, dict(request.query_params))


async def regrade_run(request: Request) -> Response:
    """Start a new run over the same answers and go to its page."""
    host, form = host_of(request), await read_form(request)
    change = RunRequest(
        judge=form.get("judge", "").strip(),
        rubric=document(DocumentKind.RUBRIC, form.get("rubric")),
        name=form.get("name", "").strip()[:MAX_NAME],
    )
    try:
        made = await run_control.regrade(host, request.path_params["run_id"], change, caller_of(request).within)
    except NotFound:
        raise
    except InputError as error:
        return await _page(request, form, str(error), 422)
    return RedirectResponse(f"/runs/{made.run.id}", 303)


async def edit_rubric(request: Request) -> Response:
    """Go to the editor of the run's rubric. A rubric that is not in the library is saved there first."""
    host, caller = host_of(request), caller_of(request)
    run = await host.store.run(request.path_params["run_id"], caller.within)
    saved = await save_rubric(host, run, caller.name, caller.within)
    return RedirectResponse(f"/library/rubrics/{saved.id}/edit", 303)


ROUTES = [
    PageRoute("/runs/{run_id}/regrade", show_regrade, KeyScope.RUN),
    PageRoute("/runs/{run_id}/regrade", regrade_run, KeyScope.RUN, "POST"),
    PageRoute("/runs/{run_id}/rubric", edit_rubric, KeyScope.WRITE, "POST"),
    PageRoute("/runs/{run_id}/{deed}", act_on_run, KeyScope.RUN, "POST"),
]
