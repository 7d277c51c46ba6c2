"""What was said, whoever recorded it. What good looks like, in words. What reports say of the simulated user's side:
how it ended, what was wrong with it, who is answerable, and how often the simulator spoiled it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from howsure.model.case import Fact, PlanStep, Scenario, Script, SingleTurn
from howsure.model.expectation import (
    AgentsInvolved,
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
)
from howsure.model.result import Failure, Result
from howsure.model.score import Part, Score
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.summary import Summary
from howsure.model.transcript import Message, Role, SentRequest, Transcript
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import conversation, expectation_texts, fault_text, given_facts, simulation_facts
from howsure.reports.evaluations import evaluation_result, evaluation_run
from howsure.reports.html.case_data import case_block
from howsure.reports.html.page import write_page
from howsure.reports.run_facts import run_notes
from howsure.reports.run_report import case_report, run_report, write_markdown
from howsure.testing import a_case, a_transcript
from unit.reports.northwind import a_result, stream, summary_of


def said(result: Result) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in conversation(result)]


def test_the_users_side_comes_from_the_case_when_the_transcript_has_only_the_answer() -> None:
    result = Result(case=a_case(message="Where is it?"), verdict=Verdict.PASSED, transcript=a_transcript("There."))
    assert said(result) == [("user", "Where is it?"), ("assistant", "There.")]


def test_a_transcript_with_both_sides_is_taken_as_it_is() -> None:
    talk = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))
    transcript = Transcript(answer="Hello", messages=talk)
    result = Result(case=a_case(message="Hi"), verdict=Verdict.PASSED, transcript=transcript)
    assert said(result) == [("user", "Hi"), ("assistant", "Hello")]


def test_an_answer_that_no_message_holds_is_added() -> None:
    result = Result(case=a_case(message="Hi"), verdict=Verdict.PASSED, transcript=Transcript(answer="Hello"))
    assert said(result) == [("user", "Hi"), ("assistant", "Hello")]


def test_earlier_turns_and_every_scripted_turn_are_there() -> None:
    earlier = (Message(role=Role.SYSTEM, content="Be brief."),)
    single = a_case(input=SingleTurn(message="And now?", history=earlier))
    scripted = a_case(input=Script(turns=("One", "Two")))
    assert said(Result(case=single, verdict=Verdict.ERRORED)) == [("system", "Be brief."), ("user", "And now?")]
    assert said(Result(case=scripted, verdict=Verdict.ERRORED)) == [("user", "One"), ("user", "Two")]


CHOICES = (Choice(id="A", text="yes"), Choice(id="B", text="no"))
CRITERION = Criterion(id="c1", text="polite")


@pytest.mark.parametrize(
    ("expectation", "said"),
    [
        (ReferenceAnswer(answers=("Paris", "paris")), [("reference answer", "Paris\n\nor: paris")]),
        (CorrectChoice(choices=CHOICES, correct=("B",)), [("choices", "A. yes\nB. no\ncorrect: B")]),
        (
            ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": 1, "note": {"$any": True}}),)),
            [("tool calls (superset)", 'refund(order: 1, note: {"$any":true})')],
        ),
        (
            ToolCalls(expected=(), match=Matching(mode=MatchMode.EXACT)),
            [("tool calls (exact)", "none may be made")],
        ),
        (ForbiddenTools(names=("live_handoff",)), [("forbidden tools", "live_handoff")]),
        (Trajectory(steps=("router", "refund")), [("trajectory (in order)", "router → refund")]),
        (FinalState(variables={"open": False}), [("final state", '{"open":false}')]),
        (AgentsInvolved(names=("a", "b")), [("agents involved", "a, b")]),
        (Goal(text="A refund"), [("goal", "A refund")]),
        (Contract(name="answer_v1"), [("output contract", "answer_v1")]),
        (Qualities(names=("Relevance",)), [("judged on", "Relevance")]),
        (Criteria(criteria=(CRITERION,)), []),
        (WeightedCriteria(criteria=(CRITERION,)), []),
    ],
)
def test_every_expectation_is_said_but_criteria_which_the_grades_show(
    expectation: Expectation, said: list[tuple[str, str]]
) -> None:
    assert expectation_texts(a_case(expectation)) == said


INPUT = Scenario(
    persona="In a hurry",
    initial_message="My lamp is broken.",
    max_turns=4,
    goal="a refund",
    facts=(Fact(name="order", value="L-1"),),
    plan=(PlanStep(say="Ask how long it takes"), PlanStep(say="Refuse it", when="a voucher is offered")),
)
MADE_UP = UserMistake(kind=MistakeKind.INVENTED_FACT, turn=2, reason="nobody gave an order B-7", evidence="It is B-7.")
EARLY = UserMistake(kind=MistakeKind.UNASKED_FACT, turn=1, reason="nobody asked for it", spoils=False)
FAULT = Fault(party=Party.SIMULATOR, reason="the simulated user spoiled it", evidence="It is B-7.")
SPOILED = Simulation(user="offline", ending=Ending.GAVE_UP, reason="refused twice", slips=(EARLY, MADE_UP))


def a_talk(simulation: Simulation | None = SPOILED, fault: Fault | None = FAULT, **fields: Any) -> Result:
    value = 0.0 if simulation and simulation.spoiled else 1.0
    given = {
        "case": a_case(id="lamp", input=INPUT),
        "transcript": a_transcript("No.", simulation=simulation),
        "grades": (Score(name="simulator_fidelity", value=value, pass_mark=1.0),),
        "fault": fault,
        **fields,
    }
    return a_result(given.pop("verdict", Verdict.FAILED), **given)


def a_summary(*results: Result, faults: dict[str, int] | None = None, **fields: Any) -> Summary:
    pins = {"simulator": "offline", **fields.pop("pins", {})}
    return replace(summary_of(results, pins=pins, **fields), faults=faults or {})


def test_the_ending_every_slip_and_the_one_answerable_are_told() -> None:
    assert simulation_facts(a_talk()) == [
        ("ended", "gave up: refused twice (user played by offline)"),
        ("simulator", "turn 1: nobody asked for it"),
        ("simulator", "turn 2: nobody gave an order B-7 (“It is B-7.”)"),
        ("answerable", "simulator: the simulated user spoiled it (“It is B-7.”)"),
    ]


@pytest.mark.parametrize(
    ("simulation", "said"),
    [
        (Simulation(user="m", ending=Ending.GOAL_REACHED), "goal reached (user played by m)"),
        (
            Simulation(user="m", ending=Ending.TURN_LIMIT, discarded=((MADE_UP,),)),
            "turn limit (user played by m; 1 earlier try spoiled by it and discarded)",
        ),
        (
            Simulation(user="m", ending=Ending.LOOP, reason="same again", discarded=((MADE_UP,), (EARLY, MADE_UP))),
            "loop: same again (user played by m; 2 earlier tries spoiled by it and discarded)",
        ),
    ],
    ids=["no reason", "played again", "played again twice"],
)
def test_an_ending_says_who_played_and_what_was_thrown_away(simulation: Simulation, said: str) -> None:
    assert simulation_facts(a_talk(simulation, fault=None)) == [("ended", said)]


def test_where_nobody_was_simulated_there_is_nothing_to_tell() -> None:
    assert simulation_facts(a_result()) == []
    assert simulation_facts(a_result(Verdict.ERRORED, transcript=None)) == []


def test_a_conversation_that_broke_has_somebody_answerable_all_the_same() -> None:
    fault = Fault(party=Party.ENVIRONMENT, reason="the agent could not be reached")
    assert simulation_facts(a_talk(None, fault, transcript=None)) == [
        ("answerable", "environment: the agent could not be reached")
    ]
    assert fault_text(fault) == "environment: the agent could not be reached"


FAIR = a_talk(Simulation(user="offline", ending=Ending.GOAL_REACHED), fault=None, verdict=Verdict.PASSED)


def test_the_error_rate_of_the_simulator_has_its_interval_and_faults_are_counted() -> None:
    summary = a_summary(a_talk(), FAIR, FAIR, FAIR, faults={"agent": 1200, "simulator": 1})
    assert list(run_notes(summary)) == [
        "The simulated user (offline) spoiled 1 of 4 conversations: 25.0 % [1–70] n 4.",
        "Answerable for the scenarios that did not pass: agent 1,200, simulator 1.",
    ]


def test_candidates_share_one_simulator() -> None:
    summary = a_summary(replace(FAIR, candidate="a"), replace(a_talk(), candidate="b"))
    (note,) = run_notes(summary)
    assert note == "The simulated user (offline) spoiled 1 of 2 conversations: 50.0 % [9–91] n 2."


def test_a_run_without_simulated_users_says_nothing_of_them() -> None:
    assert list(run_notes(summary_of([a_result()]))) == []


def test_conversations_of_an_earlier_run_had_a_simulator_of_its_own() -> None:
    (note,) = run_notes(a_summary(FAIR, pins={"simulator": ""}))
    assert note == "The simulated user (of an earlier run) spoiled 0 of 1 conversations: 0.0 % [0–79] n 1."


def printed(shown: Any, width: int = 200) -> str:
    file = StringIO()
    Console(file=file, width=width, color_system=None).print(shown)
    return file.getvalue()


def test_the_terminal_shows_the_run_and_the_case() -> None:
    summary = a_summary(a_talk(), FAIR, faults={"simulator": 1})
    text = printed(run_report(summary, ()))
    assert "The simulated user (offline) spoiled 1 of 2 conversations: 50.0 % [9–91] n 2." in text
    assert "Answerable for the scenarios that did not pass: simulator 1." in text
    assert "simulated: offline" in text
    detail = printed(case_report(a_talk()))
    assert "ended: gave up: refused twice (user played by offline)" in detail
    assert "simulator: turn 2: nobody gave an order B-7 (“It is B-7.”)" in detail
    assert "answerable: simulator: the simulated user spoiled it" in detail
    assert "answerable" not in printed(case_report(a_result()))


async def test_a_document_shows_the_run_and_what_failed() -> None:
    file, results = StringIO(), [a_talk()]
    await write_markdown(a_summary(*results, faults={"simulator": 1}), stream(results), file)
    text = file.getvalue()
    assert "- user: simulated: offline" in text
    assert "The simulated user (offline) spoiled 1 of 1 conversations" in text
    assert "- ended: gave up: refused twice (user played by offline)" in text
    assert "- answerable: simulator: the simulated user spoiled it (“It is B-7.”)" in text


EVIL = "</script><img src=x onerror=alert(1)> \x1b[31m"


async def test_a_page_shows_the_run_and_what_is_foreign_stays_text() -> None:
    slip = replace(MADE_UP, reason=EVIL, evidence=EVIL)
    result = a_talk(replace(SPOILED, slips=(slip,), reason=EVIL), replace(FAULT, reason=EVIL, evidence=EVIL))
    file = StringIO()
    await write_page(a_summary(result, pins={"simulator": EVIL}), stream([result]), file)
    text = file.getvalue()
    assert "spoiled 1 of 1 conversations" in text
    assert "<img" not in text
    assert "\x1b" not in text


def test_a_block_of_a_page_has_the_persona_and_how_it_went() -> None:
    given = case_block(a_talk())["given"]
    assert [entry["title"] for entry in given] == [
        "persona, up to 4 turns",
        "goal",
        "knows",
        "plan",
        "ended",
        "simulator",
        "simulator",
        "answerable",
    ]
    assert given[0]["text"] == "In a hurry"


SENT = SentRequest(
    messages=(Message(role=Role.SYSTEM, content="Be kind."), Message(role=Role.USER, content="A or B?")),
    model="openai:mini",
    settings={"temperature": 0.2, "seed": 7},
)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (SENT, "openai:mini: temperature 0.2, seed 7\nsystem: Be kind.\nuser: A or B?"),
        (SentRequest(messages=(), body='{"q":"A or B?"}'), '{"q":"A or B?"}'),
    ],
    ids=["chat", "a body of its own"],
)
def test_what_was_sent_is_shown_as_it_was(sent: SentRequest, text: str) -> None:
    result = a_result(transcript=replace(a_transcript("A"), sent=sent))
    assert given_facts(result) == [("sent", text)]


def test_criteria_without_grades_are_listed_with_weights_and_references() -> None:
    weighted = WeightedCriteria(criteria=(Criterion(id="c", text="Names Friday", weight=-8),), references=("Friday",))
    case = a_case(weighted)
    assert expectation_texts(case, ()) == [("criteria", "-8: Names Friday\nreference: Friday")]
    graded = (Score(name="weighted_criteria", value=1, part=Part(id="c", text="Names Friday")),)
    assert expectation_texts(case, graded) == [("criteria", "reference: Friday")]


def shown(result: Result) -> dict[str, Any]:
    wire: dict[str, Any] = json.loads(json.dumps(evaluation_result(summary_of([result]).run, result)))
    return wire


def test_json_has_the_simulation_and_the_fault_beside_what_was_there_before() -> None:
    wire = shown(a_talk(replace(SPOILED, slips=(MADE_UP,), discarded=((EARLY,),))))
    made_up = {
        "kind": "invented_fact",
        "turn": 2,
        "reason": "nobody gave an order B-7",
        "evidence": "It is B-7.",
    }
    assert wire["simulation"] == {
        "user": "offline",
        "ending": "gave_up",
        "reason": "refused twice",
        "slips": [made_up],
        "discarded": [[{"kind": "unasked_fact", "turn": 1, "reason": "nobody asked for it", "spoils": False}]],
    }
    fault = {"party": "simulator", "reason": "the simulated user spoiled it", "evidence": "It is B-7."}
    assert wire["fault"] == fault
    plain = shown(a_result())
    assert (plain["simulation"], plain["fault"]) == (None, None)
    assert set(plain) == set(wire)
    broken = shown(a_talk(None, FAULT, transcript=None, failures=(Failure(kind="SimulatorFailed", message="x"),)))
    assert (broken["simulation"], broken["fault"]) == (None, fault)


def test_the_input_of_a_scenario_says_all_that_was_told_to_the_user() -> None:
    assert shown(a_talk())["input"] == {
        "persona": "In a hurry",
        "initial_message": "My lamp is broken.",
        "max_turns": 4,
        "goal": "a refund",
        "facts": [{"name": "order", "value": "L-1"}],
        "conversation_plan": [
            {"say": "Ask how long it takes"},
            {"say": "Refuse it", "when": "a voucher is offered"},
        ],
    }


def test_the_run_names_its_simulator_and_counts_faults() -> None:
    wire = evaluation_run(a_summary(a_talk(), faults={"agent": 2, "simulator": 1}))
    assert (wire["simulator"], wire["faults"]) == ("offline", {"agent": 2, "simulator": 1})
    without = evaluation_run(summary_of([a_result()]))
    assert (without["simulator"], without["faults"]) == (None, {})
