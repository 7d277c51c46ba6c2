"""Empty answers get the lowest value without asking a judge. An answer is empty when it has no letter, digit or
picture; a single word is an answer and goes to the judge."""

from __future__ import annotations

import string
import unicodedata

from howsure.judges.base import JudgeReply, Question
from howsure.judges.judge_prompts import ReplyKind, choose_prompt, prompt_names
from howsure.judges.quotations import show_hidden
from howsure.model.transcript import Role

EMPTY_ANSWER_RULE = "rule: empty answer"
EMPTY = "the answer is empty"
ONLY_PUNCTUATION = "the answer has nothing but punctuation"
ABOUT_OTHERS = frozenset({"simulator_fidelity_judged"})
"""Graders that ask about somebody other than the agent that answered."""

_LAST_ANSWER = frozenset({"answer", "answer_text"})
# These inputs show more of the agent than its last answer: what it said or did before counts too.
_WHOLE_CONVERSATION = frozenset({"trace", "conversation", "tool_calls", "steps"})
# Letters and symbols that print as nothing.
_BLANK = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


def empty_answer_reply(question: Question) -> JudgeReply | None:
    """The lowest ruling, where the judge would be shown nothing that the agent said or did. None: ask the judge."""
    if not is_blank(question.transcript.answer) or question.prompt or question.parts:
        return None
    if question.grader in ABOUT_OTHERS or not prompt_names(question.grader) or not _shows_nothing(question):
        return None
    # It meets no criterion, not even one that costs points.
    head = choose_prompt(question).head
    reason = EMPTY if not show_hidden(question.transcript.answer).strip() else ONLY_PUNCTUATION
    lowest = {"passed": False} if head.reply is ReplyKind.CHECK else {"score": head.scale[0]}
    return JudgeReply(content={"reason": reason, **lowest}, judge=EMPTY_ANSWER_RULE, cost_usd=0.0)


def is_blank(text: str) -> bool:
    """Nothing but spaces, punctuation and invisible characters. Emoji are not blank."""
    # Most answers begin with a letter and need no closer look.
    if text[:1].isascii() and text[:1].isalnum():
        return False
    return all(
        (character in string.punctuation or character in _BLANK or unicodedata.category(character)[0] in "PZCM")
        for character in text
    )


def _shows_nothing(question: Question) -> bool:
    """Whether the inputs of the prompt show nothing of an agent whose last answer is blank."""
    inputs = frozenset(choose_prompt(question).head.inputs)
    if inputs.isdisjoint(_WHOLE_CONVERSATION):
        return not inputs.isdisjoint(_LAST_ANSWER)
    transcript = question.transcript
    if transcript.tool_calls and ("trace" in inputs or "tool_calls" in inputs):
        return False
    messages = (message for message in transcript.messages if message.role is Role.ASSISTANT and not message.tool_calls)
    return all(is_blank(message.content) for message in messages)
