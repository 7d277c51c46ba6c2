"""Facts that the user tells, checked against the facts that the user holds: invented, wrong, or told before anybody
asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from howsure.judges.offline.words import root, singular
from howsure.model.case import Fact
from howsure.model.simulation import MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.checks.specifics import (
    EMAIL,
    UnknownSpecific,
    counted_nouns,
    find_days,
    find_figures,
    find_unknown_names,
    find_unknown_specifics,
    is_derivable,
    is_known,
    letters_and_digits,
    numbers_in,
    same_day,
)
from howsure.users.speech import asks_for_fact, lacks, may_concern_fact, requests
from howsure.users.words import all_roots, content_words, fold_case, listed_words, phrase, share, word_groups

_YES = re.compile(r"\A\W*(?:yes|yeah|yep|ja|oui|si|sim|i do|i have|i am|it is|correct|true)\b")
_NO = re.compile(r"\A\W*(?:no|nope|nein|non|nee|nao|none|never|i don't|i do not|i haven't|not)\b")
_KIND_ASKED: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(r"\b(?:when|date|day|wann|datum|quand|cuando|fecha|quando|wanneer|born|since)\b"),
    "number": re.compile(r"\b(?:number|code|id|reference|how (?:many|much|long)|nummer|numero|digits|details)\b"),
    "e-mail": re.compile(r"\b(?:e-?mail|contact|reach|send)\b"),
}
COUNTED = 100
"""Larger numbers do not count things: `$500 certificate` is not a number of certificates."""
LONG = 4
"""A value with this many letters and digits does not occur in a text by chance."""
CLOSE = 2
"""A wrong number may differ from the held one in this many characters and still be meant for it."""


def fact_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Every invented, wrong or unasked fact after the opening."""
    for turn in conversation.own_turns:
        known = "\n".join((conversation.user_knowledge, turn.agent_text, *turn.earlier))
        specifics = [
            *find_unknown_specifics(turn.text, turn.last_reply, known),
            *find_unknown_names(turn, known, conversation),
        ]
        found = [_fact_mistake(conversation, turn, one) for one in specifics]
        found += _wrong_counts(conversation, turn)
        if not any(slip.kind is MistakeKind.WRONG_FACT for slip in found):
            found += _wrong_answers(conversation, turn)
        # One mistake of each kind in a turn: the first says enough.
        first: dict[MistakeKind, UserMistake] = {}
        for slip in found:
            first.setdefault(slip.kind, slip)
        yield from first.values()
        yield from _unasked_facts(conversation, turn)


def _fact_mistake(conversation: SimulatedConversation, turn: UserTurn, specific: UnknownSpecific) -> UserMistake:
    """Wrong, when it stands in the place of a held fact; else invented."""
    fact = next((fact for fact in conversation.scenario.facts if _replaces_fact(fact, specific, turn)), None)
    if fact:
        reason = f"tells {specific.text!r} for `{fact.name}`; the user holds {fact.value!r}"
        return turn.mistake(MistakeKind.WRONG_FACT, reason, specific.sentence)
    reason = f"states the {specific.kind} {specific.text!r}, which neither the scenario nor the agent gave"
    return turn.mistake(MistakeKind.INVENTED_FACT, reason, specific.sentence)


def _replaces_fact(fact: Fact, specific: UnknownSpecific, turn: UserTurn) -> bool:
    if not _same_kind(fact, specific) or is_told(fact.value, turn.text):
        return False
    agent_asks = asks_for_fact(fact, turn.last_reply) or any(
        may_concern_fact(fact, one) for one in requests(turn.last_reply)
    )
    return agent_asks or may_concern_fact(fact, specific.sentence) or _is_typo_of(fact.value, specific.text)


def _same_kind(fact: Fact, specific: UnknownSpecific) -> bool:
    value = fact.value
    match specific.kind:
        case "e-mail address":
            return bool(EMAIL.search(value))
        case "date":
            return bool(find_days(value))
        case "name":
            return bool(re.search(r"\b[A-Z]", value)) and not find_figures(value)
        case "code" | "number" | "amount" | "time":
            return bool(find_figures(value) or counted_nouns(value)) and not EMAIL.search(value)
        case _:
            return False


def _is_typo_of(value: str, text: str) -> bool:
    one, other = letters_and_digits(value), letters_and_digits(text)
    if len(one) != len(other) or len(one) < LONG:
        return False
    return sorted(one) == sorted(other) or sum(a != b for a, b in zip(one, other, strict=True)) <= CLOSE


def is_told(value: str, text: str) -> bool:
    """Whether a fact's value occurs in a text in some form. Every character of an e-mail address counts."""
    if address := EMAIL.search(value):
        return address[0].casefold() in map(str.casefold, EMAIL.findall(text))
    if _occurs_in(value, text):
        return True
    if fact_days := find_days(value):
        return any(same_day(day, said) for day in fact_days for said in find_days(text))
    if "@" in value:
        return False
    if inside := find_figures(value):
        return all(is_known(figure, text) for figure in inside)
    words = frozenset(root(word) for word in content_words(value))
    return bool(words) and share(words, all_roots(text)) == 1.0


def _occurs_in(value: str, text: str) -> bool:
    """As it is written; a long value also with anything between its letters and digits: `no` is not in `I know`."""
    key = letters_and_digits(value)
    if len(key) >= LONG:
        return key in letters_and_digits(text)
    return bool(key) and bool(re.search(rf"(?<!\w){re.escape(fold_case(value.strip()))}(?!\w)", fold_case(text)))


def _wrong_answers(conversation: SimulatedConversation, turn: UserTurn) -> Iterator[UserMistake]:
    """A wrong answer that is not a number: another of the options, or yes for no."""
    for fact in conversation.scenario.facts:
        questions = [
            one for one in requests(turn.last_reply) if asks_for_fact(fact, one) or may_concern_fact(fact, one)
        ]
        if not questions or lacks(turn.text) or is_told(fact.value, turn.text):
            continue
        if (other := _other_option(fact.value, turn.text)) or (
            len(questions) == 1 and (other := _other_polarity(fact.value, turn.text))
        ):
            reason = f"tells {other!r} for `{fact.name}`; the user holds {fact.value!r}"
            yield turn.mistake(MistakeKind.WRONG_FACT, reason)


def _other_option(value: str, text: str) -> str:
    fact_words = set(fold_case(value).split())
    words: list[str] = re.findall(r"[^\W\d_]+", fold_case(text))
    for options in word_groups("options"):
        other = [word for word in words if word in options]
        if (
            fact_words.intersection(options)
            and other
            and not set(other) & fact_words
            and not re.search(rf"\b(?:not|no|except|nicht) (?:\w+ )?{other[0]}\b", fold_case(text))
        ):
            return other[0]
    return ""


def _other_polarity(value: str, text: str) -> str:
    """Only where the held value itself begins with yes or no."""
    fact_text, user_text = fold_case(value), fold_case(text)
    says_no = re.match(r"\A(?:no|none|nein|non|not)\b", fact_text)
    says_yes = re.match(r"\A(?:yes|ja|oui|si)\b", fact_text)
    if (says_no and _YES.match(user_text)) or (says_yes and _NO.match(user_text)):
        return str(text.split(",")[0][:40])
    return ""


def _wrong_counts(conversation: SimulatedConversation, turn: UserTurn) -> Iterator[UserMistake]:
    """`three bags` where the scenario has two and nobody mentioned three. Money and times do not count."""
    scenario_counts = _counts(conversation.user_knowledge)
    spoken = _counts("\n".join((turn.agent_text, conversation.user_knowledge, *turn.earlier)))
    around = f"{turn.agent_text}\n{conversation.facts}"
    for noun, values in _counts(turn.text).items():
        for value in values - spoken.get(noun, set()):
            known = value in numbers_in(around) or is_derivable(
                (value,), around, cue=bool(phrase("derivation").search(fold_case(turn.text)))
            )
            if noun in scenario_counts and 1 < value <= COUNTED and not known:
                reason = f"says {value:g} {noun}; the scenario says {min(scenario_counts[noun]):g}"
                yield turn.mistake(MistakeKind.WRONG_FACT, reason)


def _counts(text: str) -> dict[str, set[float]]:
    """The numbers of each thing that is counted."""
    counted: dict[str, set[float]] = {}
    for value, after in counted_nouns(text):
        if after.isalpha() and len(after) > 3 and singular(after) not in listed_words("not_counted"):
            counted.setdefault(root(after), set()).add(value)
    return counted


def _unasked_facts(conversation: SimulatedConversation, turn: UserTurn) -> Iterator[UserMistake]:
    """A fact told before the agent said anything that could be about it."""
    free = "\n".join((conversation.scenario_text, turn.agent_text, *turn.earlier))
    for fact in conversation.scenario.facts:
        # A value such as `yes` may occur in a text by chance.
        telling = find_figures(fact.value) or "@" in fact.value or len(content_words(fact.value)) > 1
        if not telling or not is_told(fact.value, turn.text) or is_told(fact.value, free):
            continue
        if (
            may_concern_fact(fact, turn.agent_text)
            or phrase("vague_request").search(fold_case(turn.agent_text))
            or _kind_is_asked(fact, turn.agent_text)
        ):
            continue
        reason = f"tells `{fact.name}` though nobody asked for it"
        yield turn.mistake(MistakeKind.UNASKED_FACT, reason, spoils=False)


def _kind_is_asked(fact: Fact, heard: str) -> bool:
    """Whether the agent asked for something of this kind, in words that are not tied to the fact."""
    questions = " ".join(requests(heard))
    known = [name for name in content_words(fact.name) if name in questions]
    kind = "e-mail" if "@" in fact.value else "date" if find_days(fact.value) else "number"
    if kind == "number" and not (known and find_figures(fact.value) and len(content_words(fact.name)) == 1):
        return False
    return bool(_KIND_ASKED[kind].search(questions))
