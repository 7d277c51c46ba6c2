"""What was said as the messages of a Transcript: each result at the call it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from howsure.dialects.documents import Json
from howsure.dialects.importers.chat_shapes import ASSISTANT, TOOL, Answer, Call, Said
from howsure.dialects.simulation_talk import from_events, objects_in
from howsure.model.transcript import Message


def placed(talk: Sequence[Said]) -> list[Said]:
    """Results that name no call belong to the earliest that waits for one; where none waits, they say nothing new."""
    waiting: list[Call] = []
    out: list[Said] = []
    for said in talk:
        waiting += said.calls
        answers: list[Answer] = []
        for answer in said.answers:
            fitting = (call for call in waiting if _answers(answer, call))
            call = next(fitting, None)
            if call is not None:
                waiting.remove(call)
                answers.append(Answer(answer.id or call.id, answer.name or call.name, answer.content))
            elif answer.id or answer.name:
                answers.append(answer)
        out.append(structs.replace(said, answers=tuple(answers)))
    return [said for said in out if not said.empty]


def _answers(answer: Answer, call: Call) -> bool:
    if answer.id and call.id:
        return answer.id == call.id
    return not answer.name or answer.name == call.name


def messages_of(talk: Sequence[Said]) -> tuple[Message, ...]:
    """The messages, each result at the call it answers."""
    return from_events([_event(said) for said in placed(talk)]).messages


def _event(said: Said) -> Json:
    parts: list[Json] = [{"text": said.text}] if said.text else []
    parts += [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in said.calls]
    parts += [
        {"functionResponse": {"id": one.id, "name": one.name, "response": _plain(one.content)}} for one in said.answers
    ]
    return {"author": said.agent or (ASSISTANT if said.role == TOOL else said.role), "content": {"parts": parts}}


def _plain(content: Any) -> Any:
    """A list of texts is one text."""
    texts = [one.get("text") for one in objects_in(content)]
    return "\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else content
