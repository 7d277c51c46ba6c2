"""Harmless changes: an answer said again in other clothes. Nothing that is said changes, so no verdict ought to. Every
change is deterministic; one that does not apply (to JSON, to an empty answer) leaves the subject alone and says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.answer_text import judged_text
from howsure.model.case import Case
from howsure.model.expectation import Criteria, Expectation, WeightedCriteria
from howsure.model.rubric import Rubric
from howsure.model.transcript import Message, Role, Transcript

PADDING = (
    "Thank you for reading this far.",
    "The above is what can be said about the matter.",
    "Please take the time you need to go through it.",
)
SYNONYMS = {
    "also": "additionally",
    "because": "since",
    "big": "large",
    "buy": "purchase",
    "can't": "cannot",
    "cannot": "can't",
    "do not": "don't",
    "does not": "doesn't",
    "doesn't": "does not",
    "don't": "do not",
    "happy to": "glad to",
    "however": "nevertheless",
    "i am": "i'm",
    "i will": "i'll",
    "i'll": "i will",
    "i'm": "i am",
    "is not": "isn't",
    "isn't": "is not",
    "it is": "it's",
    "maybe": "perhaps",
    "quickly": "rapidly",
    "right away": "immediately",
    "roughly": "approximately",
    "until": "till",
    "usually": "normally",
    "via": "through",
    "we are": "we're",
    "we will": "we'll",
    "we'll": "we will",
    "we're": "we are",
    "whole": "entire",
    "you are": "you're",
    "you will": "you'll",
    "you'll": "you will",
    "you're": "you are",
}
"""Words that can stand for each other whatever stands beside them."""
SENTENCE = 3
"""Words from which a text inside JSON is a sentence, and not a name or a code."""
_WORDS = re.compile(r"\b(?:" + "|".join(sorted(SYNONYMS, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")


class Subject(Struct, frozen=True, kw_only=True):
    """What a judge is asked about."""

    case: Case
    transcript: Transcript
    rubric: Rubric | None = None


class Perturbation(Struct, frozen=True, kw_only=True):
    """One change. `apply` gives None where it does not apply; `again`: the same question, asked anew."""

    name: str
    about: str
    apply: Callable[[Subject], Subject | None]
    again: bool = False


def answering(transcript: Transcript, answer: str) -> Transcript:
    """The conversation with another last answer: in the answer itself, and in the message that it was."""
    messages = list(transcript.messages)
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        said = message.role is Role.ASSISTANT and not message.tool_calls
        if said and message.content.strip() == transcript.answer.strip():
            messages[place] = replace(message, content=answer)
            break
    else:
        if messages:
            messages.append(Message(role=Role.ASSISTANT, content=answer))
    return replace(transcript, answer=answer, messages=tuple(messages))


def _reworded(change: Callable[[str], str | None]) -> Callable[[Subject], Subject | None]:
    def apply(subject: Subject) -> Subject | None:
        answer = subject.transcript.answer
        changed = change(answer) if answer.strip() else None
        if changed is None or changed == answer:
            return None
        return replace(subject, transcript=answering(subject.transcript, changed))

    return apply


def is_structured(answer: str) -> bool:
    """Whether the answer is JSON: its form is part of what it says."""
    return judged_text(answer) != answer


def within(answer: str, change: Callable[[str], str]) -> str | None:
    """The answer with its sentences changed: all of it, or, of JSON, the texts that have several words."""
    if not is_structured(answer):
        return change(answer)
    try:
        value = json.loads(answer)
    except ValueError:
        return None
    return json.dumps(_changed(value, change), ensure_ascii=False)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value) if len(value.split()) >= SENTENCE else value
    if isinstance(value, dict):
        return {key: _changed(each, change) for key, each in value.items()}
    return [_changed(each, change) for each in value] if isinstance(value, list) else value


def spaced(answer: str) -> str | None:
    """More space between lines and around the whole; inside JSON, space means nothing."""
    if is_structured(answer):
        return f"\n{answer}\n\n"
    return "\n\n".join(line.rstrip() + "  " if line.strip() else line for line in answer.split("\n")) + "\n\n"


def marked_up(answer: str) -> str | None:
    """As a markdown list, one sentence each; JSON in a fence."""
    if is_structured(answer):
        return None if answer.strip().startswith("```") else f"```json\n{answer}\n```"
    sentences = [sentence for line in answer.splitlines() for sentence in _SENTENCE.split(line) if sentence.strip()]
    return "\n".join(f"- {sentence.strip()}" for sentence in sentences)


def lowered(answer: str) -> str | None:
    return within(answer, str.lower)


def padded(answer: str) -> str | None:
    """Three sentences more; of JSON, behind its longest text."""
    longest = max(judged_text(answer).splitlines(), key=len, default="")
    padding = " ".join(PADDING)
    if not is_structured(answer):
        return f"{answer}\n\n{padding}"
    return within(answer, lambda text: f"{text} {padding}" if text.strip() == longest else text)


def paraphrased(answer: str) -> str | None:
    """Contractions and a table of synonyms, each word at most once round."""
    return within(answer, lambda text: _WORDS.sub(_synonym, text))


def _synonym(found: re.Match[str]) -> str:
    """With the capital that the word had."""
    other = SYNONYMS[found[0].lower()]
    return other[0].upper() + other[1:] if found[0][0].isupper() else other


def _turned(subject: Subject) -> Subject | None:
    """Criteria and rules in the opposite order."""
    case = replace(subject.case, expectations=tuple(map(_backwards, subject.case.expectations)))
    rubric = subject.rubric and replace(subject.rubric, rules=subject.rubric.rules[::-1])
    same = case == subject.case and (rubric is None or rubric == subject.rubric)
    return None if same else replace(subject, case=case, rubric=rubric)


def _backwards(expectation: Expectation) -> Expectation:
    if isinstance(expectation, Criteria | WeightedCriteria):
        return replace(expectation, criteria=expectation.criteria[::-1])
    return expectation


PERTURBATIONS = (
    Perturbation(name="repeat", about="the same question, asked anew", apply=lambda subject: subject, again=True),
    Perturbation(name="whitespace", about="more space between lines", apply=_reworded(spaced)),
    Perturbation(name="markdown", about="as a list, JSON in a fence", apply=_reworded(marked_up)),
    Perturbation(name="lower case", about="without capitals", apply=_reworded(lowered)),
    Perturbation(name="verbosity", about="three sentences that say nothing added", apply=_reworded(padded)),
    Perturbation(name="paraphrase", about="contractions and synonyms", apply=_reworded(paraphrased)),
    Perturbation(name="order of criteria", about="criteria and rules from last to first", apply=_turned),
)
