"""Labelling: what would you say? One question, the passage and four keys; the judge's word is shown only after the
answer, unless somebody wants to see it before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, NotFound
from howsure.model.label import HumanLabel, Opinion
from howsure.model.run import Run
from howsure.reports.figures import Rate, counted
from howsure.reports.html.blocks import block
from howsure.reports.inert import inert, one_line
from howsure.services.hosting.labelling import Question, Said, judge_word, label_of, queue
from howsure.stats.agreement import cohen_kappa
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.pages.label_words import FEWEST, MARKS, WORDS, Asked, asked, kappa_words
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, form_of, host_of

LONGEST_WHY = 2_000


class View(Struct, frozen=True, kw_only=True):
    """How somebody looks at the queue; all of it is in the address. `at` is the place to begin at, `after` the place
    of the question that was just answered."""

    who: str
    blind: bool = True
    what: str = ""
    position: int | None = None
    at: int = 0
    after: int | None = None

    def query(self, **changes: Any) -> str:
        given = {name: getattr(self, name) for name in ("who", "what", "position", "at", "after")} | changes
        blind = {} if changes.get("blind", self.blind) else {"blind": "off"}
        kept = {name: value for name, value in given.items() if name != "blind" and value not in (None, "")}
        return urlencode({**kept, **blind})


class Answered(Struct, frozen=True, kw_only=True):
    """What was just said, beside what the judge and others said, and how far you agree so far."""

    question: str
    you: str
    judge: str
    reason: str
    others: tuple[tuple[str, str], ...]
    same: bool | None
    agreement: Rate
    kappa: str
    saved: str


class Shown(Struct, frozen=True, kw_only=True):
    """The question that is asked now."""

    asked: Asked
    case_id: str
    talk: tuple[Mapping[str, Any], ...]
    expected: tuple[tuple[str, str], ...]
    is_silent: bool
    place: int
    key: str
    judge: str
    reason: str


class LabelPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    run_id: str
    run_name: str
    view: View
    number: int
    total: int
    shown: Shown | None
    answered: Answered | None
    graders: tuple[tuple[str, str, bool], ...]
    choices: tuple[tuple[str, str, str, str], ...]
    skip: str
    other_way: str
    names_itself: bool
    may_undo: bool


def label_page(
    run: Run, questions: Sequence[Question], labels: Sequence[HumanLabel], view: View, *, names_itself: bool = False
) -> LabelPage:
    """`labels` are everybody's of this run."""
    mine = {label.about: label for label in labels if label.labeler == view.who}
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    place = _next(chosen, mine, view.at)
    done = sum(each.about in mine for each in chosen)
    return LabelPage(
        answer=_answer(len(chosen), done, place),
        run_id=run.id,
        run_name=run.name or run.id[:8],
        view=view,
        number=done,
        total=len(chosen),
        shown=None if place is None else _shown(run, chosen, place, view),
        answered=_answered(chosen, mine, labels, view),
        graders=_graders(questions, view),
        choices=tuple(
            (opinion.value, WORDS[opinion], MARKS[opinion], str(key)) for key, opinion in enumerate(Opinion, start=1)
        ),
        skip="" if place is None else view.query(at=(place + 1) % max(1, len(chosen)), after=None),
        other_way=view.query(blind=not view.blind, after=None),
        names_itself=names_itself,
        may_undo=bool(mine),
    )


def _answer(total: int, done: int, place: int | None) -> str:
    if not total:
        return "Nothing in this run can be labelled: no criterion, no rule, and no eval that a judge was asked for."
    if place is None:
        return f"All {counted(total, 'question')} are answered."
    return f"What would you say? {done:,} of {counted(total, 'question')} answered."


def _next(chosen: Sequence[Question], mine: Mapping[Any, HumanLabel], at: int) -> int | None:
    """The first unanswered question from `at` on, or from the start where none is left there."""
    open_ones = [place for place, each in enumerate(chosen) if each.about not in mine]
    return next((place for place in open_ones if place >= at), open_ones[0] if open_ones else None)


def _shown(run: Run, chosen: Sequence[Question], place: int, view: View) -> Shown:
    question = chosen[place]
    shown = block(question.result)
    known = not view.blind
    return Shown(
        asked=asked(run, question.grade),
        case_id=inert(question.result.case.id),
        talk=tuple(shown["talk"]),
        expected=tuple((each["title"], each["text"]) for each in shown["expected"]),
        is_silent=shown["silent"],
        place=place,
        key=question.key,
        judge=judge_word(question.grade) if known else "",
        reason=inert(question.grade.reason) if known else "",
    )


def _answered(
    chosen: Sequence[Question], mine: Mapping[Any, HumanLabel], labels: Sequence[HumanLabel], view: View
) -> Answered | None:
    """Of a question that somebody has not answered nothing is told."""
    if view.after is None or view.after >= len(chosen) or chosen[view.after].about not in mine:
        return None
    question = chosen[view.after]
    own = mine[question.about]
    judge = judge_word(question.grade)
    others = [label for label in labels if label.about == question.about and label.labeler != view.who]
    agreement, kappa = _so_far(chosen, mine)
    return Answered(
        question=one_line(question.grade.part.text if question.grade.part else question.grade.name, 160),
        you=own.opinion.value,
        judge=judge,
        reason=one_line(question.grade.reason, 400),
        others=tuple((inert(label.labeler), label.opinion.value) for label in others),
        same=None if judge == "none" or own.opinion.passed is None else own.opinion.value == judge,
        agreement=agreement,
        kappa=kappa,
        saved=f"{own.created_at:%H:%M:%S}",
    )


def _so_far(chosen: Sequence[Question], mine: Mapping[Any, HumanLabel]) -> tuple[Rate, str]:
    """Of what both you and the judge called pass or fail."""
    judged = {each.about: judge_word(each.grade) for each in chosen}
    pairs = [
        (label.opinion.value, judged[about])
        for about, label in mine.items()
        if label.opinion.passed is not None and judged.get(about) in ("pass", "fail")
    ]
    same = sum(you == judge for you, judge in pairs)
    kappa = cohen_kappa([you for you, _ in pairs], [judge for _, judge in pairs])
    return Rate(same, len(pairs)), kappa_words(kappa, len(pairs), FEWEST)


def _graders(questions: Sequence[Question], view: View) -> tuple[tuple[str, str, bool], ...]:
    names = list(dict.fromkeys(each.grade.name for each in questions))
    chips = [("all", view.query(what="", at=0, after=None), not view.what)] if len(names) > 1 else []
    return (*chips, *((inert(name), view.query(what=name, at=0, after=None), view.what == name) for name in names))


def view_in(given: Mapping[str, str], name: str, names_itself: bool) -> View:
    """What the address says. Who signed in with a key is who they are; on a machine of one's own, one may say."""
    who = given.get("who", "").strip()[:100] if names_itself else ""
    numbers = {word: int(given[word]) for word in ("at", "after", "position") if is_number(given.get(word, ""))}
    return View(
        who=who or name,
        blind=given.get("blind") != "off",
        what=given.get("what", ""),
        position=numbers.get("position"),
        at=numbers.get("at", 0),
        after=numbers.get("after"),
    )


async def _looked(request: Request, given: Mapping[str, str]) -> tuple[Run, list[Question], View]:
    asking, store = caller_of(request), host_of(request).store
    run = await store.run(request.path_params["run_id"], asking.within)
    view = view_in(given, asking.name, not request.app.state.keys_needed)
    return run, await queue(store, run, view.position), view


async def show(request: Request) -> Response:
    run, questions, view = await _looked(request, dict(request.query_params))
    places = {each.result.position for each in questions}
    labels = await host_of(request).store.labels.of_run(run.id, caller_of(request).within, places)
    page = label_page(run, questions, labels, view, names_itself=not request.app.state.keys_needed)
    return respond(request, "label.html", page)


async def answer(request: Request) -> Response:
    """One answer, kept at once."""
    form = await form_of(request)
    run, questions, view = await _looked(request, form)
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    place = next((place for place, each in enumerate(chosen) if each.key == form.get("key")), None)
    if place is None:
        raise NotFound("there is no such question in this run any more: begin again")
    if form.get("opinion") not in [each.value for each in Opinion]:
        raise InputError(f"say one of {', '.join(each.value for each in Opinion)}")
    said = Said(Opinion(form["opinion"]), form.get("why", "").strip()[:LONGEST_WHY], view.blind)
    await host_of(request).store.labels.put(label_of(run, chosen[place], view.who, said))
    return RedirectResponse(f"/label/{run.id}?{view.query(at=place + 1, after=place)}", 303)


async def undo(request: Request) -> Response:
    """The last answer is taken back, and its question asked again."""
    run, questions, view = await _looked(request, await form_of(request))
    gone = await host_of(request).store.labels.take_back(run.id, view.who)
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    places = [place for place, each in enumerate(chosen) if gone is not None and each.about == gone.about]
    return RedirectResponse(f"/label/{run.id}?{view.query(at=places[0] if places else 0, after=None)}", 303)


def routes() -> list[Page]:
    return [
        Page("/label/{run_id}", show, Scope.WRITE),
        Page("/label/{run_id}", answer, Scope.WRITE, "POST"),
        Page("/label/{run_id}/undo", undo, Scope.WRITE, "POST"),
    ]
