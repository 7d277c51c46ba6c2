"""The grader `choice`: was a multiple-choice question answered with exactly the correct options?

`read_choice` tries the surest sign first: the whole answer is an id, a list of ids, an option's text or JSON; the
answer states its choice in words (choice_statements.py); it begins with an id; one id is in bold; it begins with an
option's text; it is a few words with one id among them. If two signs of the same strength disagree, the choice is
unclear."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import normalize

from howsure.graders.choice_options import (
    CONTRADICTORY,
    FILLER,
    NO_CHOICE,
    NOTHING_READ,
    ChoiceOptions,
    ChoiceReading,
    ChosenOptions,
    UnclearChoice,
    choice_phrase,
)
from howsure.graders.choice_statements import is_json_object, read_json, read_statements
from howsure.graders.expectations import ExpectationGrader
from howsure.matching.text import words
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.score import Score
from howsure.model.transcript import Transcript

_MOST_ANSWER_SHOWN = 500
_REQUESTED_FORM = re.compile(r"Answer: (?P<id>[0-9A-Za-z])\s*")
# Some models print their thinking between other brackets, or in a separate channel.
_OTHER_BRACKETS = re.compile(r"(?:\[|◁|<seed:)(?P<name>/?think)(?:\]|▷|>)|</seed:think>", re.IGNORECASE)
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad)\b[^>]*>.*?(?:</\1\s*>|\Z)"
    r"|<\|channel\|>(?:analysis|commentary).*?(?=<\|channel\|>final|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END_OF_THINKING = re.compile(
    r"</(?:think|thinking|thought|reasoning)\s*>|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_STRUCK = re.compile(r"~~[^~\n]+~~")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?P<inside>[^*\n]+)\*\*|__(?P<under>[^_\n]+)__")
_SENTENCE = choice_phrase("sentence")


def read_choice(answer: str, choices: Sequence[Choice]) -> ChoiceReading | None:
    """The choice, or why it is unclear. None: the answer is empty apart from its thinking."""
    options = ChoiceOptions(choices)
    if answer in options.ids and options.named_by_text(answer) in (None, ChosenOptions((answer,))):
        return ChosenOptions((answer,))
    return _read_requested_form(answer, options) or search_choice(answer, options)


def _read_requested_form(answer: str, options: ChoiceOptions) -> ChosenOptions | None:
    """The reply that the prompt asks for and nothing else: `Answer: B`. This is a shortcut: a search would find the
    same and take much longer. None if an option's own text could also be meant by these words."""
    match = _REQUESTED_FORM.fullmatch(answer)
    if match is None or not options.one_sign_each or (named := match["id"]) not in options.ids:
        return None
    texts = options.by_text
    return None if words(answer) in texts or words(named) in texts else ChosenOptions((named,))


def search_choice(answer: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The choice by the surest sign that the answer gives."""
    text = visible_text(answer)
    if not text:
        return None
    for read_sign in _SURE_SIGNS if is_json_object(text) else (*_SURE_SIGNS, *_WEAK_SIGNS):
        reading = read_sign(text, options)
        if reading is not None:
            return reading
    named = options.named_anywhere(text)
    if len(named) > 1:
        return UnclearChoice(f"several choices are named ({', '.join(named)}) and none is stated")
    return UnclearChoice(NOTHING_READ, NO_CHOICE)


def visible_text(answer: str) -> str:
    """The answer without thinking, quotations, struck-out text and invisible characters, in one Unicode form (NFKC)."""
    text = _INVISIBLE.sub("", normalize("NFKC", answer))
    text = _THINKING.sub("", _OTHER_BRACKETS.sub(lambda tag: f"<{tag['name'] or '/think'}>", text))
    ends = [match.end() for match in _END_OF_THINKING.finditer(text)]
    text = text[ends[-1] if ends else 0 :].strip()
    unquoted = _QUOTED_LINE.sub("", text).strip() or text
    # An answer that is struck out completely is not empty: it chooses nothing.
    return _STRUCK.sub("", unquoted).strip() or unquoted[:2]


def _read_whole(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The whole answer is an id, an option's text, an id with its text, or JSON."""
    by_text = options.named_by_text(text)
    known = options.id_of(text.strip("*_`\"'()[]{}.:, \n\t"))
    if known is not None:
        if by_text is None or by_text == ChosenOptions((known,)):
            return ChosenOptions((known,))
        return UnclearChoice(f"{text!r} is the id of one choice and the text of another", CONTRADICTORY)
    ids = _read_id_with_own_text(text, options) or options.read_run(text) or _read_list_of_options(text, options)
    return by_text or ids or read_json(text, options)


def _read_id_with_own_text(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    plain = words(text)
    both = [choice.id for choice in options.choices if plain == f"{words(choice.id)} {words(choice.text)}"]
    if len(both) != 1:
        return None
    # For example "A) -12" where A is 12 and B is -12.
    reading = options.read_ids(text)
    return reading if isinstance(reading, UnclearChoice) else ChosenOptions((both[0],))


def _read_leading_id(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The answer begins with an id, and no other line begins with another."""
    labels = options.labels(text)
    if len(set(labels)) > 1:
        return UnclearChoice(f"several choices are set out ({', '.join(dict.fromkeys(labels))}) and none is stated")
    reading = options.read_ids(text[: options.reach], strict=True)
    return reading if _is_label(text, reading, options) else None


def _read_list_of_options(text: str, options: ChoiceOptions) -> ChosenOptions | None:
    """The answer lists some of the options, one on each line, and nothing else."""
    ids: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        reading = options.read_ids(line, strict=True)
        if not isinstance(reading, ChosenOptions) or not (
            options.nothing_but_ids(line) or _read_id_with_own_text(line, options)
        ):
            return None
        ids += reading.ids
    return options.chosen(ids) if len(set(ids)) < len(options.ids) else None


def _is_label(text: str, reading: ChoiceReading | None, options: ChoiceOptions) -> bool:
    """Whether the id is a label and not the initial of a name, as in "A. Smith sued B."."""
    if reading is None or isinstance(reading, UnclearChoice) or len(reading.ids) != 1:
        return reading is not None
    match = options.id_pattern.search(text)
    if match is None or not text.startswith(".", match.end()):
        return True
    if _SENTENCE.match(text, match.end()):
        return True
    own = words(next(choice.text for choice in options.choices if choice.id == reading.ids[0]))
    if words(text[match.end() :]).startswith(own):
        return True
    return all(options.id_of(other["id"]) in reading.ids for other in options.mentions(text[match.end() :]))


def _read_bold(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """Exactly one choice is in bold."""
    inside = [match["inside"] or match["under"] for match in _BOLD.finditer(text)]
    readings = {reading for each in inside if (reading := options.read(each, strict=True)) is not None}
    if len(readings) > 1:
        return UnclearChoice("several choices are in bold and none is stated")
    return readings.pop() if readings else None


def _read_leading_text(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The answer begins with the text of an option, or its last line is one, and it holds no other option's text."""
    lines = {reading for line in text.splitlines() if (reading := options.named_by_text(line)) is not None}
    if len(lines) > 1:
        return UnclearChoice("several lines are the text of a choice and none is stated")
    reading = options.beginning_with_text(text) or options.named_by_text(text.splitlines()[-1])
    if not isinstance(reading, ChosenOptions):
        return reading
    own = " ".join(words(choice.text) for choice in options.choices if choice.id in reading.ids)
    plain = f" {words(text)} "
    others = [ids[0] for each, ids in options.by_text.items() if each not in own and f" {each} " in plain]
    return UnclearChoice(f"the answer has the text of {', '.join((*reading.ids, *others))}") if others else reading


def _read_few_words(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The answer is a few words, such as "It's B." or "It's larceny."."""
    tokens = text.strip(" .!").split()
    bare = [token.strip("*_`\"'()[].,:!") for token in tokens]
    ids = [token for token in bare if token in options.ids]
    others = [token.casefold() for token in bare if token not in options.ids]
    if len(ids) == 1 and bare[-1] == ids[0] and all(token in FILLER for token in others):
        return ChosenOptions((ids[0],))
    start = next((at for at, token in enumerate(bare) if token.casefold() not in FILLER), len(bare))
    return options.named_by_text(" ".join(tokens[start:]))


_SURE_SIGNS: tuple[Callable[[str, ChoiceOptions], ChoiceReading | None], ...] = (_read_whole, read_statements)
_WEAK_SIGNS: tuple[Callable[[str, ChoiceOptions], ChoiceReading | None], ...] = (
    _read_leading_id,
    _read_bold,
    _read_leading_text,
    _read_few_words,
)
"""Not tried on a JSON object: its first key would count as the beginning of the answer."""


class ChoiceGrader(ExpectationGrader[CorrectChoice]):
    """An answer whose choice is unclear is wrong, like an empty one. Its flag says in what way: it names no choice,
    several, or contradicts itself."""

    name = "choice"
    only_with = (CorrectChoice,)

    def grade_one(self, expected: CorrectChoice, transcript: Transcript) -> Score:
        answer = transcript.answer
        reading = read_choice(answer, expected.choices)
        chosen = list(reading.ids) if isinstance(reading, ChosenOptions) else []
        right = isinstance(reading, ChosenOptions) and set(chosen) == set(expected.correct)
        flag = "" if chosen else NO_CHOICE
        details: dict[str, Any] = {"chosen": chosen, "correct": list(expected.correct)}
        if isinstance(reading, UnclearChoice):
            reason, flag = reading.reason, reading.kind
            details["answer"] = answer[:_MOST_ANSWER_SHOWN]
        elif reading is None:
            reason = "the answer is empty"
        else:
            named = " and ".join(chosen) or "nothing"
            correct = "which is correct" if right else f"correct is {' and '.join(expected.correct)}"
            reason = f"chose {named}{',' if right else ';'} {correct}"
        return Score(name=self.name, value=float(right), pass_mark=1.0, reason=reason, flag=flag, details=details)
