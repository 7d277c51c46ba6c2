"""Whether the user goes in circles: says again what was answered."""

from __future__ import annotations

from collections.abc import Iterator

from howsure.model.simulation import Slip, SlipKind
from howsure.users.asked import is_asked
from howsure.users.checks.facts import is_told
from howsure.users.checks.talk import Talk, Turn
from howsure.users.phrases import ASKS_AGAIN, either
from howsure.users.speech import alike, is_closing, said_words, waits
from howsure.users.words import plain

_INSISTS = either(
    r"insist\w*",
    r"repeat\w*",
    r"persist\w*",
    r"keeps? (?:asking|saying|on)",
    r"stubborn\w*",
    r"over and over",
    r"same (?:question|thing)",
    r"beharr\w+",
    r"hartnackig\w*",
    r"insiste\w*",
)
SHORT = 4
LONG = 8


def repeat_slips(talk: Talk) -> Iterator[Slip]:
    """Every turn that says again what was answered."""
    for turn in talk.later:
        if turn.text in talk.steps and turn.text not in turn.own:
            continue  # the plan says it, word for word
        if again := _said_before(talk, turn):
            yield turn.slip(SlipKind.REPEATED, f"says again what it said in turn {again}, though it was answered")


def _said_before(talk: Talk, turn: Turn) -> int | None:
    """The earlier turn that says the same. Short words, answers asked for again and planned insisting are no loop."""
    words = said_words(turn.text)
    if len(words) < SHORT or _INSISTS.search(plain(talk.written)) or is_closing(turn.text):
        return None
    for number, own in enumerate(turn.own, start=1):
        whole = len(said_words(own)) >= LONG and plain(own).strip(" .!?") in plain(turn.text)
        same = alike(turn.text, own, least=0.9 if len(words) < LONG else 0.8)
        if (same or whole) and not _had_to(talk, turn, number):
            return number
    return None


def _had_to(talk: Talk, turn: Turn, number: int) -> bool:
    """The agent asked for it again, said the same again itself, or said nothing."""
    first, now = turn.replies[number - 1].text, turn.before
    if ASKS_AGAIN.search(plain(now)) or not said_words(now):
        return True
    if number < turn.number - 1 and alike(turn.replies[number - 1].text, now):
        return True
    asked = any(is_asked(fact, now) and is_told(fact.value, turn.text) for fact in talk.scenario.facts)
    before = turn.replies[number - 2].text if number > 1 else ""
    return asked or bool(before and alike(before, now)) or (number == turn.number - 1 and waits(first))
