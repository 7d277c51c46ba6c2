"""Whether the user keeps to goal and plan: conditional steps only when their condition is met, nothing accepted that
the scenario refuses, no other wishes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.model.case import PlanStep
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.conditions import ConditionStatus, check_condition, check_condition_ever
from howsure.users.phrases import listed_words, phrase, word_groups
from howsure.users.speech import alike, is_question, refuses, sentences
from howsure.users.words import content_words, fold_case, has_kin, roots, share

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
