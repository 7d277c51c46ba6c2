"""The data of the page: one short entry for each result, which the list shows, sorts and filters by; and one block for
each, with what an opened case shows. Both are JSON that cannot end the element it stands in, compressed where a run is
large. Texts longer than `MAX_TEXT` characters are cut and say so; a block of more than `MAX_BLOCK_BYTES` is cut
shorter."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markupsafe import Markup
from msgspec import Struct, json

from howsure.model.case import opening
from howsure.model.result import Result
from howsure.model.score import Direction, Grade, Score
from howsure.model.transcript import Message, Role, ToolCall, Usage
from howsure.policies.verdicts import deciding_grades
from howsure.reports.case_facts import conversation, expectation_texts, given_facts, simulation_facts
from howsure.reports.figures import (
    format_dollars,
    format_number,
    format_on_scale,
    format_seconds,
    grade_mark,
    pass_mark_text,
    pluralize,
)
from howsure.reports.grades import case_grades, grade_status, part_grades
from howsure.reports.headlines import grader_name, headline, sentences
from howsure.reports.markdown import read_markdown
from howsure.reports.safe_text import make_inert, one_line
from howsure.traces.usage import total_tokens

ENCODER = json.Encoder(decimal_format="number")
SIGNS = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def embed_json(value: Any) -> Markup:
    """A value as JSON that can stand inside a script element."""
    return escape_json(ENCODER.encode(value))


def escape_json(data: bytes) -> Markup:
    """JSON without any `<`, `>` or `&`, so that nothing can end the element it stands in."""
    for sign, code in SIGNS:
        data = data.replace(sign, code)
    return Markup(data.decode())


def compress(data: bytes) -> Markup:
    """gzip in base64, without a time: the same bytes always give the same text."""
    return Markup(b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode())


ID_LENGTH = 200
QUESTION_LENGTH = 160
REASON_LENGTH = 220
MAX_TAGS = 12


class FailureCause(Struct, frozen=True):
    """Why a result did not pass: the grader or the kind of failure, the criterion or message, how severe it is,
    whether it failed or errored, and whether the verdict rests on it."""

    grader: str
    text: str
    severity: str
    mark: str
    decides: bool = True


class CaseEntry(Struct, frozen=True, kw_only=True, array_like=True):
    """A line of the list. The page's program knows the fields by their order. `wrong` are the numbers of its
    causes, `change` is how it compares with the baseline: `worse`, `better` or nothing."""

    place: int
    id: str
    candidate: str
    repeat: int
    verdict: str
    asked: str
    why: str
    failing: tuple[str, ...]
    tags: tuple[str, ...]
    seconds: float | None
    wrong: tuple[int, ...] = ()
    change: str = ""


def case_entry(result: Result, place: int = 0, causes: tuple[int, ...] = (), change: str = "") -> CaseEntry:
    return CaseEntry(
        place=place,
        id=make_inert(result.case.id)[:ID_LENGTH],
        candidate=make_inert(result.candidate)[:ID_LENGTH],
        repeat=result.repeat,
        verdict=result.verdict.value,
        asked=one_line(result.case.name or opening(result.case.input), QUESTION_LENGTH),
        why=headline(result, REASON_LENGTH),
        failing=tuple(dict.fromkeys(cause.grader for cause in failure_causes(result))),
        tags=tags_and_labels(result),
        seconds=answer_seconds(result),
        wrong=causes,
        change=change,
    )


def answer_seconds(result: Result) -> float | None:
    """How long the agent took, not how long its replay took; None: unknown."""
    known = result.transcript.agent_ms if result.transcript else None
    return None if known is None else round(known / 1000, 3)


def answer_measures(result: Result) -> list[str]:
    """`1.61 s`, `812 tokens`, `$0.0021`: time and cost of the answer, as far as known."""
    usage = (result.transcript.usage if result.transcript else None) or Usage()
    seconds, tokens = answer_seconds(result), total_tokens(usage)
    return [
        *([] if seconds is None else [format_seconds(seconds)]),
        *([] if tokens is None else [pluralize(tokens, "token")]),
        *([] if usage.cost_usd is None else [format_dollars(usage.cost_usd)]),
    ]


def tags_and_labels(result: Result) -> tuple[str, ...]:
    """Tags, and labels as `name: value`."""
    texts = (*result.case.tags, *(f"{name}: {value}" for name, value in result.case.labels.items()))
    return tuple(one_line(tag, ID_LENGTH) for tag in texts[:MAX_TAGS])


def failure_causes(result: Result) -> list[FailureCause]:
    """Every failed or errored criterion and rule, the graders that have none, and every failure."""
    bad = [grade for grade in result.grades if grade_mark(grade).word in ("failed", "errored")]
    with_parts = {grade.name for grade in bad if grade.part}
    deciding = {id(grade) for grade in deciding_grades(result)} if bad else set()
    causes = []
    for grade in bad:
        part = grade.part
        if part or grade.name not in with_parts:
            severity = part.severity.value if part and part.severity else ""
            text = one_line(part.text, REASON_LENGTH) if part else ""
            name, word = one_line(grade.name, ID_LENGTH), grade_mark(grade).word
            causes.append(FailureCause(name, text, severity, word, id(grade) in deciding))
    for failure in result.failures:
        kind, message = one_line(failure.kind, ID_LENGTH), one_line(failure.message, REASON_LENGTH)
        causes.append(FailureCause(kind, message, "", "errored"))
    return causes


MAX_TEXT = 20_000
SHORT_TEXT = 1_000
MAX_BLOCK_BYTES = 1_000_000
SHOWN_ENDS = 30
NOTHING_KEPT: dict[str, Any] = {"left_out": True}
"""Stands for a case whose grades alone are too large for the page."""
WORST_GRADE_FIRST = ("failed", "errored", "no judge", "", "passed", "measured", "not applicable")
NO_GRADE: dict[str, Any] = {"mark": "", "status": "", "reason": "", "judge": "", "needed": "", "evidence": []}


def case_block_bytes(result: Result, *, rendered: bool = True) -> bytes:
    """The block as JSON, with Markdown texts also as trees, cut until it fits."""
    block = case_block(result)
    for each in (*block["talk"], *block["expected"]) if rendered else ():
        if (tree := read_markdown(each["text"])) is not None:
            each["tree"] = tree
    whole = ENCODER.encode(block)
    if len(whole) <= MAX_BLOCK_BYTES:
        return whole
    shorter = ENCODER.encode(case_block(result, SHORT_TEXT, SHOWN_ENDS))
    return shorter if len(shorter) <= MAX_BLOCK_BYTES else ENCODER.encode(NOTHING_KEPT)


def final_answer(block: Mapping[str, Any]) -> Any | None:
    """The message of a block that is the agent's last; None where the agent said nothing."""
    said = [each for each in block["talk"] if each["role"] == Role.ASSISTANT.value and each["text"]]
    return said[-1] if said else None


def case_block(result: Result, longest: int = MAX_TEXT, ends: int = 0, answer: int = MAX_TEXT) -> dict[str, Any]:
    """`longest`: characters of any one text; `answer`: of the final answer; `ends`: how many messages of the beginning
    and of the end (0: all)."""
    messages, cut = conversation(result), TextCutter(longest)
    talk = _conversation_block(messages, cut, ends)
    # Counted from the end: what is left out lies between the ends.
    said = [
        place - len(messages) for place, each in enumerate(messages) if each.role is Role.ASSISTANT and each.content
    ]
    if said and (-said[-1] <= ends or not 0 < 2 * ends < len(messages)):
        talk[said[-1]]["text"] = TextCutter(answer)(messages[said[-1]].content)
    warned = [(make_inert(grader_name(each.kind)), each.message) for each in result.failures]
    warned += [(make_inert(grader_name(each.kind)), each.text) for each in result.flags]
    state = result.transcript.state if result.transcript else None
    return {
        "reasons": [cut(sentence) for sentence in sentences(result)],
        "failures": [{"kind": kind, "message": cut(message)} for kind, message in warned],
        "tags": list(tags_and_labels(result)),
        "given": _titled([*given_facts(result), *simulation_facts(result)], cut),
        "talk": talk,
        "silent": result.transcript is None,
        "state": cut.json(state) if state is not None else "",
        "expected": _titled(expectation_texts(result.case, result.grades), cut),
        "grades": sorted(_case_grades(result, cut), key=_badness),
        "measured": " · ".join(answer_measures(result)),
    }


class TextCutter:
    """Makes foreign text inert and cuts it after `longest` characters."""

    def __init__(self, longest: int) -> None:
        self._longest = longest

    def __call__(self, text: str) -> str:
        # Only the beginning of a text that is much too long is examined.
        beyond = max(len(text) - 2 * self._longest, 0)
        shown = make_inert(text[: len(text) - beyond])
        if len(shown) <= self._longest:
            return shown
        left = len(shown) + beyond - self._longest
        return f"{shown[: self._longest]}\n… cut here: {left:,} more characters are in the run itself"

    def json(self, value: Any) -> str:
        """Indented JSON; a text is shown as it is."""
        return self(value if isinstance(value, str) else json.format(ENCODER.encode(value), indent=2).decode())


def _titled(facts: Iterable[tuple[str, str]], cut: TextCutter) -> list[dict[str, str]]:
    return [{"title": make_inert(title), "text": cut(text)} for title, text in facts]


def _conversation_block(messages: tuple[Message, ...], cut: TextCutter, ends: int) -> list[dict[str, Any]]:
    left = len(messages) - 2 * ends
    if not ends or left <= 0:
        return [_message(message, cut) for message in messages]
    gap = f"… {left:,} messages left out here: the conversation is too long for this page"
    between: dict[str, Any] = {"role": "left out", "agent": "", "text": gap, "calls": []}
    first, last = messages[:ends], messages[-ends:]
    return [*(_message(each, cut) for each in first), between, *(_message(each, cut) for each in last)]


def _message(message: Message, cut: TextCutter) -> dict[str, Any]:
    shown = {"role": message.role.value, "agent": make_inert(message.agent), "text": cut(message.content)}
    return {**shown, "calls": [_call(call, cut) for call in message.tool_calls]}


def _call(call: ToolCall, cut: TextCutter) -> dict[str, Any]:
    brief = ", ".join(f"{name} {_brief(value)}" for name, value in call.arguments.items())
    shown = {
        "name": make_inert(call.name),
        "brief": one_line(brief, REASON_LENGTH),
        "arguments": cut.json(call.arguments),
    }
    if call.result is None:
        return {**shown, "result": "", "said": "no response", "failed": False}
    answer = one_line(_brief(call.result.content), QUESTION_LENGTH)
    return {**shown, "result": cut.json(call.result.content), "said": answer, "failed": call.result.failed}


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else ENCODER.encode(value).decode()


def _case_grades(result: Result, cut: TextCutter) -> Iterator[dict[str, Any]]:
    """Each grade of the case with its parts; also, under the grader's name, parts whose grader gave no such grade."""
    deciding = {id(grade) for grade in deciding_grades(result)}
    wholes: list[tuple[str, Grade | None]] = [(grade.name, grade) for grade in case_grades(result.grades)]
    known = {name for name, _ in wholes}
    wholes += [(name, None) for name in dict.fromkeys(grade.name for grade in result.grades) if name not in known]
    for name, grade in wholes:
        parts = part_grades(result.grades, name)
        details = {key: value for key, value in grade.details.items() if key != "criteria"} if grade else {}
        yield {
            **(_graded(grade, cut) if grade else NO_GRADE),
            "value": format_on_scale(grade.value, grade.scale) if isinstance(grade, Score) else "",
            "name": make_inert(grader_name(name)),
            "details": cut.json(details) if details else "",
            "decides": any(id(each) in deciding for each in (grade, *parts)),
            "parts": sorted((_part(part, cut) for part in parts), key=_badness),
        }


def _badness(shown: Mapping[str, Any]) -> tuple[bool, int]:
    """Grades that decide the verdict come first, and among them those that failed."""
    marks = [shown["mark"], *(part["mark"] for part in shown.get("parts", ()))]
    return not shown.get("decides"), min(map(WORST_GRADE_FIRST.index, marks))


def _part(grade: Grade, cut: TextCutter) -> dict[str, Any]:
    part = grade.part
    return _graded(grade, cut) | {
        "text": cut(part.text) if part else "",
        "severity": part.severity.value if part and part.severity else "",
        "scope": make_inert(part.scope) if part else "",
        "weight": format_number(part.weight) if part and part.weight is not None else "",
    }


def _graded(grade: Grade, cut: TextCutter) -> dict[str, Any]:
    direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
    return {
        "mark": grade_mark(grade).word,
        "status": grade_status(grade),
        "reason": cut(grade.reason),
        "judge": make_inert(grade.judge),
        "needed": pass_mark_text(grade.pass_mark, direction),
        "evidence": [cut(quote) for quote in grade.evidence] if isinstance(grade, Score) else [],
    }
