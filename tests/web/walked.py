"""A store with what the walk through the pages stumbled over: answers that say what they took and cost, criteria that
have no id of their own, three versions, a long list, a large tool result, a judge's file in somebody's folder."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from howsure.model.expectation import text_id
from howsure.model.result import Result
from howsure.model.score import Grade, Part, Score
from howsure.model.transcript import Message, Role, Span, ToolCall, ToolResult, Transcript, Usage
from howsure.model.verdict import Verdict
from howsure.store.store import Store
from howsure.testing import a_case
from unit.reports.northwind import AGENT, SUPPORT_PINS, refund_results
from web.stocked import keep

FIRST, SECOND, THIRD, LONG, SPANS, UNJUDGED, BIG_A, BIG_B = (
    str(UUID(int=number, version=4)) for number in range(101, 109)
)
TEXT = "The answer names the deadline of thirty days"
LINES = 40
LARGE = "\n".join(f"line {number} of what the tool found" for number in range(600))
AGENT_PINS = {"agent": replace(AGENT, id="northwind-support")}


async def stock_walked(store: Store) -> None:
    versions = (FIRST, "ppfff"), (SECOND, "pppff"), (THIRD, "fppfp")
    for minutes, (id, verdicts) in enumerate(versions):
        pins = {**AGENT_PINS, "judge": "recorded:/srv/secret/judge.jsonl"}
        await keep(store, id, criteria_results(verdicts), name=f"version-{minutes + 1}", pins=pins, minutes=minutes)
    failing = [one_result(place, Verdict.FAILED) for place in range(LINES)]
    await keep(store, LONG, failing, name="a long list", minutes=10)
    await keep(
        store,
        SPANS,
        [spanned()],
        name="with spans",
        minutes=20,
        pins={**SUPPORT_PINS, **AGENT_PINS, "judge": "offline"},
    )
    pins = {**AGENT_PINS, "judge": "offline", "judged": ()}
    await keep(store, UNJUDGED, refund_results(), name="by program", minutes=30, pins=pins)


def criteria_results(verdicts: str) -> list[Result]:
    """A case for each letter: its one criterion, which has no id of its own, held (p) or did not (f)."""
    return [
        one_result(place, Verdict.PASSED if letter == "p" else Verdict.FAILED, f"{TEXT} ({place})")
        for place, letter in enumerate(verdicts)
    ]


def one_result(place: int, verdict: Verdict, text: str = "Answers", id: str = "") -> Result:
    part = Part(id=text_id(text), text=text)
    value = float(verdict is Verdict.PASSED)
    grades: tuple[Grade, ...] = (
        Score(name="criteria", value=value, pass_mark=1.0, reason="as it says"),
        Score(name="criteria", value=value, pass_mark=1.0, part=part, reason="as it says"),
    )
    asked = Message(role=Role.USER, content=f"Question {place}?")
    said = Message(role=Role.ASSISTANT, content="In thirty days.")
    return Result(
        case=a_case(id=id or f"case-{place:02}", message=f"Question {place}?"),
        verdict=verdict,
        grades=grades,
        transcript=Transcript(answer="In thirty days.", messages=(asked, said)),
        reasons=("as it says",),
        position=place,
    )


def spanned() -> Result:
    """A recording: replayed in half a millisecond, though its agent took 1.61 seconds, and with a large tool result."""
    result = one_result(0, Verdict.FAILED)
    spans = (Span(name="invocation", span_id="a", start_ns=1_000_000_000, end_ns=2_610_000_000),)
    usage = Usage(prompt_tokens=700, completion_tokens=112, cost_usd=0.0021)
    call = ToolCall(name="search", arguments={"words": "deadline"}, result=ToolResult(content=LARGE))
    said = Transcript(
        answer="In thirty days.",
        messages=(
            Message(role=Role.USER, content="When?"),
            Message(role=Role.ASSISTANT, content="I look.", tool_calls=(call,)),
            Message(role=Role.ASSISTANT, content="In thirty days."),
        ),
        spans=spans,
        usage=usage,
    )
    return replace(result, transcript=said, duration_ms=0.43)


def many(first: Verdict, second: Verdict, count: int) -> Sequence[Result]:
    """Cases with long ids and criteria, half of them with one verdict and half with the other."""
    words = "The answer says everything that was asked for, and in the order in which it was asked for, without more. "
    return [
        one_result(place, first if place % 2 else second, f"{words}{place}", id=str(UUID(int=place + 10**9, version=4)))
        for place in range(count)
    ]
