"""Whether the conversation takes a sensible course: it ends neither before the goal nor long after it, and the user
does not repeat what was answered. And whether the user keeps to goal and plan: conditional steps only when their
condition is met, nothing accepted that the scenario refuses, no other wishes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from howsure.model.case import PlanStep
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.checks.facts import is_told
from howsure.users.conditions import ConditionStatus, check_condition, check_condition_ever
from howsure.users.directions import spoken_step
from howsure.users.speech import (
    alike,
    asks_for_fact,
    is_closing,
    is_done,
    is_question,
    lacks,
    offers_more,
    only_greets,
    refuses,
    requests,
    said_words,
    sentences,
    takes_leave,
    unanswerable_requests,
    waits,
    waits_for,
)
from howsure.users.words import content_words, fold_case, has_kin, listed_words, phrase, roots, share, word_groups

SAID = 0.6
NOVEL = 0.6
FEW = 2


def plan_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Every turn that leaves the plan, with the first reason."""
    yield from _opening(conversation)
    for turn in conversation.later_turns:
        found = _too_soon(conversation, turn)
        if not found and turn.text not in conversation.steps:
            found = (
                _contradicts_plan(conversation, turn)
                or _drops_goal(conversation, turn)
                or _new_wish(conversation, turn)
            )
        if found:
            yield turn.mistake(MistakeKind.OFF_PLAN, *found)


def _opening(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    opening = conversation.scenario.initial_message
    for first in conversation.turns[:1]:
        if not alike(first.text, opening, least=0.5) and fold_case(opening) not in fold_case(first.text):
            yield first.mistake(MistakeKind.OFF_PLAN, f"does not open with the fixed message {opening!r}")


def step_words(step: PlanStep) -> frozenset[str]:
    """What a step is about: its words without the verbs of saying."""
    return roots(" ".join(word for word in content_words(step.say) if word not in listed_words("saying")))


def is_said(step: PlanStep, text: str, least: float = SAID) -> bool:
    words = step_words(step)
    return bool(words) and share(words, roots(text)) >= least


def _too_soon(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """A step whose condition never held. Words that goal, opening or an unconditional step contain do not count."""
    if not any(step.when for step in conversation.scenario.plan):
        return None
    scenario = conversation.scenario
    unconditional = (one.say for one in scenario.plan if not one.when)
    free = roots("\n".join((scenario.goal, scenario.initial_message, turn.agent_text, *unconditional)))
    for step in scenario.plan:
        own = frozenset(word for word in step_words(step) if not has_kin(word, free))
        if not step.when or len(step_words(step)) < FEW or not own:
            continue
        if (
            is_said(step, turn.text)
            and share(own, roots(turn.text)) >= SAID
            and check_condition_ever(step.when, turn.replies) is ConditionStatus.NO
        ):
            return f"says what was planned for when {step.when!r}, which never came", turn.text
    return None


def _contradicts_plan(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """The turn accepts what the scenario refuses, or the reverse, right after the agent brought it up."""
    folded = fold_case(turn.text)
    accepts = bool(phrase("acceptance").match(folded)) and not re.search(
        r"\b(?:but|not|no|don't|instead|rather|nicht|aber|mais|pero)\b", folded
    )
    declines = bool(phrase("rejection").match(folded))
    if turn.replies and (accepts or declines):
        for step in conversation.scenario.plan:
            if (
                not step.when
                or check_condition(step.when, turn.replies[-1]) is not ConditionStatus.YES
                or is_said(step, turn.text, 0.9)
            ):
                continue
            say = fold_case(step.say)
            refusal, agreement = phrase("planned_refusal").search(say), phrase("planned_agreement").search(say)
            if (accepts and refusal) or (declines and agreement and not refusal):
                return f"does the opposite of the planned {step.say!r}", turn.text
    return _accepts_refused(conversation, turn) if accepts else None


def _accepts_refused(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """`never accepts store credit` in persona or goal, and the agent offered it."""
    for sentence in sentences(f"{conversation.scenario.persona}\n{conversation.scenario.goal}"):
        if not (found := phrase("planned_refusal").search(fold_case(sentence))) or found[0].startswith("insist"):
            continue
        thing = roots(" ".join(content_words(fold_case(sentence)[found.end() :])[:3]))
        if thing and share(thing, roots(turn.last_reply)) >= 0.5 and share(thing, roots(turn.text)) >= 0.5:
            return f"accepts what the scenario refuses: {sentence}", turn.text
    return None


def _drops_goal(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    found = phrase("change_of_mind").search(fold_case(turn.text))
    if (
        not found
        or conversation.ending is Ending.GAVE_UP
        or refuses(turn.last_reply)
        or phrase("change_of_mind").search(fold_case(conversation.scenario_text))
    ):
        return None
    if has_kin("mind", roots(conversation.scenario_text)) or re.search(
        r"\b(?:undecided|indecisive|changes?|switch\w*)\b", fold_case(conversation.scenario_text)
    ):
        return None
    return "gives up its goal without cause", found[0]


def _new_wish(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """A wish for something that nobody mentioned: after a word that changes the topic, or plainly of another topic."""
    known = roots(f"{conversation.user_knowledge}\n{turn.agent_text}\n" + "\n".join(turn.earlier))
    everyday = roots(" ".join(word_groups("everyday")[0]))
    for sentence in sentences(turn.text):
        folded = fold_case(sentence)
        if not (phrase("wish").search(folded) or is_question(sentence)):
            continue
        words = roots(sentence)
        new = [word for word in words if not has_kin(word, known) and not has_kin(word, everyday)]
        said = set(content_words(sentence))
        topics = [one for one in word_groups("topics") if not said.isdisjoint(one)]
        unknown = any(not any(has_kin(word, known) for word in roots(" ".join(one))) for one in topics)
        if unknown and len(new) >= FEW:
            return "asks for something of another topic", sentence
        turns = bool(phrase("topic_change").search(folded)) and bool(phrase("wish").search(folded))
        if turns and len(new) >= FEW and len(new) / len(words) >= NOVEL:
            return "asks for something that is not in goal or plan", sentence
    return None


_WANTS_TO_KNOW = re.compile(
    r"\b(?:know|learn|find out|understand|why|whether|information|wissen|savoir|saber|sapere|weten)\b"
)
ANSWERED = 0.34


def course_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Stopping too early, and going on too long."""
    yield from _stopping_mistakes(conversation)
    for turn in conversation.later_turns:
        if reason := _overlong_reason(conversation, turn):
            yield turn.mistake(MistakeKind.WENT_ON, reason)
            return


def _stopping_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """The mistake of leaving too early, at the turn with which the user left."""
    if not conversation.turns:
        return
    last = conversation.turns[-1]
    for turn in conversation.later_turns:
        pending = _pending(turn.last_reply) if is_closing(turn.text) else ""
        if pending and not is_done(turn.last_reply):
            yield turn.mistake(MistakeKind.STOPPED_EARLY, f"takes leave while {pending}")
            return
    if reason := _early_exit_reason(conversation):
        yield last.mistake(MistakeKind.STOPPED_EARLY, reason)


def _early_exit_reason(conversation: SimulatedConversation) -> str:
    match conversation.ending:
        case Ending.GOAL_REACHED:
            return _goal_not_reached(conversation) or _left_unsaid(conversation)
        case Ending.GAVE_UP:
            return _gave_up_without_cause(conversation)
        case Ending.TURN_LIMIT if len(conversation.turns) < conversation.scenario.max_turns:
            limit, sent = conversation.scenario.max_turns, len(conversation.turns)
            return f"the turn limit is {limit}, and {sent} messages were sent"
        case Ending.HANDED_OFF if not _may_be_handed_off(conversation):
            return "says that it was handed to a person, and nothing shows it"
        case _:
            return ""


def _pending(reply: str) -> str:
    """What the agent still waits for; empty when it waits for nothing."""
    requested = waits_for(reply)
    return f"the agent still asks: {requested[-1]}" if requested and not offers_more(reply) else ""


def _goal_not_reached(conversation: SimulatedConversation) -> str:
    """Why the goal is not reached: the last reply is a question, a no, or a promise to look. A goodbye changes
    nothing."""
    reply = conversation.last_reply
    if not reply:
        return "the agent has not said anything yet"
    if (pending := _pending(reply)) and not is_done(reply):
        return f"the goal counts as reached while {pending}"
    if is_done(reply):
        return ""
    if all(only_greets(one.text) for one in conversation.exchanges):
        return "the goal counts as reached, and the agent has only greeted"
    done = any(is_done(one.text) for one in conversation.exchanges)
    if not done and waits(reply) and not _answers_goal(conversation, reply):
        return "the goal counts as reached while the agent is still looking"
    if not done and _plainly_refused(conversation, reply):
        return "the goal counts as reached, and the agent refused"
    return ""


def _plainly_refused(conversation: SimulatedConversation, reply: str) -> bool:
    """A refusal, to a user who wants something done rather than known."""
    goal = fold_case(conversation.scenario.goal)
    return bool(goal) and not _WANTS_TO_KNOW.search(goal) and refuses(reply) and not offers_more(reply)


def _answers_goal(conversation: SimulatedConversation, reply: str) -> bool:
    goal = conversation.scenario.goal
    return bool(goal) and not refuses(reply) and share(roots(goal), roots(reply)) >= ANSWERED


def _left_unsaid(conversation: SimulatedConversation) -> str:
    """A step that was due and that neither side mentioned."""
    everything = "\n".join([*(turn.text for turn in conversation.turns), *(one.text for one in conversation.exchanges)])
    said = [conversation.steps[turn.text] for turn in conversation.later_turns if turn.text in conversation.steps]
    for step in conversation.scenario.plan:
        if (
            step not in said
            and spoken_step(step.say, conversation.scenario.facts)
            and step_words(step)
            and (not step.when or check_condition_ever(step.when, conversation.exchanges) is ConditionStatus.YES)
            and not is_said(step, everything, ANSWERED)
        ):
            return f"leaves although {step.say!r} was never said"
    return ""


def _gave_up_without_cause(conversation: SimulatedConversation) -> str:
    """Giving up needs a cause: a refusal, a failure, a loop, or questions that the user cannot answer."""
    replies = [one.text for one in conversation.exchanges]
    if any(map(refuses, replies)) or any(lacks(turn.text) for turn in conversation.turns):
        return ""
    if any(alike(one, other) for one, other in pairwise(replies)) or not all(map(said_words, replies)):
        return ""
    if only_greets(replies[-1]) and sum(map(only_greets, replies)) > 1:
        return ""
    asked_for_fact = any(asks_for_fact(fact, replies[-1]) for fact in conversation.scenario.facts)
    if len(replies) > 2 and _pending(replies[-1]) and not asked_for_fact:
        return ""
    if unanswerable_requests(conversation.scenario.facts, replies[-1]) and len(conversation.turns) > 2:
        return ""
    return "gives up although the agent refused nothing"


def _may_be_handed_off(conversation: SimulatedConversation) -> bool:
    last = conversation.exchanges[-1]
    about_people = bool(phrase("about_people").search(fold_case(last.text)))
    return bool(last.calls) or conversation.handed_off is not None or about_people


def _overlong_reason(conversation: SimulatedConversation, turn: UserTurn) -> str:
    """Why the conversation should have ended before this turn."""
    if conversation.handed_off and conversation.handed_off < turn.number:
        return "goes on after the agent handed over to a person"
    if turn.number > conversation.scenario.max_turns:
        return f"sends more than {conversation.scenario.max_turns} messages"
    if _still_due(conversation, turn):
        return ""
    previous = turn.earlier[-1] if len(turn.earlier) > 1 else ""
    agent_asks = bool(requests(turn.last_reply)) and not offers_more(turn.last_reply)
    left = any(takes_leave(one) and not lacks(one) for one in turn.earlier[1:])
    if left and not agent_asks and not (offers_more(turn.last_reply) and is_closing(turn.text)):
        return "goes on after its own goodbye"
    if phrase("chat").search(fold_case(turn.text)) and is_done(turn.last_reply):
        return "chats on after all was done"
    over = bool(previous) and is_closing(previous) and not agent_asks and not is_question(turn.last_reply)
    subject = roots(f"{conversation.scenario.goal}\n{conversation.plan}")
    on_topic = share(roots(turn.text), subject) >= ANSWERED or not is_done(turn.agent_text)
    if over and (is_closing(turn.text) or not on_topic):
        return "goes on after it had thanked and all was said"
    return ""


def _still_due(conversation: SimulatedConversation, turn: UserTurn) -> bool:
    """Whether the turn says a step of the plan."""
    if (step := conversation.steps.get(turn.text)) and not step.when:
        return True
    return any(
        is_said(step, turn.text, 0.5)
        and (not step.when or check_condition(step.when, turn.replies[-1]) is not ConditionStatus.NO)
        for step in conversation.scenario.plan
    )


SHORT = 4
LONG = 8


def repeat_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Every turn that repeats what was answered."""
    for turn in conversation.later_turns:
        if turn.text in conversation.steps and turn.text not in turn.earlier:
            continue  # the plan says it, word for word
        if again := _repeated_turn(conversation, turn):
            yield turn.mistake(MistakeKind.REPEATED, f"says again what it said in turn {again}, though it was answered")


def _repeated_turn(conversation: SimulatedConversation, turn: UserTurn) -> int | None:
    """The earlier turn that says the same. Short messages, answers that were asked for again and planned insistence do
    not count."""
    words = said_words(turn.text)
    if len(words) < SHORT or phrase("insists").search(fold_case(conversation.scenario_text)) or is_closing(turn.text):
        return None
    for number, own in enumerate(turn.earlier, start=1):
        whole = len(said_words(own)) >= LONG and fold_case(own).strip(" .!?") in fold_case(turn.text)
        same = alike(turn.text, own, least=0.9 if len(words) < LONG else 0.8)
        if (same or whole) and not _must_repeat(conversation, turn, number):
            return number
    return None


def _must_repeat(conversation: SimulatedConversation, turn: UserTurn, number: int) -> bool:
    """Whether the user had to repeat it: the agent asked again, repeated itself, or said nothing."""
    first, now = turn.replies[number - 1].text, turn.last_reply
    if phrase("asked_again").search(fold_case(now)) or not said_words(now) or only_greets(first):
        return True
    if number < turn.number - 1 and alike(first, now):
        return True
    facts = conversation.scenario.facts
    agent_asks = any(asks_for_fact(fact, now) and is_told(fact.value, turn.text) for fact in facts)
    before = turn.replies[number - 2].text if number > 1 else ""
    return agent_asks or bool(before and alike(before, now)) or (number == turn.number - 1 and waits(first))
