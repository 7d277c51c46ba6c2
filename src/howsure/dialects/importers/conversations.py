"""Agent conversations as evaluation SDKs log them: lines with `messages` and `tools`, or `query` and `response`, each a
list of messages or plain text. docs/importers.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.golden import labels
from howsure.dialects.importers.base import text_hash
from howsure.dialects.importers.chat_messages import (
    ASSISTANT,
    USER,
    LoggedMessage,
    read_messages,
    tools_in,
    transcript_messages,
)
from howsure.dialects.importers.records import RecordFields, head_columns, is_empty, records
from howsure.dialects.lines import Row
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.simulation import RepeatNumbers
from howsure.dialects.simulation_rows import last_answer
from howsure.errors import Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import Role, Transcript

_CONVERSATION = ("messages", "conversation", "query", "response")
_TOOLS = ("tools", "tool_definitions")
_KNOWN = {*_CONVERSATION, *_TOOLS, "context", "ground_truth"}
_FOREIGN = ("inputs.", "outputs.")
"""Prefixes of the columns of evaluation results."""
_OTHERS = {"task_type", "schema_version", "expected_tool_use", "required_evals", "user_inputs", "golden_questions"}
"""Columns of other kinds of file."""
_IN_A_MESSAGE = {"role", "content", "tool_calls", "tool_call_id", "name", "type"}
DETAILS = "message_details"
"""The metadata key with what messages say about themselves: times, runs."""


class ConversationImporter(WatchedDialect):
    """JSONL or CSV of finished conversations."""

    name = "conversations"

    def is_plain(self, path: Path) -> bool:
        """Runs read such a file as a plain table; this reads it where files are converted."""
        return True

    def detect(self, path: Path, head: bytes) -> bool:
        columns = head_columns(path, head)
        if columns & _OTHERS or any(column.startswith(_FOREIGN) for column in columns):
            return False
        if "query" in columns:
            return bool(columns & {"response", "ground_truth", "tool_definitions"})
        return bool(columns & {"messages", "conversation"}) and (columns <= _KNOWN or bool(columns & set(_TOOLS)))

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        numbers = RepeatNumbers()
        for spot, row in records(path, watch):
            if isinstance(row, Problem):
                yield row
                continue
            fields = RecordFields(row, spot)
            case = _case(fields, row)
            yield from fields.problems
            if case is not None and fields.sound:
                yield numbers.numbered(case)


def _case(fields: RecordFields, row: Row) -> Case | None:
    if any(column.startswith(_FOREIGN) for column in row):
        message = "is a line of an evaluation's results, not a conversation"
        fields.wrong("", "wrong-kind", message, expected=", ".join(_CONVERSATION), found=", ".join(list(row)[:4]))
        return None
    messages_logged, answered = _all_messages(fields)
    turns = [message.text for message in messages_logged if message.role == USER and message.text]
    if not turns:
        if fields.sound:
            message = "nothing in this row tells what the user said"
            expected = "`query`, `messages` or `conversation`"
            fields.wrong("query", "no-user-inputs", message, expected=expected, found=", ".join(row))
        return None
    tools = _tools(fields)
    reference = fields.left.pop("ground_truth", None)
    metadata = fields.metadata()
    if not is_empty(reference):
        metadata["reference_data"] = {"expected_response": reference}
    messages = transcript_messages(messages_logged)
    answer = "" if messages and messages[-1].role is Role.USER else last_answer(messages)
    return Case(
        id=f"sim-{text_hash(turns)}",
        input=Script(turns=tuple(turns)),
        world=World.GOLDEN,
        labels=labels({}, repeat="1"),
        metadata=metadata,
        tools=tools,
        recorded=Transcript(answer=answer, messages=messages) if answered else None,
    )


def _all_messages(fields: RecordFields) -> tuple[list[LoggedMessage], bool]:
    """All messages, and whether the agent's side is among them."""
    conversation = fields.left.get("conversation")
    for name in ("messages", "conversation"):
        if not is_empty(fields.left.get(name)):
            raw = fields.left.pop(name)
            if name == "conversation" and isinstance(conversation, dict):
                if others := {
                    key: value for key, value in conversation.items() if key != "messages" and not is_empty(value)
                }:
                    fields.left["conversation"] = others
                raw = conversation.get("messages")
            messages = _read(fields, name, raw, USER)
            return messages, any(message.role == ASSISTANT for message in messages)
    query = _read(fields, "query", fields.left.pop("query", None), USER)
    response = fields.left.pop("response", None)
    # An empty answer was given; an absent one was not recorded.
    if response is None:
        return query, False
    return [*query, *_read(fields, "response", response, ASSISTANT)], True


def _read(fields: RecordFields, name: str, raw: Any, role: str) -> list[LoggedMessage]:
    if isinstance(raw, str):
        return [LoggedMessage(role, raw)] if raw.strip() else []
    if raw is None:
        return []
    if isinstance(raw, list) and all(isinstance(one, dict) for one in raw):
        return _messages(raw, role, fields, fields.spot.below(name))
    message = f"must be a text or a list of messages, not {with_article(kind_of(raw))}"
    fields.wrong(name, "wrong-type", message, expected="a text or a list of messages", found=shown(raw))
    return []


def _messages(raw_messages: Sequence[Row], role: str, fields: RecordFields, spot: Spot) -> list[LoggedMessage]:
    messages: list[LoggedMessage] = []
    for place, one in enumerate(raw_messages):
        read = read_messages(one, role)
        if not read and not is_empty(one.get("content")):
            message = "is no message that can be read"
            expected = "role and content"
            fields.problems.append(
                spot.below(place).problem("bad-message", message, expected=expected, found=shown(one))
            )
        messages += read
        if about := {key: value for key, value in one.items() if key not in _IN_A_MESSAGE and not is_empty(value)}:
            fields.left.setdefault(DETAILS, []).append({"field": spot.below(place).prefix, **about})
    return messages


def _tools(fields: RecordFields) -> Any:
    for name in _TOOLS:
        declared = fields.left.get(name)
        if is_empty(declared):
            continue
        tools = tools_in(declared)
        if tools is None:
            message, expected = "declares no tool that can be read", "a list of tools with name and parameters"
            fields.wrong(name, "wrong-type", message, expected=expected, found=shown(declared))
        del fields.left[name]
        return tools
    return None
