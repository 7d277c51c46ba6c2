"""Whether the user stays the user and keeps the persona's manner: each reason with what shows it."""

from __future__ import annotations

import pytest

from howsure.model.case import Fact, PlanStep, Scenario
from howsure.model.simulation import MistakeKind
from howsure.model.transcript import Message, Role
from howsure.users.checks.conversations import SimulatedConversation
from howsure.users.checks.persona import manner_mistakes, persona_mistakes

OPENING = "Where is my parcel?"


def a_talk(text: str, persona: str = "a customer", heard: str = "I see.", **fields: object) -> SimulatedConversation:
    opening = str(fields.pop("initial_message", OPENING))
    said = ((Role.USER, opening), (Role.ASSISTANT, heard), (Role.USER, text))
    scenario = Scenario(persona=persona, initial_message=opening, **fields)  # type: ignore[arg-type]
    return SimulatedConversation(scenario, [Message(role=role, content=content) for role, content in said], None)


def style(text: str, persona: str, heard: str = "I see.", **fields: object) -> list[tuple[str, str]]:
    return [(slip.reason, slip.evidence) for slip in manner_mistakes(a_talk(text, persona, heard, **fields))]


def voice(text: str, persona: str = "a customer", heard: str = "I see.", **fields: object) -> list[tuple[str, str]]:
    return [(slip.reason, slip.evidence) for slip in persona_mistakes(a_talk(text, persona, heard, **fields))]


LONG = " ".join(["word"] * 41)


@pytest.mark.parametrize(
    ("persona", "text", "reason"),
    [
        ("Terse.", LONG, "writes 41 words, and the persona is terse"),
        ("A man of few words.", LONG, "writes 41 words, and the persona is terse"),
        ("Kurz angebunden.", LONG, "writes 41 words, and the persona is terse"),
        ("Terse.", " ".join(["word"] * 40), ""),
        ("Never more than five words.", "w " * 10, "writes 10 words; the persona allows 5"),
        ("Never more than five words.", "w " * 9, ""),
        ("At most 20 words in a message.", "w " * 31, "writes 31 words; the persona allows 20"),
        ("At most 20 words in a message.", "w " * 30, ""),
        ("Uses no technical words.", LONG, ""),
        ("Likes to explain things at length.", LONG, ""),
    ],
)
def test_who_says_little_says_little(persona: str, text: str, reason: str) -> None:
    assert [found for found, _ in style(text, persona)] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("persona", "text", "expected"),
    [
        ("Polite.", "You are useless.", [("insults the agent, and the persona is polite", "useless")]),
        ("A calm and friendly man.", "Shut up!", [("insults the agent, and the persona is polite", "shut up")]),
        ("Höflich.", "Du Dummkopf!", [("insults the agent, and the persona is polite", "dummkopf")]),
        ("Polite until refused.", "You are useless.", []),
        ("Polite and angry.", "You are useless.", []),
        ("A customer.", "You are useless.", []),
        ("Polite.", "Please hurry.", []),
    ],
)
def test_who_is_polite_insults_nobody(persona: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert style(text, persona) == expected


GLAD = "Wonderful, you are amazing, thank you so much!"


@pytest.mark.parametrize(
    ("persona", "heard", "text", "is_slip"),
    [
        ("Furious.", "I see.", GLAD, True),
        ("Furious.", "Your refund has been issued.", GLAD, False),
        ("Furious at first.", "I see.", GLAD, False),
        ("Furious.", "I see.", "Wonderful.", False),
        ("Happy.", "I see.", GLAD, False),
    ],
    ids=["not yet", "all was solved", "only at first", "once may be scorn", "another persona"],
)
def test_who_is_angry_is_not_delighted_before_anything_is_solved(
    persona: str, heard: str, text: str, is_slip: bool
) -> None:
    found = [reason for reason, _ in style(text, persona, heard)]
    assert found == (["is delighted, and the persona is angry and nothing was solved"] if is_slip else [])


@pytest.mark.parametrize(
    ("persona", "heard", "text", "evidence"),
    [
        ("Not good with computers.", "I see.", "I reset the DNS and the firmware.", "dns, firmware"),
        ("Not technical.", "I see.", "I pinged the gateway.", "gateway, pinged"),
        ("Not technical.", "Is the firmware new? And the DNS?", "The firmware and the DNS are.", ""),
        ("Not technical.", "I see.", "I reset the DNS.", ""),
        ("A network engineer.", "I see.", "I reset the DNS and the firmware.", ""),
    ],
    ids=["an expert", "another one", "in the agent's words", "one term may be known", "an engineer"],
)
def test_who_is_no_expert_does_not_speak_as_one(persona: str, heard: str, text: str, evidence: str) -> None:
    expected = [("speaks as an expert, and the persona is none", evidence)] if evidence else []
    assert style(text, persona, heard) == expected


@pytest.mark.parametrize(
    ("persona", "text", "reason"),
    [
        ("Writes all lowercase.", "It is late. I am angry.", "writes capitals, and the persona does not"),
        ("Writes all lowercase.", "it is late. i am angry.", ""),
        ("Writes all lowercase.", "It is late.", ""),
        ("Writes in all caps.", "this is a message in small letters", "writes small letters, and the persona shouts"),
        ("Writes in all caps.", "THIS IS A MESSAGE IN CAPITALS", ""),
        ("Writes in all caps.", "ok then", ""),
    ],
)
def test_capitals_are_kept_as_the_persona_has_them(persona: str, text: str, reason: str) -> None:
    assert [found for found, _ in style(text, persona)] == ([reason] if reason else [])


GERMAN = "Ich möchte wissen, wo mein Paket ist."
FRENCH = "Je voudrais savoir où est le colis que vous avez envoyé."


def test_another_language_names_both() -> None:
    (found,) = style(FRENCH, "a customer", initial_message=GERMAN)
    assert found == ("opened in de and now speaks fr", FRENCH)


@pytest.mark.parametrize(
    "fields",
    [
        {"heard": "Est-ce que vous parlez une autre langue que le français ?"},
        {"goal": "Switch to French after the first answer"},
        {"plan": (PlanStep(say="Je voudrais parler avec une personne qui est dans le magasin."),)},
        {"initial_message": "DE-17"},
    ],
    ids=["the agent speaks it", "the scenario names it", "the plan is in it", "the opening is in none"],
)
def test_another_language_may_have_its_cause(fields: dict[str, object]) -> None:
    heard = str(fields.pop("heard", "Einen Moment bitte."))
    assert style(FRENCH, "a customer", heard, **{"initial_message": GERMAN, **fields}) == []


@pytest.mark.parametrize(
    ("text", "reason", "evidence"),
    [
        ('{"message": "hi"}', "writes data, not a message", '{"message": "hi"}'),
        ("```\nhi\n```", "writes data, not a message", "```\nhi\n```"),
        ("Agent: hello", "writes the lines of a dialogue, with who speaks", "Agent:"),
        ("**User**: hello", "writes the lines of a dialogue, with who speaks", "**User**"),
        ("*sighs loudly* fine", "writes stage directions", "*sighs loudly*"),
        ("(pauses) fine", "writes stage directions", "(pauses)"),
        ("It is [order number].", "leaves a placeholder unfilled", "[order number]"),
        ("It is {{order}}.", "leaves a placeholder unfilled", "{{order}}"),
        ("It is XXXX.", "leaves a placeholder unfilled", "XXXX"),
        ("As an AI I cannot.", "speaks as a machine or of its instructions", "as an ai i cannot"),
        ("According to my instructions, no.", "speaks as a machine or of its instructions",
         "according to my instructions"),
        ("Goal reached", "speaks as a machine or of its instructions", "goal reached"),
        ("The user wants a refund.", "tells about the user instead of being it", "the user wants"),
        ("My goal is to get a refund.", "thinks aloud about the conversation", "my goal is to"),
        ("I am an impatient customer.", "describes its own persona", "i am an impatient customer"),
        ("How may I assist you today?", "speaks as the assistant", "how may i assist you today"),
        ("Please verify your identity.", "speaks as the assistant", "please verify your identity"),
        ("Kann ich sonst noch etwas für Sie tun?", "speaks as the assistant", "kann ich sonst noch etwas fur sie tun"),
    ],
)  # fmt: skip
def test_a_user_who_is_none_is_quoted(text: str, reason: str, evidence: str) -> None:
    ((found, shown),) = voice(text)
    assert found == reason
    assert shown.startswith(evidence)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("It is [order number].", {"heard": "Fill in [order number], please."}),
        ("My instructions were ignored.", {"goal": "Complain that my instructions were ignored"}),
        ('Your letter says "please verify your account".', {}),
        ("You told me how can I help you, and then nothing.", {}),
        ("It is (as I said) late.", {}),
        ("Note: it is late.", {}),
        ("I am an impatient person.", {"persona": "You might say: I am an impatient person."}),
    ],
    ids=["the agent's form", "the goal says it", "quoted", "reported", "brackets", "a label of its own", "given"],
)
def test_what_was_given_or_is_quoted_is_nobodys_mask(text: str, fields: dict[str, str]) -> None:
    assert voice(text, **fields) == []


def test_a_description_that_is_read_out_is_told_from_one_that_is_lived() -> None:
    persona = "You are a tired nurse and you want the night shift changed as soon as possible."
    ((reason, run),) = voice("You want the night shift changed as soon as possible.", persona)
    assert reason == "reads out its description"
    assert run.startswith("you want")
    assert voice("I want the night shift changed as soon as possible.", persona) == []


def test_the_agents_own_line_said_back_is_no_users() -> None:
    line = "Your parcel is waiting at the depot in Bern."
    assert voice(line, heard=line) == [("says the agent's line", line)]
    assert voice("At the depot?", heard=line) == []


def test_one_slip_for_a_turn_is_enough() -> None:
    talk = a_talk("Agent: as an AI I cannot. *sighs*", facts=(Fact(name="a", value="b"),))
    (slip,) = persona_mistakes(talk)
    assert (slip.kind, slip.turn) == (MistakeKind.OUT_OF_PERSONA, 2)


def test_what_the_plan_says_is_not_held_against_the_persona() -> None:
    text = "*sighs* You are useless."
    assert voice(text, plan=(PlanStep(say=text),)) == []
    assert style(text, "Polite.", plan=(PlanStep(say=text),)) == []
