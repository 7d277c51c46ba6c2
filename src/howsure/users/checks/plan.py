"""Whether the user keeps to goal and plan: conditional steps only when their condition is met, nothing accepted that
the scenario refuses, no other wishes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.judges.offline.lexicon import word_set
from howsure.model.case import PlanStep
from howsure.model.simulation import Ending, MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.conditions import ConditionStatus, check_condition, check_condition_ever
from howsure.users.speech import ACCEPTS, DECLINES, alike, either, is_question, refuses, sentences
from howsure.users.words import content_words, fold_case, has_kin, roots, share

_TELLING = word_set(
    "ask say tell mention insist request explain reply answer respond add then politely agent assistant user "
    "customer whether "
    "about also accept decline refuse agree reject sagen fragen erwahnen demander dire pedir decir preguntar "
    "chiedere dire vragen zeggen"
)
_REFUSES = either(
    r"refus\w+", r"declin\w+", r"reject\w*", r"(?:do|does|will|would|must)(?: not|n't) (?:accept|want|take|agree)",
    r"don't (?:accept|want|take|agree)", r"never accepts?", r"won't (?:accept|take)", r"insists? on", r"not accept",
    r"under no circumstances", r"says? no", r"no thanks?", r"lehnt\w*(?: ab)?", r"ablehnen", r"nicht akzeptieren",
    r"refuse\w*", r"rechaza\w*", r"rifiut\w+", r"weiger\w+", r"turns? down",
)  # fmt: skip
_AGREES = either(r"accept\w*", r"agree\w*", r"say yes", r"take (?:it|the offer)", r"confirm\w*", r"go ahead")
_TURNS = either(
    r"(?:by the way|btw)|also|another (?:thing|question|topic)|one more (?:thing|question)|"
    r"while (?:i'm|i am|we're) (?:here|at it)|unrelated(?:ly)?|on (?:a|an)(?:other| different)? (?:note|topic)|"
    r"changing (?:the )?(?:topic|subject)|apropos|ubrigens|ausserdem|au fait|por cierto|ademas|a proposito|trouwens|"
    r"speaking of"
)
_WISH = either(
    r"(?:can|could|would|will) you|i(?:'d| would) (?:also )?(?:like|love)|i (?:also )?(?:want|need)|"
    r"(?:please )?(?:tell|write|give|show|recommend|book|find|help) me|how do i|what(?:'s| is| are| about)|"
    r"do you (?:know|have|think|sell|offer)|konnen sie|ich (?:mochte|brauche|will)|pouvez-vous|je (?:voudrais|veux)|"
    r"puede|quiero|vorrei|puo|quero|kunt u|ik wil|let's talk about|interested in"
)
_TOPICS = tuple(
    word_set(words)
    for words in (
        "weather forecast rain sunny temperature snow", "recipe cook cooking lasagna cake bake dinner pasta",
        "poem joke story song lyrics haiku riddle limerick", "python javascript code coding program script algorithm",
        "football soccer basketball championship league", "politics election president minister",
        "movie film netflix series actor", "stock stocks bitcoin crypto invest investment shares",
        "flight flights airline airport", "hotel hostel", "homework essay math equation", "restaurant pizza sushi",
        "horoscope astrology zodiac", "mortgage loan loans", "vacation holiday trip beach", "philosophy universe",
        "laptop phone smartphone tablet headphones television camera", "concert festival", "gym workout fitness diet",
        "dog cat puppy pet", "car cars rental",
    )
)  # fmt: skip
_TURNED_BACK = either(
    r"(?:i(?:'ve| have)? )?changed my mind|i (?:no longer|don't) (?:want|need)(?: \w+){0,6} any ?more|"
    r"i no longer (?:want|need)|i(?:'ve| have) decided not to|keep (?:it|my \w+) (?:after all|as it is)|let's not|"
    r"(?:ich habe es mir anders uberlegt)|j'ai change d'avis|he cambiado de (?:opinion|idea)|ho cambiato idea"
)
_EVERYDAY_WORDS = (
    "make sure use used using check look send help able possible still see tell let give take put find keep go "
    "come thing "
    "question possibly maybe quickly today tomorrow time way bit little good right work understand explain happen mean "
    "long soon already first transaction process option details information account anything something everything"
)
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
    given = conversation.scenario.initial_message
    if (
        not conversation.turns
        or alike(conversation.turns[0].text, given, least=0.5)
        or fold_case(given) in fold_case(conversation.turns[0].text)
    ):
        return
    yield conversation.turns[0].mistake(MistakeKind.OFF_PLAN, f"does not open with the fixed message {given!r}")


def step_words(step: PlanStep) -> frozenset[str]:
    """What a step is about: its words without the verbs of saying."""
    return roots(" ".join(word for word in content_words(step.say) if word not in _TELLING))


def is_said(step: PlanStep, text: str, least: float = SAID) -> bool:
    wanted = step_words(step)
    return bool(wanted) and share(wanted, roots(text)) >= least


def _too_soon(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """A step whose condition never held. Words that goal, opening or an unconditional step contain do not count."""
    if not any(step.when for step in conversation.scenario.plan):
        return None
    free = roots(
        "\n".join(
            (
                conversation.scenario.goal,
                conversation.scenario.initial_message,
                turn.agent_text,
                *(one.say for one in conversation.scenario.plan if not one.when),
            )
        )
    )
    for step in conversation.scenario.plan:
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
    accepts = bool(ACCEPTS.match(folded)) and not re.search(
        r"\b(?:but|not|no|don't|instead|rather|nicht|aber|mais|pero)\b", folded
    )
    declines = bool(DECLINES.match(folded))
    if turn.replies and (accepts or declines):
        for step in conversation.scenario.plan:
            if (
                not step.when
                or check_condition(step.when, turn.replies[-1]) is not ConditionStatus.YES
                or is_said(step, turn.text, 0.9)
            ):
                continue
            say = fold_case(step.say)
            if (accepts and _REFUSES.search(say)) or (declines and _AGREES.search(say) and not _REFUSES.search(say)):
                return f"does the opposite of the planned {step.say!r}", turn.text
    return _accepts_refused(conversation, turn) if accepts else None


def _accepts_refused(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """`never accepts store credit` in persona or goal, and the agent offered it."""
    for sentence in sentences(f"{conversation.scenario.persona}\n{conversation.scenario.goal}"):
        if not (found := _REFUSES.search(fold_case(sentence))) or found[0].startswith("insist"):
            continue
        thing = roots(" ".join(content_words(fold_case(sentence)[found.end() :])[:3]))
        if thing and share(thing, roots(turn.last_reply)) >= 0.5 and share(thing, roots(turn.text)) >= 0.5:
            return f"accepts what the scenario refuses: {sentence}", turn.text
    return None


def _drops_goal(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    found = _TURNED_BACK.search(fold_case(turn.text))
    if (
        not found
        or conversation.ending is Ending.GAVE_UP
        or refuses(turn.last_reply)
        or _TURNED_BACK.search(fold_case(conversation.scenario_text))
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
    for sentence in sentences(turn.text):
        folded = fold_case(sentence)
        if not (_WISH.search(folded) or is_question(sentence)):
            continue
        words = roots(sentence)
        new = frozenset(
            word for word in words if not has_kin(word, known) and not has_kin(word, roots(_EVERYDAY_WORDS))
        )
        topic = next((one for one in _TOPICS if _is_about(one, sentence, known)), None)
        if topic is not None and len(new) >= FEW:
            return "asks for something of another topic", sentence
        turns = bool(_TURNS.search(folded)) and bool(_WISH.search(folded))
        if turns and len(new) >= FEW and len(new) / len(words) >= NOVEL:
            return "asks for something that is not in goal or plan", sentence
    return None


def _is_about(topic: frozenset[str], sentence: str, known: frozenset[str]) -> bool:
    inside = [word for word in content_words(sentence) if word in topic]
    return bool(inside) and not any(has_kin(word, known) for word in roots(" ".join(topic)))
