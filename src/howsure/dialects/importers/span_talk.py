"""A Transcript out of spans: what every call of a model was given and said, put together to one conversation; tool
calls with their results; tokens and times. howsure.traces tells what each span is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.importers.chat_messages import messages_of, placed
from howsure.dialects.importers.chat_shapes import (
    ASSISTANT,
    SYSTEM,
    TOOL,
    USER,
    Answer,
    Call,
    Said,
    declared,
    read_talk,
    tools_in,
)
from howsure.dialects.importers.span_attributes import given_messages, said_messages
from howsure.dialects.simulation_recording import last_said
from howsure.dialects.simulation_talk import arguments_of
from howsure.model.transcript import Span, Tool, Transcript, Usage
from howsure.traces.kinds import Kind, agent_name
from howsure.traces.read import read_trace
from howsure.traces.tree import Tree
from howsure.traces.values import Notes, decoded
from howsure.traces.views import LlmCall, Outcome, ToolUse, Trace

_TOOL_LISTS = re.compile(r"llm\.tools\.(?P<place>\d+)\.tool\.json_schema|gen_ai\.tool\.definitions")
_REQUESTS = ("langfuse.observation.input", "input.value", "gcp.vertex.agent.llm_request")
_INSIDE = frozenset({Kind.TOOL, Kind.AGENT, Kind.INVOCATION})


class Account(Struct, frozen=True, kw_only=True):
    """One conversation as its spans tell it. `turns` are what the user said."""

    turns: tuple[str, ...]
    transcript: Transcript
    tools: tuple[Tool, ...] | None
    agent: str


def account_of(spans: Sequence[Span], asked: Any = None, answered: Any = None) -> Account:
    """`asked` and `answered` are what went into the whole run and came out of it, where somebody wrote that down."""
    trace, tree = read_trace(spans), Tree(spans, Notes())
    calls = _model_spans(tree)
    talk = _joined([(given_messages(span), said_messages(span), agent) for span, agent in calls])
    turns = _turns(asked, talk)
    talk = _closed(_with_tools(_by_user(talk, turns), trace.tool_uses), answered)
    messages = messages_of(talk)
    transcript = Transcript(
        answer=last_said(messages),
        messages=messages,
        spans=tuple(spans),
        usage=_usage(trace.llm_calls),
        duration_ms=_duration(trace),
    )
    agent = next((name for name in (*(name for _, name in calls), *(run.name for run in trace.agent_runs)) if name), "")
    return Account(turns=turns, transcript=transcript, tools=_tools([span for span, _ in calls]), agent=agent)


def _model_spans(tree: Tree) -> list[tuple[Span, str]]:
    """The outermost spans of each call of a model, with the agent that made it."""
    found: list[tuple[Span, str]] = []
    for place in tree.of_kind(Kind.LLM):
        around = next((above for above in tree.above(place) if tree.kinds[above] in _INSIDE | {Kind.LLM}), None)
        if around is None or tree.kinds[around] is not Kind.LLM:
            agent = tree.nearest(place, Kind.AGENT)
            found.append((tree.spans[place], "" if agent is None else agent_name(tree.spans[agent])))
    return found


def _joined(calls: Iterable[tuple[list[Said], list[Said], str]]) -> list[Said]:
    """A call that was given all that was said before goes on with it. One that was given something else is another
    agent's: what it was told is not the user's word, what it said and what its tools answered is kept."""
    talk: list[Said] = []
    for given, said, agent in calls:
        spoken = [structs.replace(one, agent=agent) if one.role == ASSISTANT else one for one in said]
        before = [_plain(one) for one in talk]
        plain = [_plain(one) for one in given]
        if plain[: len(before)] == before:
            talk += given[len(before) :]
        elif before:
            talk += [one for one in given if one.role in (ASSISTANT, TOOL) and not _known(one, talk)]
        talk += [one for one in spoken if not _known(one, talk[-1:])]
    return placed(talk)


def _plain(said: Said) -> tuple[str, str, tuple[str, ...]]:
    """What two accounts of one message agree on; ids and results are written or not."""
    return (said.role, said.text, tuple(call.name for call in said.calls))


def _known(said: Said, talk: Sequence[Said]) -> bool:
    if said.role == TOOL:
        ids = {answer.id for one in talk for answer in one.answers if answer.id}
        return bool(said.answers) and all(answer.id in ids for answer in said.answers)
    return any(_plain(said) == _plain(one) for one in talk)


def _turns(asked: Any, talk: Sequence[Said]) -> tuple[str, ...]:
    outside = tuple(said.text for said in read_talk(asked) if said.role == USER and said.text)
    return outside or tuple(said.text for said in talk if said.role == USER and said.text)


def _by_user(talk: Sequence[Said], turns: Sequence[str]) -> list[Said]:
    """What stands in the user's name and is no turn is an instruction. Turns that stand nowhere come first."""
    marked = [
        structs.replace(said, role=SYSTEM) if said.role == USER and said.text not in turns else said for said in talk
    ]
    if turns and not any(said.role == USER for said in marked):
        first = next((place for place, said in enumerate(marked) if said.role != SYSTEM), len(marked))
        marked[first:first] = [Said(USER, turn) for turn in turns]
    return marked


def _with_tools(talk: list[Said], uses: Sequence[ToolUse]) -> list[Said]:
    """Every use of a tool at its call. Uses that no message asked for are put before the last words."""
    open_calls = [call for said in talk for call in said.calls]
    answered = {answer.id for said in talk for answer in said.answers if answer.id}
    results: list[tuple[Call, ToolUse]] = []
    lone: list[ToolUse] = []
    for use in uses:
        call = _asked_for(use, open_calls)
        if call is None:
            lone.append(use)
            continue
        open_calls.remove(call)
        if not (call.id and call.id in answered):
            results.append((call, use))
    out = _with_results(talk, results)
    if lone:
        last = bool(out) and out[-1].role == ASSISTANT and not out[-1].calls
        place = len(out) - 1 if last else len(out)
        out[place:place] = [made for use in lone for made in _alone(use)]
    return out


def _asked_for(use: ToolUse, calls: Sequence[Call]) -> Call | None:
    """By id; else by name. Where both have ids and these differ, the arguments must agree: some tracers number anew."""
    named = [call for call in calls if call.name == use.name]
    same = (call for call in calls if use.call_id and call.id == use.call_id)
    unnumbered = (call for call in named if not (call.id and use.call_id))
    equal = (call for call in named if call.arguments == arguments_of(use.arguments))
    return next(same, None) or next(unnumbered, None) or next(equal, None)


def _with_results(talk: Sequence[Said], results: Sequence[tuple[Call, ToolUse]]) -> list[Said]:
    out: list[Said] = []
    spoken = {(answer.id, answer.name) for said in talk for answer in said.answers}
    for said in talk:
        out.append(said)
        for call, use in results:
            told = any(call is one for one in said.calls)
            if told and use.outcome is not Outcome.NO_RESPONSE and (call.id, call.name) not in spoken:
                out.append(Said(TOOL, answers=(Answer(call.id, call.name, use.response),)))
    return out


def _alone(use: ToolUse) -> list[Said]:
    call = Call(use.call_id, use.name, arguments_of(use.arguments))
    made = [Said(ASSISTANT, calls=(call,), agent=use.agent)]
    if use.outcome is not Outcome.NO_RESPONSE:
        made.append(Said(TOOL, answers=(Answer(use.call_id, use.name, use.response),)))
    return made


def _closed(talk: list[Said], answered: Any) -> list[Said]:
    """The answer of the whole run is the last word, where no message says it."""
    spoken = [said.text for said in talk if said.role == ASSISTANT and said.text and not said.calls]
    last = next((said.text for said in reversed(read_talk(answered, ASSISTANT)) if said.role == ASSISTANT), "")
    if not last or any(last in text for text in spoken):
        return talk
    return [*talk, Said(ASSISTANT, last)]


def _tools(spans: Iterable[Span]) -> tuple[Tool, ...] | None:
    """The tools that the models were told of."""
    listed: list[Any] = []
    for span in spans:
        for name, value in span.attributes.items():
            if match := _TOOL_LISTS.fullmatch(name):
                listed += [value] if match["place"] else _list(value)
        listed += [one for name in _REQUESTS for one in declared(span.attributes.get(name))]
    return tools_in([one for one in map(decoded, listed) if isinstance(one, Mapping)])


def _list(value: Any) -> list[Any]:
    found = decoded(value)
    return found if isinstance(found, list) else []


def _usage(calls: Sequence[LlmCall]) -> Usage | None:
    """The tokens of all calls together; None where nobody counted."""
    counted = [call.usage for call in calls if call.usage is not None]
    names = ("prompt_tokens", "completion_tokens", "cached_tokens", "thinking_tokens")
    sums = {name: _sum([getattr(usage, name) for usage in counted]) for name in names}
    return Usage(**sums) if any(value is not None for value in sums.values()) else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _duration(trace: Trace) -> float | None:
    if trace.start_ns is None or trace.end_ns is None:
        return None
    return (trace.end_ns - trace.start_ns) / 1e6
