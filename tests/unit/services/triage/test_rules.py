"""Who is answerable: each rule on the smallest result that it speaks about, and the traps beside it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from howsure.model.case import Scenario, SingleTurn
from howsure.model.expectation import ExpectedCall, ToolCalls, text_id
from howsure.model.flag import NO_ANSWER, Flag
from howsure.model.result import Failure, Result
from howsure.model.rubric import Severity
from howsure.model.score import Scale, Score
from howsure.model.simulation import Ending, MistakeKind, Party, Simulation, UserMistake
from howsure.model.transcript import Message, Role, Tool
from howsure.model.triage import PRIORITY, Cause, Confidence, Priority
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import read_facts
from howsure.services.triage.groups import CAUSE_TEXTS
from howsure.services.triage.rules import MetCounts, RunFacts, find_cause
from unit.services.triage.triage_results import called, criterion, grade, result, rule, talk, unreadable

CERTAIN, LIKELY, POSSIBLE = Confidence
POLITE = "Stays polite"


def said_of(
    given: Result, whole: RunFacts | None = None, tools: frozenset[str] | None = None
) -> tuple[Party, Cause, Confidence]:
    finding = find_cause(read_facts(given, tools), whole or RunFacts())
    return finding.party, finding.cause, finding.confidence


def spoiled() -> Simulation:
    slip = UserMistake(kind=MistakeKind.WRONG_FACT, turn=2, reason="gave another order number", evidence="LM-1")
    return Simulation(user="offline", ending=Ending.SAID_ALL, slips=(slip,))


def composite(reason: str) -> Score:
    return Score(name="HelpfulnessExplain", value=2, scale=Scale(1, 5), pass_mark=3.7, reason=reason, judge="j")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            result(broke=[Failure(kind="TargetFailed", message="HTTP 503 from the server")]),
            (Party.ENVIRONMENT, Cause.NOT_REACHED, CERTAIN),
        ),
        (
            result(broke=[Failure(kind="TargetFailed", message="the recorded conversation broke: Trace missing")]),
            (Party.ENVIRONMENT, Cause.NOT_REACHED, CERTAIN),
        ),
        (
            result(broke=[Failure(kind="TargetFailed", message="function 'bot': KeyError: 'order'")]),
            (Party.AGENT, Cause.AGENT_BROKE, LIKELY),
        ),
        (
            result(broke=[Failure(kind="GraderFailed", message="grader 'x': TypeError")]),
            (Party.EVALUATION, Cause.GRADER_BROKE, LIKELY),
        ),
        (result(unreadable("criteria")), (Party.JUDGE, Cause.JUDGE_UNREADABLE, CERTAIN)),
        (
            result(Score(name="choice", value=0, pass_mark=1, flag="no_choice", reason="no choice could be read")),
            (Party.AGENT, Cause.NO_CHOICE, LIKELY),
        ),
        (
            result(criterion(POLITE, False), said=talk(simulation=spoiled())),
            (Party.SIMULATOR, Cause.SIMULATOR_SPOILED, LIKELY),
        ),
        (
            result(criterion(POLITE, False), said=talk(called("pay", "503 service unavailable", failed=True))),
            (Party.ENVIRONMENT, Cause.TOOL_BROKE, LIKELY),
        ),
    ],
    ids=[
        "server down",
        "recording broke",
        "agent raised",
        "grader raised",
        "judge unreadable",
        "no choice",
        "simulator slipped",
        "tool down",
    ],
)
def test_what_broke_comes_before_what_was_judged(given: Result, expected: tuple[Party, Cause, Confidence]) -> None:
    assert said_of(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (result(grade("output_contract", False, "not JSON")), (Cause.CONTRACT_BROKEN, CERTAIN)),
        (
            result(
                grade("tool_usage_accuracy", False, "`pay` was not called"),
                grade("agent_routing", False, "`returns` did not take part"),
            ),
            (Cause.WRONG_AGENT, CERTAIN),
        ),
        (result(grade("tool_usage_accuracy", False, "`pay` was not called")), (Cause.TOOL_NOT_CALLED, CERTAIN)),
        (
            result(grade("tool_usage_accuracy", False, "`pay` was called with other arguments: `sum`: missing")),
            (Cause.WRONG_ARGUMENTS, CERTAIN),
        ),
        (result(grade("tools_used", False, "`pay` was called, but is forbidden")), (Cause.FORBIDDEN_TOOL, CERTAIN)),
        (result(grade("state_management_fidelity", False, "`x`: expected 1, found 2")), (Cause.WRONG_STATE, CERTAIN)),
        (result(grade("trajectory_accuracy", False, "`a` did not take part")), (Cause.WRONG_PATH, CERTAIN)),
        (result(rule("PRIVACY", False, "told all"), criterion(POLITE, False)), (Cause.RULE_BROKEN, LIKELY)),
        (result(composite("Helps nobody.")), (Cause.POOR_ANSWER, LIKELY)),
        (
            result(
                criterion(POLITE, False), grade("tools_used", False, "`check_stock` was not called"), reasons=("x",)
            ),
            (Cause.TOOL_NOT_CALLED, LIKELY),
        ),
        (result(criterion(POLITE, False)), (Cause.CRITERION_UNMET, LIKELY)),
        (result(criterion(POLITE, False), rule("PRIVACY", True)), (Cause.CRITERION_UNMET, POSSIBLE)),
        (
            result(grade("choice", False, "chose A; correct is A and B", chosen=["A"], correct=["A", "B"])),
            (Cause.PARTLY_RIGHT, CERTAIN),
        ),
        (
            result(grade("choice", False, "chose A; correct is B", chosen=["A"], correct=["B"])),
            (Cause.WRONG_CHOICE, CERTAIN),
        ),
        (
            result(criterion("Cites the law", False, weight=5), criterion("Invents a clause", False, weight=-3)),
            (Cause.PENALISED, LIKELY),
        ),
        (result(criterion("Cites the law", False, weight=5)), (Cause.POINTS_MISSED, LIKELY)),
        (result(grade("reference_answer", False, "Wrong.", judge="j")), (Cause.NOT_THE_REFERENCE, LIKELY)),
        (result(grade("word_limit", False, "90 of 50 words")), (Cause.BELOW_MARK, LIKELY)),
        (result(reasons=("why ever",), verdict=Verdict.FAILED), (Cause.BELOW_MARK, POSSIBLE)),
        (
            result(grade("choice", False, "the answer is empty", chosen=[], correct=["B"]), said=talk(answer=" … ")),
            (Cause.EMPTY_ANSWER, POSSIBLE),
        ),
    ],
)
def test_what_is_left_is_the_agents(given: Result, expected: tuple[Cause, Confidence]) -> None:
    assert said_of(given) == (Party.AGENT, *expected)


def test_an_agent_that_ended_its_turn_without_a_word_is_answerable_in_the_words_of_the_flag() -> None:
    silent = replace(talk(called("ask"), answer=""), flags=(Flag(NO_ANSWER, "the agent 'desk' said nothing"),))
    finding = find_cause(read_facts(result(grade("agent_routing", False, "no"), said=silent)), RunFacts())
    assert (finding.party, finding.cause, finding.confidence) == (Party.AGENT, Cause.EMPTY_ANSWER, CERTAIN)
    assert finding.why == "the agent 'desk' said nothing"


def test_an_empty_answer_beside_tool_calls_is_judged_by_the_calls() -> None:
    given = result(grade("tool_usage_accuracy", False, "`pay` was not called"), said=talk(called("ask"), answer=""))
    assert said_of(given)[1] is Cause.TOOL_NOT_CALLED


@pytest.mark.parametrize(
    ("met", "judged", "others", "expected"),
    [
        (0, 3, {}, (Party.EVALUATION, Cause.CRITERIA_STRICT, LIKELY)),
        (1, 3, {}, (Party.AGENT, Cause.CRITERION_UNMET, POSSIBLE)),
        (0, 1, {}, (Party.AGENT, Cause.CRITERION_UNMET, POSSIBLE)),
        (0, 3, {"beside_a_rule": frozenset((text_id(POLITE),))}, (Party.AGENT, Cause.CRITERION_UNMET, POSSIBLE)),
    ],
    ids=["nobody meets it", "somebody meets it", "one attempt proves nothing", "where a rule was broken too"],
)
def test_a_criterion_that_nobody_meets_while_every_rule_holds_is_too_strict(
    met: int, judged: int, others: dict[str, Any], expected: tuple[Party, Cause, Confidence]
) -> None:
    whole = RunFacts(tried={text_id(POLITE): MetCounts(met, judged)}, **others)
    assert said_of(result(criterion(POLITE, False), rule("PRIVACY", True)), whole) == expected


def test_one_criterion_that_others_meet_is_enough_to_blame_the_agent() -> None:
    whole = RunFacts(tried={text_id(POLITE): MetCounts(0, 3), text_id("Is short"): MetCounts(2, 3)})
    given = result(criterion(POLITE, False), criterion("Is short", False), rule("PRIVACY", True))
    assert said_of(given, whole)[0] is Party.AGENT


@pytest.mark.parametrize(
    ("outcome", "party"), [(True, Party.EVALUATION), (False, Party.AGENT)], ids=["goal reached", "goal missed"]
)
def test_where_the_goal_was_reached_a_criterion_that_failed_may_be_too_strict(outcome: bool, party: Party) -> None:
    given = result(criterion(POLITE, False), rule("PRIVACY", True), grade("expected_outcome", outcome, judge="j"))
    assert said_of(given)[0] is party


def test_without_rules_nothing_says_that_criteria_are_too_strict() -> None:
    given = result(criterion(POLITE, False), grade("expected_outcome", True, judge="j"))
    assert said_of(given) == (Party.AGENT, Cause.CRITERION_UNMET, LIKELY)


def test_a_key_that_every_candidate_contradicts_alike_is_doubtful() -> None:
    given = result(grade("choice", False, "chose A; correct is B", chosen=["A"], correct=["B"]))
    assert said_of(given, RunFacts(alike={"c1": 3})) == (Party.EVALUATION, Cause.KEY_DOUBTFUL, POSSIBLE)
    assert said_of(given, RunFacts(alike={"c2": 3}))[1] is Cause.WRONG_CHOICE


SEARCHING = ToolCalls(expected=(ExpectedCall(name="search_help"),))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            result(grade("tools_used", False, "`search_help` was not called"), expects=[SEARCHING]),
            (Party.RETRIEVAL, Cause.SEARCH_MISSING, LIKELY),
        ),
        (
            result(grade("tool_calls", False, "`search_help` was called with other arguments: `q`: missing")),
            (Party.RETRIEVAL, Cause.SEARCH_WRONG, LIKELY),
        ),
        (
            result(criterion(POLITE, False), said=talk(called("search_help", {"documents": []}))),
            (Party.RETRIEVAL, Cause.NOTHING_FOUND, LIKELY),
        ),
        (
            result(criterion(POLITE, False), said=talk(called("search_help", []), called("search_help", ["a page"]))),
            (Party.AGENT, Cause.CRITERION_UNMET, LIKELY),
        ),
        (
            result(grade("RetrievalExplain", False, "Pages about another exam.", judge="j")),
            (Party.RETRIEVAL, Cause.POOR_RETRIEVAL, LIKELY),
        ),
        (
            result(grade("tools_used", False, "`look_up_order` was not called")),
            (Party.AGENT, Cause.TOOL_NOT_CALLED, CERTAIN),
        ),
    ],
    ids=["not searched", "searched for another thing", "found nothing", "found it at last", "poor finds", "no search"],
)
def test_what_was_not_found_is_a_matter_of_retrieval(given: Result, expected: tuple[Party, Cause, Confidence]) -> None:
    assert said_of(given) == expected


def test_a_rule_about_knowledge_that_is_broken_without_a_search_may_be_a_matter_of_retrieval() -> None:
    whole = RunFacts(retrievers=frozenset(("help",)))
    given = result(rule("SOURCES", False, "Invents a price.", scope="knowledge_base"))
    assert said_of(given, whole) == (Party.RETRIEVAL, Cause.SEARCH_MISSING, POSSIBLE)
    finding = find_cause(
        read_facts(result(*given.grades, said=talk(called("help", "a price"))), None, whole.retrievers), whole
    )
    assert (finding.party, finding.cause) == (Party.AGENT, Cause.RULE_BROKEN)


PAYING = ToolCalls(expected=(ExpectedCall(name="pay"),))


def test_a_tool_that_the_agent_does_not_have_is_a_matter_of_test_design() -> None:
    given = result(grade("tool_usage_accuracy", False, "`pay` was not called"), expects=[PAYING])
    expected = (Party.TEST_DESIGN, Cause.TOOL_LACKING, CERTAIN)
    assert said_of(given, tools=frozenset(("ask",))) == expected
    assert said_of(given, tools=frozenset(("ask", "pay")))[1] is Cause.TOOL_NOT_CALLED
    assert said_of(given)[1] is Cause.TOOL_NOT_CALLED


def test_the_tools_of_the_case_come_before_those_of_the_agent() -> None:
    given = result(
        grade("tool_usage_accuracy", False, "`pay` was not called"), expects=[PAYING], tools=(Tool(name="pay"),)
    )
    assert said_of(given, tools=frozenset(("ask",)))[1] is Cause.TOOL_NOT_CALLED


def test_a_tool_that_was_called_all_the_same_is_not_lacking() -> None:
    given = result(
        grade("tool_usage_accuracy", False, "`pay` was called with other arguments: `sum`: missing"),
        expects=[PAYING],
        said=talk(called("pay")),
    )
    assert said_of(given, tools=frozenset(("ask",)))[1] is Cause.WRONG_ARGUMENTS


def test_a_rule_about_a_component_that_the_agent_lacks_is_a_matter_of_test_design() -> None:
    whole = RunFacts(lacking_rules=frozenset(("PRICES",)))
    assert said_of(result(rule("PRICES", False)), whole) == (Party.TEST_DESIGN, Cause.TOOL_LACKING, LIKELY)
    assert said_of(result(rule("PRICES", False), rule("PRIVACY", False)), whole)[0] is Party.AGENT


@pytest.mark.parametrize(
    "text",
    [
        "Does not ask again for the order number",
        "Uses the address the customer already provided",
        "Refers to the earlier complaint",
        "Cancels only after the user has confirmed",
        "Remembers the name",
    ],
)
def test_one_message_cannot_bring_earlier_talk(text: str) -> None:
    given = result(criterion(text, False))
    assert said_of(given) == (Party.TEST_DESIGN, Cause.NEEDS_EARLIER_TALK, LIKELY)


@pytest.mark.parametrize(
    "text", ["Names the price", "Is polite", "Gives the delivery date", "Asks for the order number"]
)
def test_criteria_that_need_no_earlier_talk_are_left_alone(text: str) -> None:
    assert said_of(result(criterion(text, False)))[0] is Party.AGENT


def test_with_a_history_earlier_talk_may_be_asked_for() -> None:
    asked = SingleTurn(message="And now?", history=(Message(role=Role.USER, content="It is late."),))
    assert said_of(result(criterion("Refers to the earlier complaint", False), asked=asked))[0] is Party.AGENT


@pytest.mark.parametrize(
    ("message", "design"),
    [
        ("I live in [restricted state], may I order?", True),
        ("My name is {{name}}", True),
        ("<insert order number>", True),
        ("See [the rules](https://x.example) please", False),
        ("Is order [LM-4] late?", False),
        ("f(x) = {a}", False),
    ],
)
def test_a_placeholder_in_what_the_user_says_is_a_matter_of_test_design(message: str, design: bool) -> None:
    given = result(criterion(POLITE, False), asked=SingleTurn(message=message))
    assert (said_of(given)[1] is Cause.PLACEHOLDER) is design


def test_a_placeholder_in_brackets_may_be_meant() -> None:
    def sure(message: str) -> Confidence:
        return said_of(result(criterion(POLITE, False), asked=SingleTurn(message=message)))[2]

    assert (sure("[laughs] Is it late?"), sure("Is {{order}} late?")) == (POSSIBLE, LIKELY)


@pytest.mark.parametrize(
    "given",
    [
        result(rule("PRIVACY", False), said=talk(called("search_help", []))),
        result(rule("PRIVACY", False), asked=SingleTurn(message="I am [your name]")),
        result(rule("PRIVACY", False), criterion("Refers to the earlier complaint", False)),
        result(rule("PRIVACY", False), expects=[PAYING], tools=(Tool(name="ask"),)),
        result(rule("PRIVACY", False), rule("SOURCES", False, scope="knowledge_base")),
    ],
    ids=["found nothing", "placeholder", "earlier talk", "tool lacking", "knowledge too"],
)
def test_a_broken_rule_is_the_agents_whatever_else_is_wrong_with_the_case(given: Result) -> None:
    assert said_of(given)[:2] == (Party.AGENT, Cause.RULE_BROKEN)


def cut_off(*grades: Score) -> Result:
    simulation = Simulation(user="offline", ending=Ending.TURN_LIMIT)
    asked = Scenario(persona="p", initial_message="Hello", max_turns=2)
    return result(*grades, asked=asked, said=talk(simulation=simulation))


def test_a_turn_limit_that_came_first_may_be_a_matter_of_test_design() -> None:
    expected = (Party.TEST_DESIGN, Cause.CUT_OFF, POSSIBLE)
    assert said_of(cut_off(criterion(POLITE, False))) == expected
    assert said_of(cut_off(rule("PRIVACY", False)))[0] is Party.AGENT


def test_a_rule_of_low_severity_decides_nothing() -> None:
    given = result(criterion(POLITE, False), rule("WARM", False, severity=Severity.LOW))
    assert said_of(given)[1] is Cause.CRITERION_UNMET


def test_a_finding_says_why_and_shows_it() -> None:
    finding = find_cause(
        read_facts(result(criterion(POLITE, False, "Calls the user names."), id="c9", name="Rude")), RunFacts()
    )
    assert (finding.case_id, finding.case_name, finding.result) == ("c9", "Rude", "c9")
    assert (finding.why, finding.evidence) == ("not met: “Stays polite”", "Calls the user names.")


def test_every_party_has_a_priority_and_every_cause_has_words() -> None:
    assert set(PRIORITY) == set(Party)
    assert set(CAUSE_TEXTS) == set(Cause)
    assert [PRIORITY[party] for party in (Party.EVALUATION, Party.AGENT, Party.RETRIEVAL)] == list(Priority)


def test_the_parties_are_the_words_of_the_whole_product() -> None:
    assert [party.words for party in Party] == [
        "agent",
        "evaluation",
        "test design",
        "retrieval",
        "simulator",
        "environment",
        "judge",
    ]
