"""Labelling: the runs that can be labelled, and one question at a time with the conversation and four answers. The
judge's grade is shown only after the answer, unless the person asks to see it before. Also the words for opinions and
agreement."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import InputError, NotFound
from howsure.model.label import HumanLabel, Opinion
from howsure.model.rubric import Rule
from howsure.model.run import Run
from howsure.model.score import Direction, Grade, Score
from howsure.reports.figures import Rate, pass_mark_text, pluralize, short_time
from howsure.reports.headlines import grader_name
from howsure.reports.run_facts import judge_name
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.host.labels import (
    QUEUE_LENGTH,
    LabelInput,
    LabelQuestion,
    build_label,
    judge_opinion,
    label_queue,
)
from howsure.services.host.roles import Permission
from howsure.stats.agreement import cohen_kappa
from howsure.store.labels import LabelCount
from howsure.store.pages import is_number
from howsure.web.conversations import fit_case_block
from howsure.web.pages.run_cases import case_name
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, read_form, requested_run, run_views_of

WORDS = {opinion: opinion.value.replace("_", " ") for opinion in Opinion}
MARKS = {
    Opinion.PASS: "passed",
    Opinion.FAIL: "failed",
    Opinion.NOT_APPLICABLE: "not applicable",
    Opinion.CANNOT_TELL: "doubtful",
}
MIN_ANSWERS = 10
"""With fewer answers, agreement is not put into words."""
KAPPA_WORDS = (
    (0.0, "no better than chance"),
    (0.4, "little beyond chance"),
    (0.6, "moderate"),
    (0.8, "good"),
    (1.0, "very good"),
)
MAX_REASON = 2_000
RUNS_LISTED = 10


class QuestionText(Struct, frozen=True, kw_only=True):
    """The wording of a question."""

    text: str
    kind: str
    detail: str
    conditions: tuple[tuple[str, str], ...]
    hint: str


def grade_title(grade: Grade) -> str:
    return grade.part.text if grade.part else grader_name(grade.name)


def question_text(run: Run, grade: Grade) -> QuestionText:
    part = grade.part
    if part is None:
        scale = "" if grade.scale.high is None else f" on {grade.scale.low:g} to {grade.scale.high:g}"
        direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
        return QuestionText(
            text=f"Does the answer pass on {make_inert(grader_name(grade.name))}?",
            kind="eval",
            detail="",
            conditions=(),
            hint=f"the judge gives a number{scale}; it passes at {pass_mark_text(grade.pass_mark, direction)}",
        )
    rules = {rule.id: rule for rule in run.pins.rubric.rules} if run.pins.rubric and grade.name == "rubric" else {}
    rule = rules.get(part.id)
    is_penalty = part.weight is not None and part.weight < 0
    word = "rule" if rule or part.severity else "criterion"
    return QuestionText(
        text=make_inert(part.text),
        kind=word if grade.name in ("criteria", "rubric") else f"{word} of {make_inert(grader_name(grade.name))}",
        detail=make_inert(rule.description) if rule else "",
        conditions=rule_conditions(rule) if rule else (),
        hint="meeting this is bad: it passes where the answer does not do it" if is_penalty else "",
    )


def rule_conditions(rule: Rule) -> tuple[tuple[str, str], ...]:
    """When a rule passes and when it fails."""
    passes = (("pass if", make_inert(text)) for text in rule.pass_conditions)
    return (*passes, *(("fail if", make_inert(text)) for text in rule.fail_conditions))


def kappa_words(kappa: float | None, n: int) -> str:
    """Cohen's kappa in words: how far agreement goes beyond chance."""
    if n < MIN_ANSWERS:
        return f"n {n}: too few to say"
    if kappa is None:
        return "κ –: one of you always says the same"
    words = next(word for limit, word in KAPPA_WORDS if kappa <= limit)
    return f"κ {kappa:.2f}: {words}"


class LabelView(Struct, frozen=True, kw_only=True):
    """The state of the labelling page, all of it in the address: the person, the grader (`what`), the index `at` which
    to continue, and the index of the question that was just answered (`after`)."""

    who: str
    blind: bool = True
    what: str = ""
    position: int | None = None
    at: int = 0
    after: int | None = None
    raw: str = ""

    def query(self, **changes: Any) -> str:
        values = {name: getattr(self, name) for name in ("who", "what", "position", "at", "after", "raw")} | changes
        blind = {} if changes.get("blind", self.blind) else {"blind": "off"}
        present = {name: value for name, value in values.items() if name != "blind" and value not in (None, "")}
        return urlencode({**present, **blind})


class AnswerFeedback(Struct, frozen=True, kw_only=True):
    """The last answer beside those of the judge and of other people, and the agreement so far."""

    question: str
    you: str
    judge: str
    reason: str
    others: tuple[tuple[str, str], ...]
    same: bool | None
    agreement: Rate
    kappa: str
    saved: str


class QuestionView(Struct, frozen=True, kw_only=True):
    asked: QuestionText
    case_id: str
    name: str
    talk: tuple[Mapping[str, Any], ...]
    expected: tuple[tuple[str, str], ...]
    is_silent: bool
    place: int
    key: str
    judge: str
    reason: str


class LabelPage(Struct, frozen=True, kw_only=True):
    answer: str
    run_id: str
    run_name: str
    view: LabelView
    number: int
    total: int
    shown: QuestionView | None
    answered: AnswerFeedback | None
    graders: tuple[tuple[str, str, bool], ...]
    choices: tuple[tuple[str, str, str, str], ...]
    skip: str
    other_way: str
    names_itself: bool
    may_undo: bool


def label_page(
    run: Run,
    questions: Sequence[LabelQuestion],
    labels: Sequence[HumanLabel],
    view: LabelView,
    *,
    names_itself: bool = False,
) -> LabelPage:
    """`labels` are the labels of all people."""
    mine = {label.about: label for label in labels if label.labeler == view.who}
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    # The index of the first unanswered question from `at` on; else of the first one at all.
    unanswered = [index for index, question in enumerate(chosen) if question.about not in mine]
    index = next((index for index in unanswered if index >= view.at), unanswered[0] if unanswered else None)
    done = sum(each.about in mine for each in chosen)
    answer = f"What would you say? {done:,} of {pluralize(len(chosen), 'question')} answered."
    if not chosen:
        answer = "Nothing in this run can be labelled: no criterion, no rule, and no eval that a judge was asked for."
    elif index is None:
        answer = f"All {pluralize(len(chosen), 'question')} are answered."
    graders = list(dict.fromkeys(each.grade.name for each in questions))
    chips = [("all", view.query(what="", at=0, after=None), not view.what)] if len(graders) > 1 else []
    chips += [
        (make_inert(grader_name(name)), view.query(what=name, at=0, after=None), view.what == name) for name in graders
    ]
    return LabelPage(
        answer=answer,
        run_id=run.id,
        run_name=run.name or run.id[:8],
        view=view,
        number=done,
        total=len(chosen),
        shown=None if index is None else _question_view(run, chosen[index], index, view),
        answered=_feedback(chosen, mine, labels, view),
        graders=tuple(chips),
        choices=tuple(
            (opinion.value, WORDS[opinion], MARKS[opinion], str(key)) for key, opinion in enumerate(Opinion, start=1)
        ),
        skip="" if index is None else view.query(at=(index + 1) % max(1, len(chosen)), after=None),
        other_way=view.query(blind=not view.blind, after=None),
        names_itself=names_itself,
        may_undo=bool(mine),
    )


def _question_view(run: Run, question: LabelQuestion, index: int, view: LabelView) -> QuestionView:
    shown = fit_case_block(question.result)
    return QuestionView(
        asked=question_text(run, question.grade),
        case_id=make_inert(question.result.case.id),
        name=case_name(question.result),
        talk=tuple(shown["talk"]),
        expected=tuple((each["title"], each["text"]) for each in shown["expected"]),
        is_silent=shown["silent"],
        place=index,
        key=question.key,
        judge="" if view.blind else judge_opinion(question.grade),
        reason="" if view.blind else make_inert(question.grade.reason),
    )


def _feedback(
    chosen: Sequence[LabelQuestion], mine: Mapping[Any, HumanLabel], labels: Sequence[HumanLabel], view: LabelView
) -> AnswerFeedback | None:
    """Feedback on the question at `view.after`; None where this person has not answered it."""
    if view.after is None or view.after >= len(chosen) or chosen[view.after].about not in mine:
        return None
    question = chosen[view.after]
    own = mine[question.about]
    judge = judge_opinion(question.grade)
    others = [label for label in labels if label.about == question.about and label.labeler != view.who]
    # The rate and the kappa over what both this person and the judge called pass or fail.
    judged = {each.about: judge_opinion(each.grade) for each in chosen}
    pairs = [
        (label.opinion.value, judged[about])
        for about, label in mine.items()
        if label.opinion.passed is not None and judged.get(about) in ("pass", "fail")
    ]
    kappa = cohen_kappa([you for you, _ in pairs], [judge for _, judge in pairs])
    return AnswerFeedback(
        question=one_line(grade_title(question.grade), 160),
        you=own.opinion.value,
        judge=judge,
        reason=one_line(question.grade.reason, 400),
        others=tuple((make_inert(label.labeler), label.opinion.value) for label in others),
        same=None if judge == "none" or own.opinion.passed is None else own.opinion.value == judge,
        agreement=Rate(sum(you == judge for you, judge in pairs), len(pairs)),
        kappa=kappa_words(kappa, len(pairs)),
        saved=f"{own.created_at:%H:%M:%S}",
    )


def read_label_view(fields: Mapping[str, str], name: str, names_itself: bool) -> LabelView:
    """The view in an address or a form. Where nobody signs in (`names_itself`), people enter their own name."""
    who = fields.get("who", "").strip()[:100] if names_itself else ""
    numbers = {word: int(fields[word]) for word in ("at", "after", "position") if is_number(fields.get(word, ""))}
    return LabelView(
        who=who or name,
        blind=fields.get("blind") != "off",
        what=fields.get("what", ""),
        position=numbers.get("position"),
        at=numbers.get("at", 0),
        after=numbers.get("after"),
        raw="yes" if fields.get("raw") else "",
    )


async def _load(request: Request, fields: Mapping[str, str]) -> tuple[Run, list[LabelQuestion], LabelView]:
    run = await requested_run(request)
    view = read_label_view(fields, caller_of(request).name, not request.app.state.keys_needed)
    return run, await label_queue(host_of(request).store, run, view.position), view


async def show(request: Request) -> Response:
    run, questions, view = await _load(request, dict(request.query_params))
    positions = {question.result.position for question in questions}
    labels = await host_of(request).store.labels.of_run(run.id, caller_of(request).within, positions)
    page = label_page(run, questions, labels, view, names_itself=not request.app.state.keys_needed)
    return respond(request, "label.html", page)


async def answer(request: Request) -> Response:
    """Save one answer."""
    form = await read_form(request)
    run, questions, view = await _load(request, form)
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    index = next((index for index, question in enumerate(chosen) if question.key == form.get("key")), None)
    if index is None:
        raise NotFound("there is no such question in this run any more: begin again")
    if form.get("opinion") not in [each.value for each in Opinion]:
        raise InputError(f"say one of {', '.join(each.value for each in Opinion)}")
    opinion = LabelInput(Opinion(form["opinion"]), form.get("why", "").strip()[:MAX_REASON], view.blind)
    await host_of(request).store.labels.put(build_label(run, chosen[index], view.who, opinion))
    return RedirectResponse(f"/label/{run.id}?{view.query(at=index + 1, after=index)}", 303)


async def undo(request: Request) -> Response:
    """Delete the last answer and show its question again."""
    run, questions, view = await _load(request, await read_form(request))
    deleted = await host_of(request).store.labels.take_back(run.id, view.who)
    chosen = [each for each in questions if view.what in ("", each.grade.name)]
    indexes = [index for index, each in enumerate(chosen) if deleted is not None and each.about == deleted.about]
    return RedirectResponse(f"/label/{run.id}?{view.query(at=indexes[0] if indexes else 0, after=None)}", 303)


class LabelRunLine(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    agent: str
    judge: str
    created: str
    failed: int
    passed: int
    done: tuple[tuple[str, int], ...]
    was_judged: bool


class LabelHome(Struct, frozen=True, kw_only=True):
    answer: str
    lines: tuple[LabelRunLine, ...]
    offer: str
    offered: str
    may_label: bool


def label_home(
    runs: Sequence[Run], labelled: Sequence[LabelCount], judged: Container[str], *, may_label: bool = True
) -> LabelHome:
    """`judged`: the ids of the runs in which a judge was asked. Only of these is there anything to label."""
    done: dict[str, list[tuple[str, int]]] = {}
    for each in labelled:
        done.setdefault(each.run_id, []).append((each.labeler, each.number))
    lines = tuple(
        LabelRunLine(
            id=run.id,
            name=run.name or run.id[:8],
            agent=run.pins.agent_name,
            judge=run.pins.imported.tool if run.pins.imported else judge_name(run.pins),
            created=short_time(run.created_at),
            failed=run.counts.failed,
            passed=run.counts.passed,
            done=tuple(done.get(run.id, ())),
            was_judged=run.id in judged,
        )
        for run in runs
        if run.counts.completed
    )
    offer, newest = "", next((line for line in lines if line.was_judged and line.failed + line.passed), None)
    if newest:
        # The queue of the newest run, in words.
        number = min(QUEUE_LENGTH, newest.failed + newest.passed)
        offer = f"{pluralize(number, 'result')} of {newest.name}, drawn at random"
    offered = newest.id if newest else ""
    return LabelHome(answer=_home_answer(lines), lines=lines, offer=offer, offered=offered, may_label=may_label)


def _home_answer(lines: Sequence[LabelRunLine]) -> str:
    if not lines:
        return "There is nothing to label yet: no run has results."
    number = sum(count for line in lines for _, count in line.done)
    people = {name for line in lines for name, _ in line.done}
    if not number:
        return f"Nobody has labelled anything of the last {pluralize(len(lines), 'run')} yet."
    by = f"by {pluralize(len(people), 'person')}".replace("persons", "people")
    return f"{pluralize(number, 'label')} {by} over the last {pluralize(len(lines), 'run')}."


async def show_home(request: Request) -> Response:
    caller, store = caller_of(request), host_of(request).store
    runs = await store.runs(limit=RUNS_LISTED, within=caller.within)
    labelled = await store.labels.counts([run.id for run in runs], caller.within)
    judged = {run.id for run in await run_views_of(request).judged_runs(runs)}
    page = label_home(runs, labelled, judged, may_label=caller.may(Permission.LABEL))
    return respond(request, "label-home.html", page)


ROUTES = [
    PageRoute("/label/{run_id}", show, Permission.LABEL),
    PageRoute("/label/{run_id}", answer, Permission.LABEL, "POST"),
    PageRoute("/label/{run_id}/undo", undo, Permission.LABEL, "POST"),
    PageRoute("/label", show_home),
]
