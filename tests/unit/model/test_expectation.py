"""Expectations: their stored kinds, which arguments count, and ids made of text."""

from __future__ import annotations

import msgspec
import pytest

from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Choice,
    Contract,
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    Matching,
    MatchMode,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
    text_id,
)

POLITE = Criterion(id="c1", text="polite")

STORED: list[tuple[Expectation, bytes]] = [
    (ReferenceAnswer(answers=("4",)), b'{"kind":"reference_answer","answers":["4"]}'),
    (
        CorrectChoice(choices=(Choice(id="A", text="yes"),), correct=("A",)),
        b'{"kind":"correct_choice","choices":[{"id":"A","text":"yes"}],"correct":["A"]}',
    ),
    (Criteria(criteria=(POLITE,)), b'{"kind":"criteria","criteria":[{"id":"c1","text":"polite"}]}'),
    (
        WeightedCriteria(criteria=(Criterion(id="c1", text="rude", weight=-2.5),), references=("r",)),
        b'{"kind":"weighted_criteria","criteria":[{"id":"c1","text":"rude","weight":-2.5}],"references":["r"]}',
    ),
    (
        ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": {"$any": True}}),)),
        b'{"kind":"tool_calls","expected":[{"name":"t","arguments":{"a":{"$any":true}}}]}',
    ),
    (ForbiddenTools(names=("t",)), b'{"kind":"forbidden_tools","names":["t"]}'),
    (Trajectory(steps=("A", "t")), b'{"kind":"trajectory","steps":["A","t"]}'),
    (FinalState(variables={"a": None}), b'{"kind":"final_state","variables":{"a":null}}'),
    (AgentsInvolved(names=("A",)), b'{"kind":"agents_involved","names":["A"]}'),
    (Goal(text="done"), b'{"kind":"goal","text":"done"}'),
    (Contract(name="Plan"), b'{"kind":"contract","name":"Plan"}'),
    (Qualities(names=("Fluency",)), b'{"kind":"qualities","names":["Fluency"]}'),
]


@pytest.mark.parametrize(("expectation", "body"), STORED, ids=[type(each).__name__ for each, _ in STORED])
def test_the_stored_form_of_each_kind_is_fixed(expectation: Expectation, body: bytes) -> None:
    back = msgspec.json.decode(body, type=Expectation)
    assert back == expectation
    assert type(back) is type(expectation)
    assert msgspec.json.encode(expectation) == body


def test_every_kind_is_in_the_table_and_no_two_share_a_name() -> None:
    kinds = set(Expectation.__args__)
    assert {type(each) for each, _ in STORED} == kinds
    assert len({kind.__struct_config__.tag for kind in kinds}) == len(kinds) == 12


@pytest.mark.parametrize(
    "body", [b'{"kind":"vibes"}', b'{"text":"x"}', b'{"kind":"goal"}', b'{"kind":null,"text":"x"}']
)
def test_an_unknown_kind_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Expectation)


@pytest.mark.parametrize(
    ("mode", "args", "counts"),
    [
        (MatchMode.EXACT, None, ArgumentMode.EXACT),
        (MatchMode.IN_ORDER, None, ArgumentMode.SUPERSET),
        (MatchMode.ANY_ORDER, None, ArgumentMode.SUPERSET),
        (MatchMode.SUPERSET, None, ArgumentMode.SUPERSET),
        (MatchMode.SUBSET, None, ArgumentMode.SUPERSET),
        (MatchMode.EXACT, ArgumentMode.IGNORE, ArgumentMode.IGNORE),
        (MatchMode.SUBSET, ArgumentMode.EXACT, ArgumentMode.EXACT),
    ],
)
def test_arguments_follow_the_mode_unless_they_are_set(
    mode: MatchMode, args: ArgumentMode | None, counts: ArgumentMode
) -> None:
    assert Matching(mode=mode, args=args).arguments is counts


def test_tools_must_be_called_and_a_trajectory_is_a_sequence_by_default() -> None:
    assert ToolCalls(expected=()).match.mode is MatchMode.SUPERSET
    assert Trajectory(steps=()).match.mode is MatchMode.IN_ORDER


@pytest.mark.parametrize("only", [None, (), ("a",)])
def test_only_none_and_only_no_tools_stay_apart(only: tuple[str, ...] | None) -> None:
    matching = Matching(only=only, args_for={"t": ArgumentMode.SUBSET, "u": ("a.b",), "v": ()})
    assert msgspec.json.decode(msgspec.json.encode(matching), type=Matching) == matching


@pytest.mark.parametrize("field", ["mode", "args"])
def test_a_mode_nobody_knows_is_refused(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"Invalid enum value 'strict'.*{field}"):
        msgspec.convert({field: "strict"}, type=Matching)


@pytest.mark.parametrize(
    ("text", "id"),
    [("", "e3b0c44298fc"), ("abc", "ba7816bf8f01"), ("é", "4a99557e4033")],
    ids=["empty", "plain", "not ASCII"],
)
def test_a_text_always_has_the_same_id(text: str, id: str) -> None:
    assert text_id(text) == id


def test_texts_that_look_alike_have_ids_of_their_own_and_a_lone_surrogate_has_one_too() -> None:
    alike = ["polite", "Polite", "polite ", "e\u0301", "\u00e9", "\ud800", "\udfff"]
    assert len({text_id(text) for text in alike}) == len(alike)
