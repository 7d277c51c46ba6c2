"""Whether the conversation ends where it should: not before the goal, and not long after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from howsure.model.case import PlanStep
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.checks.facts import is_told
from howsure.users.checks.plan import is_said, step_words
from howsure.users.conditions import ConditionStatus, check_condition, check_condition_ever
from howsure.users.speech import (
    ASKS_AGAIN,
    alike,
    asks_for_fact,
    either,
    is_closing,
    is_done,
    is_question,
    lacks,
    offers_more,
    refuses,
    requests,
    said_words,
    takes_leave,
    unanswerable_requests,
    waits,
    waits_for,
)
from howsure.users.words import fold_case, roots, share

_LEAVING = (Ending.GOAL_REACHED, Ending.GAVE_UP)
_TO_PEOPLE = re.compile(
    r"\b(?:transfer|human|colleague|connect|escalat|specialist|representative|hand(?:ing|ed)? (?:you |this )?over|"
    r"person|kolleg|mitarbeiter|conseiller|agente|operat)",
)
_SMALL_TALK = re.compile(
    r"\b(?:how are you|how's your day|how is your day|tell me about yourself|are you (?:a |an )?(?:robot|human|ai|"
    r"real person)|"
    r"what's your (?:favou?rite|name)|do you (?:like|enjoy)|what do you think about)\b"
)
GREETING = 15
ANSWERED = 0.34


def course_mistakes(talk: SimulatedConversation) -> Iterator[UserMistake]:
    """Stopping early, going on."""
    yield from _stopped(talk)
    yield from _went_on(talk)


def _stopped(talk: SimulatedConversation) -> Iterator[UserMistake]:
    """At the turn with which the user left."""
    if not talk.turns:
        return
    last = talk.turns[-1]
    for turn in talk.later:
        if is_closing(turn.text) and (pending := _pending(talk, turn.before)) and not is_done(turn.before):
            yield turn.slip(MistakeKind.STOPPED_EARLY, f"takes leave while {pending}")
            return
    if reason := _left_early(talk):
        yield last.slip(MistakeKind.STOPPED_EARLY, reason)


def _left_early(talk: SimulatedConversation) -> str:
    match talk.ending:
        case Ending.GOAL_REACHED:
            return _not_reached(talk) or _left_unsaid(talk)
        case Ending.GAVE_UP:
            return _without_cause(talk)
        case Ending.TURN_LIMIT if len(talk.turns) < talk.scenario.max_turns:
            return f"the turn limit is {talk.scenario.max_turns}, and {len(talk.turns)} messages were sent"
        case Ending.HANDED_OFF if not _may_be_handed_off(talk):
            return "says that it was handed to a person, and nothing shows it"
        case _:
            return ""


def _pending(talk: SimulatedConversation, reply: str) -> str:
    """What the agent still waits for; empty when it waits for nothing."""
    asked = waits_for(reply)
    if not asked or offers_more(reply):
        return ""
    return f"the agent still asks: {asked[-1]}"


def _not_reached(talk: SimulatedConversation) -> str:
    """The last reply leaves it open: a question, a no, a promise to look. A goodbye after it changes nothing."""
    reply = talk.last_reply
    if not reply:
        return "the agent has not said anything yet"
    if (pending := _pending(talk, reply)) and not is_done(reply):
        return f"the goal counts as reached while {pending}"
    if is_done(reply):
        return ""
    if all(map(_only_greets, (one.text for one in talk.exchanges))):
        return "the goal counts as reached, and the agent has only greeted"
    done = any(is_done(one.text) for one in talk.exchanges)
    if not done and waits(reply) and not _answers_goal(talk, reply):
        return "the goal counts as reached while the agent is still looking"
    if not done and _plainly_refused(talk, reply):
        return "the goal counts as reached, and the agent refused"
    return ""


def _only_greets(reply: str) -> bool:
    """`Hello! How can I help you today?`"""
    return offers_more(reply) and len(said_words(reply)) <= GREETING and not is_done(reply) and not refuses(reply)


def _plainly_refused(talk: SimulatedConversation, reply: str) -> bool:
    """A no in the last sentence, to a user who wants something done rather than known."""
    wants_to_know = re.search(
        r"\b(?:know|learn|find out|understand|why|whether|information|wissen|savoir|saber|sapere|weten)\b",
        fold_case(talk.scenario.goal),
    )
    return (
        bool(talk.scenario.goal)
        and not wants_to_know
        and refuses(reply)
        and not offers_more(reply)
        and not _answers_goal(talk, reply)
    )


def _answers_goal(talk: SimulatedConversation, reply: str) -> bool:
    return (
        not refuses(reply) and share(roots(talk.scenario.goal), roots(reply)) >= ANSWERED and bool(talk.scenario.goal)
    )


def _left_unsaid(talk: SimulatedConversation) -> str:
    """A step that was due and that neither side came to."""
    everything = "\n".join([*(turn.text for turn in talk.turns), *(one.text for one in talk.exchanges)])
    said = "\n".join(turn.text for turn in talk.later)
    spoken = {turn.text for turn in talk.later}
    for step in talk.scenario.plan:
        if (
            step.say not in spoken
            and step_words(step)
            and _is_due(talk, step)
            and not is_said(step, everything, ANSWERED)
            and not is_said(step, said, ANSWERED)
        ):
            return f"leaves although {step.say!r} was never said"
    return ""


def _is_due(talk: SimulatedConversation, step: PlanStep) -> bool:
    return not step.when or check_condition_ever(step.when, talk.exchanges) is ConditionStatus.YES


def _without_cause(talk: SimulatedConversation) -> str:
    """Giving up needs a reason: a no, a failure, circles, questions that the user cannot answer."""
    replies = [one.text for one in talk.exchanges]
    if any(map(refuses, replies)) or any(lacks(turn.text) for turn in talk.turns):
        return ""
    if any(alike(one, other) for one, other in pairwise(replies)) or not all(map(said_words, replies)):
        return ""
    if (
        _pending(talk, replies[-1])
        and not any(asks_for_fact(fact, replies[-1]) for fact in talk.scenario.facts)
        and len(replies) > 2
    ):
        return ""
    if unanswerable_requests(talk.scenario.facts, replies[-1]) and len(talk.turns) > 2:
        return ""
    return "gives up although the agent refused nothing"


def _may_be_handed_off(talk: SimulatedConversation) -> bool:
    last = talk.exchanges[-1]
    return bool(last.calls) or talk.handed_off is not None or bool(_TO_PEOPLE.search(fold_case(last.text)))


def _went_on(talk: SimulatedConversation) -> Iterator[UserMistake]:
    """The first turn that should not have been."""
    for turn in talk.later:
        if reason := _too_long(talk, turn):
            yield turn.slip(MistakeKind.WENT_ON, reason)
            return


def _too_long(talk: SimulatedConversation, turn: UserTurn) -> str:
    if talk.handed_off and talk.handed_off < turn.number:
        return "goes on after the agent handed over to a person"
    if turn.number > talk.scenario.max_turns:
        return f"sends more than {talk.scenario.max_turns} messages"
    if _still_due(talk, turn):
        return ""
    previous = turn.own[-1] if len(turn.own) > 1 else ""
    asked = bool(requests(turn.before)) and not offers_more(turn.before)
    left = any(takes_leave(one) and not lacks(one) for one in turn.own[1:])
    if left and not asked and not (offers_more(turn.before) and is_closing(turn.text)):
        return "goes on after its own goodbye"
    if _SMALL_TALK.search(fold_case(turn.text)) and is_done(turn.before):
        return "chats on after all was done"
    over = bool(previous) and is_closing(previous) and not asked and not is_question(turn.before)
    if over and (is_closing(turn.text) or not _on_topic(talk, turn)):
        return "goes on after it had thanked and all was said"
    return ""


def _still_due(talk: SimulatedConversation, turn: UserTurn) -> bool:
    """The turn says a step of the plan."""
    if (said := talk.steps.get(turn.text)) and not said.when:
        return True
    return any(
        is_said(step, turn.text, 0.5)
        and (not step.when or check_condition(step.when, turn.replies[-1]) is not ConditionStatus.NO)
        for step in talk.scenario.plan
    )


def _on_topic(talk: SimulatedConversation, turn: UserTurn) -> bool:
    wanted = roots(turn.text)
    return share(wanted, roots(f"{talk.scenario.goal}\n{talk.plan}")) >= ANSWERED or not is_done(turn.heard)


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


def repeat_mistakes(talk: SimulatedConversation) -> Iterator[UserMistake]:
    """Every turn that says again what was answered."""
    for turn in talk.later:
        if turn.text in talk.steps and turn.text not in turn.own:
            continue  # the plan says it, word for word
        if again := _said_before(talk, turn):
            yield turn.slip(MistakeKind.REPEATED, f"says again what it said in turn {again}, though it was answered")


def _said_before(talk: SimulatedConversation, turn: UserTurn) -> int | None:
    """The earlier turn that says the same. Short words, answers asked for again and planned insisting are no loop."""
    words = said_words(turn.text)
    if len(words) < SHORT or _INSISTS.search(fold_case(talk.written)) or is_closing(turn.text):
        return None
    for number, own in enumerate(turn.own, start=1):
        whole = len(said_words(own)) >= LONG and fold_case(own).strip(" .!?") in fold_case(turn.text)
        same = alike(turn.text, own, least=0.9 if len(words) < LONG else 0.8)
        if (same or whole) and not _had_to(talk, turn, number):
            return number
    return None


def _had_to(talk: SimulatedConversation, turn: UserTurn, number: int) -> bool:
    """The agent asked for it again, said the same again itself, or said nothing."""
    first, now = turn.replies[number - 1].text, turn.before
    if ASKS_AGAIN.search(fold_case(now)) or not said_words(now):
        return True
    if number < turn.number - 1 and alike(turn.replies[number - 1].text, now):
        return True
    asked = any(asks_for_fact(fact, now) and is_told(fact.value, turn.text) for fact in talk.scenario.facts)
    before = turn.replies[number - 2].text if number > 1 else ""
    return asked or bool(before and alike(before, now)) or (number == turn.number - 1 and waits(first))
