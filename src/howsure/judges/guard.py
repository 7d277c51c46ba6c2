"""The judge that needs not be asked: an answer without a single letter, digit or picture has the lowest value there is,
whatever the question. One word is an answer, and goes to the judge."""

from __future__ import annotations

import string
import unicodedata
from typing import Any

from howsure.judges.base import Judge, Question, Reply
from howsure.judges.prompt_files import ReplyKind, prompt_names
from howsure.judges.prompting import prompt_for
from howsure.judges.quoting import visible
from howsure.judges.recording import Covering
from howsure.model.case import Case
from howsure.model.score import Part
from howsure.model.transcript import Role, Transcript

NAME = "rule: empty answer"
REASON = "the answer is empty"
ONLY_MARKS = "the answer has nothing but punctuation"

_LAST = frozenset({"answer", "answer_text"})
# What shows more of the agent than its last answer: what it said or did before counts too.
_WHOLE = frozenset({"trace", "conversation", "tool_calls", "steps"})
# Letters and symbols that print as nothing.
_BLANK = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


ABOUT_OTHERS = frozenset({"simulator_fidelity_judged"})
"""Graders that ask about somebody else than the one who answered."""


class GuardedJudge:
    """Asks `judge`, unless there is nothing to judge."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whatever the judge says; one that cannot say can be asked anything."""
        return self._judge.covers(case, grader, part) if isinstance(self._judge, Covering) else True

    async def ask(self, question: Question) -> Reply:
        about_answer = not question.prompt and question.grader not in ABOUT_OTHERS and prompt_names(question.grader)
        if about_answer and says_nothing(question):
            return Reply(content=lowest(question), judge=NAME, cost_usd=0.0)
        return await self._judge.ask(question)


def says_nothing(question: Question) -> bool:
    """Whether the judge of this question would be shown nothing that the agent said or did."""
    if not is_blank(question.transcript.answer):
        return False
    sees = frozenset(prompt_for(question).head.inputs)
    if sees.isdisjoint(_WHOLE):
        return not sees.isdisjoint(_LAST)
    return not _did_anything(question.transcript, "trace" in sees or "tool_calls" in sees)


def is_blank(text: str) -> bool:
    """Nothing but spaces, punctuation and what cannot be seen. Emoji are something."""
    # Most answers begin with a letter, and need no closer look.
    if text[:1].isascii() and text[:1].isalnum():
        return False
    return all(_is_mark(character) for character in text)


def lowest(question: Question) -> dict[str, Any]:
    """The reply for an answer that is not there. No criterion is met by it, not even one that costs points."""
    prompt = prompt_for(question)
    reason = REASON if not visible(question.transcript.answer).strip() else ONLY_MARKS
    if prompt.head.reply is ReplyKind.CHECK:
        return {"reason": reason, "passed": False}
    return {"reason": reason, "score": prompt.head.scale[0]}


def _did_anything(transcript: Transcript, tools_count: bool) -> bool:
    if tools_count and transcript.tool_calls:
        return True
    said = (message for message in transcript.messages if message.role is Role.ASSISTANT and not message.tool_calls)
    return any(not is_blank(message.content) for message in said)


def _is_mark(character: str) -> bool:
    if character in string.punctuation or character in _BLANK:
        return True
    return unicodedata.category(character)[0] in "PZCM"
