"""Whether the user stays in the role: no machine, no assistant, no stage directions, no placeholders; and keeps the
manner and language of the persona, where the persona's words are plain and only what plainly contradicts them
counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.judges.offline.words import tokens
from howsure.model.simulation import MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.speech import alike, is_done, said_words, sentences
from howsure.users.words import fold_case, language_of, phrase

_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]")
_JSON = re.compile(r"\A\s*(?:```\w*\s*)?[{\[]\s*[\"{\[]|\"(?:message|ending|reason|content|role)\"\s*:|```")
LEAKED = 7
ECHOED = 6


def persona_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """One mistake for each turn that does not sound like the person: the first thing that shows it."""
    for turn in conversation.own_turns:
        reason = (
            _by_form(conversation, turn)
            or _by_words(conversation, turn)
            or _reads_out_persona(conversation.scenario.persona, turn.text)
        )
        if reason:
            yield turn.mistake(MistakeKind.OUT_OF_PERSONA, *reason)
        elif len(said_words(turn.text)) >= ECHOED and turn.last_reply and alike(turn.text, turn.last_reply, least=0.8):
            yield turn.mistake(MistakeKind.OUT_OF_PERSONA, "says the agent's line", turn.text)


def _by_form(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """What the form of the text shows, whatever it says."""
    text, known_text = turn.text, fold_case(f"{conversation.user_knowledge}\n{turn.agent_text}")
    if _JSON.search(text):
        return "writes data, not a message", text
    if found := phrase("speaker_label").search(text):
        return "writes the lines of a dialogue, with who speaks", found[0]
    for pattern, reason in (
        (phrase("stage_direction"), "writes stage directions"),
        (phrase("placeholder"), "leaves a placeholder unfilled"),
    ):
        for found in pattern.finditer(fold_case(text) if pattern is phrase("stage_direction") else text):
            if fold_case(found[0]) not in known_text:
                return reason, found[0]
    return None


def _by_words(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    folded, known_text = fold_case(turn.text), fold_case(conversation.user_knowledge)
    for pattern, reason in (
        (phrase("machine"), "speaks as a machine or of its instructions"),
        (phrase("narration"), "tells about the user instead of being it"),
        (phrase("thinking_aloud"), "thinks aloud about the conversation"),
        (phrase("trait"), "describes its own persona"),
    ):
        if (found := pattern.search(folded)) and found[0] not in known_text:
            return reason, found[0]
    for sentence in sentences(turn.text):
        own = _QUOTED.sub(" ", fold_case(sentence))
        found = phrase("assistant").search(own)
        if found and found[0] not in known_text and not phrase("reported_speech").search(own):
            return "speaks as the assistant", found[0]
    return None


def _reads_out_persona(persona: str, text: str) -> tuple[str, str] | None:
    """Words of the persona that address the user: the description was read out, not played."""
    words, known_text = said_words(text), said_words(persona)
    runs = {known_text[place : place + LEAKED] for place in range(len(known_text) - LEAKED + 1)}
    for place in range(len(words) - LEAKED + 1):
        run = " ".join(words[place : place + LEAKED])
        if words[place : place + LEAKED] in runs and phrase("addressed").search(run):
            return "reads out its description", run
    return None


MANY_WORDS = 40
MARGIN = 1.5
SOME = 4


def manner_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Turns that are plainly not in the persona's manner or language."""
    persona = fold_case(conversation.scenario.persona)
    opened_in = language_of(conversation.scenario.initial_message)
    for turn in conversation.own_turns:
        if (found := _manner_break(persona, turn)) or (found := _other_language(conversation, turn, opened_in)):
            yield turn.mistake(MistakeKind.OUT_OF_PERSONA, *found)


def _manner_break(persona: str, turn: UserTurn) -> tuple[str, str] | None:
    words = len(turn.text.split())
    folded = fold_case(turn.text)
    if limit := _word_limit(persona):
        if words > max(limit * MARGIN, limit + SOME):
            return f"writes {words} words; the persona allows {limit}", turn.text
    elif phrase("terse").search(persona) and words > MANY_WORDS:
        return f"writes {words} words, and the persona is terse", turn.text
    if (
        phrase("polite").search(persona)
        and not phrase("angry").search(persona)
        and not phrase("mixed_mood").search(persona)
        and (rude := phrase("insult").search(folded))
    ):
        return "insults the agent, and the persona is polite", rude[0]
    if (
        phrase("angry").search(persona)
        and not phrase("mixed_mood").search(persona)
        and (len(set(phrase("delight").findall(folded))) > 1 and not is_done(turn.last_reply))
    ):
        return "is delighted, and the persona is angry and nothing was solved", turn.text
    if phrase("layperson").search(persona):
        heard = fold_case("\n".join((turn.agent_text, *turn.earlier[:1])))
        terms = set(phrase("jargon").findall(folded)) - set(phrase("jargon").findall(f"{persona}\n{heard}"))
        if len(terms) > 1:
            return "speaks as an expert, and the persona is none", ", ".join(sorted(terms))
    text = turn.text
    starts = [one for one in sentences(text) if one[:1].isalpha()]
    if phrase("lowercase").search(persona) and len(starts) > 1 and all(one[0].isupper() for one in starts):
        return "writes capitals, and the persona does not", text
    letters = [mark for mark in text if mark.isalpha()]
    if phrase("shouting").search(persona) and len(letters) > 20 and sum(map(str.isupper, letters)) < len(letters) / 4:
        return "writes small letters, and the persona shouts", text
    return None


def _word_limit(persona: str) -> int | None:
    found = phrase("word_limit").search(persona)
    number = tokens(found["most"]) if found else ()
    return int(number[0]) if number and number[0].isdigit() else None


def _other_language(
    conversation: SimulatedConversation, turn: UserTurn, opened_in: str | None
) -> tuple[str, str] | None:
    """A language other than the opening's, unless the agent uses it or the scenario mentions languages."""
    language = language_of(turn.text)
    if (
        not opened_in
        or not language
        or language == opened_in
        or phrase("language_name").search(fold_case(conversation.scenario_text))
    ):
        return None
    if language_of(turn.last_reply) == language or any(
        language_of(step.say) == language for step in conversation.scenario.plan
    ):
        return None
    return f"opened in {opened_in} and now speaks {language}", turn.text
