"""A stored run to its triage: what only the whole run can tell, and what very many failures cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from howsure.errors import NotFound
from howsure.model.agent import Agent, AgentTool
from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.result import Result
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import RunState
from howsure.model.score import Score
from howsure.model.simulation import Party
from howsure.model.triage import Cause, GroupKind, Triage
from howsure.model.verdict import Verdict
from howsure.services.demo import DEMOS, demo_request
from howsure.services.run.start import start
from howsure.services.triage.triage import triage_run
from howsure.services.workspace import Workspace
from unit.reports.northwind import a_run, counts_of
from unit.services.places import workplace
from unit.services.triage.triage_results import criterion, grade, result, rule


def passing(*grades: Any, **fields: Any) -> Result:
    return result(*grades, verdict=Verdict.PASSED, **fields)


async def stored(folder: Path, results: Sequence[Result], **fields: Any) -> Triage:
    """The triage of a run with these results, each at its own position."""
    placed = [_at(place, each) for place, each in enumerate(results)]
    work = workplace(folder)
    run = a_run(counts_of(placed), pins=fields)
    async with await work.store() as store:
        await store.create_run(run)
        await store.save(run.id, placed)
        await store.set_state(run.id, RunState.COMPLETED)
    return await triage_run(work, run.id)


def _at(place: int, each: Result) -> Result:
    fields = {name: getattr(each, name) for name in each.__struct_fields__}
    return Result(**{**fields, "position": place})


def found_of(found: Triage, case: str) -> list[tuple[Party, Cause]]:
    return [(finding.party, finding.cause) for finding in found.findings if finding.case_id == case]


async def test_a_criterion_that_no_candidate_meets_is_the_evaluations(tmp_path: Path) -> None:
    held = rule("PRIVACY", True)
    results = [
        *(result(criterion("Cites § 4", False), held, id="strict", candidate=name) for name in ("a", "b", "c")),
        *(result(criterion("Is short", False), held, id="fair", candidate=name) for name in ("a", "b")),
        passing(criterion("Is short", True), held, id="fair", candidate="c"),
    ]
    found = await stored(tmp_path, results)
    assert found_of(found, "strict") == [(Party.EVALUATION, Cause.CRITERIA_STRICT)] * 3
    assert found_of(found, "fair") == [(Party.AGENT, Cause.CRITERION_UNMET)] * 2


async def test_ids_of_a_files_own_are_known_in_their_case_only(tmp_path: Path) -> None:
    held = rule("PRIVACY", True)
    results = [
        *(result(criterion("Cites § 4", False, id="c1"), held, id="strict", repeat=n) for n in (1, 2)),
        *(passing(criterion("Is short", True, id="c1"), held, id="other", repeat=n) for n in (1, 2)),
    ]
    found = await stored(tmp_path, results)
    assert found_of(found, "strict") == [(Party.EVALUATION, Cause.CRITERIA_STRICT)] * 2
    (group,) = (group for group in found.groups if group.kind is GroupKind.CRITERION)
    assert (group.results, group.of) == (2, 2)


async def test_a_key_is_doubtful_only_when_everybody_contradicts_it_alike(tmp_path: Path) -> None:
    def chose(letter: str, case: str, candidate: str) -> Result:
        told = grade("choice", False, f"chose {letter}; correct is D", chosen=[letter], correct=["D"])
        return result(told, id=case, candidate=candidate)

    def refused(candidate: str) -> Result:
        none = Score(name="choice", value=0, pass_mark=1, flag="no_choice", reason="no choice could be read")
        return result(none, id="refused", candidate=candidate)

    right = grade("choice", True, chosen=["D"], correct=["D"])
    results = [
        refused("m1"),
        refused("m2"),
        chose("A", "alike", "m1"),
        chose("A", "alike", "m2"),
        chose("A", "apart", "m1"),
        chose("B", "apart", "m2"),
        chose("A", "one is right", "m1"),
        passing(right, id="one is right", candidate="m2"),
        chose("A", "alone", "m1"),
    ]
    found = await stored(tmp_path, results)
    assert found_of(found, "alike") == [(Party.EVALUATION, Cause.KEY_DOUBTFUL)] * 2
    assert found_of(found, "refused") == [(Party.AGENT, Cause.NO_CHOICE)] * 2
    for case in ("apart", "one is right", "alone"):
        assert set(found_of(found, case)) == {(Party.AGENT, Cause.WRONG_CHOICE)}, case


async def test_the_agent_that_the_run_pinned_says_what_is_lacking_and_what_searches(tmp_path: Path) -> None:
    agent = Agent(
        id="a",
        name="A",
        tools=(AgentTool(tool_name="moss", id="t1", type="faqs-retriever"), AgentTool(tool_name="ask")),
    )
    rules = (Rule(id="GONE", name="about what is gone", severity=Severity.HIGH, component_ids=("t9",)),)
    wanted = ToolCalls(expected=(ExpectedCall(name="pay"),))
    results = [
        result(grade("tool_usage_accuracy", False, "`pay` was not called"), expects=[wanted], id="lacking"),
        result(grade("tool_usage_accuracy", False, "`moss` was not called"), id="search"),
        result(rule("GONE", False), id="gone"),
    ]
    found = await stored(tmp_path, results, agent=agent, rubric=Rubric(name="R", rules=rules))
    assert found_of(found, "lacking") == [(Party.TEST_DESIGN, Cause.TOOL_LACKING)]
    assert found_of(found, "search") == [(Party.RETRIEVAL, Cause.SEARCH_MISSING)]
    assert found_of(found, "gone") == [(Party.TEST_DESIGN, Cause.TOOL_LACKING)]


async def test_totals_count_the_results_that_passed_too(tmp_path: Path) -> None:
    results = [
        result(
            criterion("x", False), grade("criteria", False), rule("R1", False, scope="prompt"), id="a", tags=("vip",)
        ),
        result(
            criterion("x", False), grade("criteria", False), rule("R1", False, scope="prompt"), id="b", tags=("vip",)
        ),
        passing(criterion("x", True), grade("criteria", True), rule("R1", True, scope="prompt"), id="c", tags=("vip",)),
        passing(criterion("x", True), grade("criteria", True), rule("R1", True, scope="prompt"), id="d"),
    ]
    found = await stored(tmp_path, results)
    assert (found.total, found.passed, found.failed, found.errored) == (4, 2, 2, 0)
    totals = {(group.kind, group.name): (group.results, group.of) for group in found.groups}
    assert totals == {
        (GroupKind.RULE, "R1: about R1"): (2, 4),
        (GroupKind.CRITERION, "x"): (2, 4),
        (GroupKind.GRADER, "criteria"): (2, 4),
        (GroupKind.COMPONENT, "prompt"): (2, 4),
        (GroupKind.TAG, "vip"): (2, 3),
    }


async def test_a_run_without_failures_has_nothing_to_triage(tmp_path: Path) -> None:
    found = await stored(tmp_path, [passing(criterion("x", True), id="a")])
    assert (found.causes, found.groups, found.divergences, found.findings) == ((), (), (), ())


async def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    async with await work.store():
        pass
    with pytest.raises(NotFound):
        await triage_run(work, "nobody")


async def test_findings_are_in_the_order_of_the_run_whatever_their_verdict(tmp_path: Path) -> None:
    broken = result(id="b", verdict=Verdict.ERRORED)
    found = await stored(
        tmp_path, [result(criterion("x", False), id="a"), broken, result(criterion("x", False), id="c")]
    )
    assert [finding.case_id for finding in found.findings] == ["a", "b", "c"]


async def test_thousands_of_failures_take_seconds(tmp_path: Path) -> None:
    words = ("price", "order", "refund", "date", "number", "address", "voucher", "shipping", "return", "receipt")
    results = [
        result(
            criterion(
                f"Criterion {n % 50}", False, f"The {words[n % 10]} of case {n} is missing from its {words[n % 7]}."
            ),
            rule("R1", n % 3 > 0, "Broken."),
            id=f"c{n}",
            tags=(f"t{n % 9}",),
        )
        for n in range(3000)
    ]
    began = time.process_time()
    found = await stored(tmp_path, results)
    assert time.process_time() - began < 30
    assert len(found.findings) == 3000
    assert sum(len(group.results) for group in found.causes) == 3000


class Hand(NamedTuple):
    """One group as the person made it. Results of a named candidate are written `case [candidate]`."""

    party: Party
    results: frozenset[str]
    why: str


def hand(party: Party, why: str, *results: str) -> Hand:
    return Hand(party, frozenset(results), why)


def orchid(*cases: str) -> tuple[str, ...]:
    return tuple(f"lm-legal:{case} [orchid-7b]" for case in cases)


BY_HAND = {
    "explain": (
        hand(
            Party.JUDGE,
            "The plans look good; the judge gave a 7 on a scale to 5, and then would not settle on a number.",
            "study-plan-generator-005",
            "study-plan-generator-006",
        ),
        hand(
            Party.RETRIEVAL,
            "Each searched the catalogue with the wrong filter (no level, the wrong level, the wrong exam), so what"
            " came back was wrong before the answer was written.",
            "learning-path-curator-003",
            "learning-path-curator-004",
            "learning-path-curator-006",
        ),
        hand(
            Party.AGENT,
            "The answer is not what the next program can read: a list instead of an object, and JSON that breaks off.",
            "engagement-agent-003",
            "readiness-assessment-agent-004",
        ),
        hand(
            Party.AGENT,
            "The work itself is poor: two weeks of ten were planned; three of ten answer keys are wrong.",
            "study-plan-generator-004",
            "readiness-assessment-agent-003",
        ),
    ),
    "golden": (
        hand(
            Party.AGENT,
            "Opened a ticket instead of trying the voucher: two required calls are missing.",
            "q_voucher_10",
        ),
        hand(Party.AGENT, "The customer gave the postcode; the call went out without it.", "q_address_change_11"),
        hand(Party.AGENT, "The tool said 1420 points and the agent kept 1240.", "q_loyalty_points_12"),
        hand(Party.AGENT, "The second wish never reached the returns agent; the rest follows.", "q_two_wishes_14"),
        hand(Party.ENVIRONMENT, "The bot gateway reset the connection: nothing was said.", "q_person_please_16"),
    ),
    "simulation": (
        hand(
            Party.AGENT,
            "The right agent was there and did not act: no voucher tried, no ticket opened.",
            "q_voucher_10",
            "sim_gift_card_17",
        ),
        hand(Party.AGENT, "Sent to the stock desk; the returns agent never took part.", "sim_wrong_desk_23"),
        hand(
            Party.ENVIRONMENT,
            "The agent's server was down, and a trace was lost: there is no conversation to grade.",
            "sim_rope_recall_20",
            "sim_ski_service_21",
        ),
    ),
    "test-set": (
        hand(
            Party.AGENT,
            "Neighbour's address: told one customer where another lives. A standing rule was broken.",
            "e17989d4-46cf-531c-9dbd-4f19be74c73e",
        ),
        hand(
            Party.AGENT,
            "Gift without a receipt: the search found the rule, and the answer says the contrary.",
            "f6aaf5fa-010c-50cf-b20d-f644cfca5f16",
        ),
        hand(
            Party.AGENT,
            "Stock without looking: guessed, where the stock system was to be asked.",
            "c6ebcf36-ee61-5ed9-9b29-0c0e1e3a7e19",
        ),
        hand(
            Party.JUDGE,
            "Refund to another card: a careful answer, and two replies of the judge without a verdict.",
            "99ec40be-82bb-52af-a6c8-ccc34df6878d",
        ),
    ),
    "legal": (
        hand(
            Party.AGENT,
            "Asked to choose, it did not: `A or B`, and a refusal.",
            *orchid("refund-deadline", "guarantee-length"),
        ),
        hand(Party.AGENT, "Nothing was said at all; what ate the answer cannot be told.", *orchid("access-deadline")),
        hand(
            Party.AGENT,
            "Several options are right and it found some of them, or one too many: half knowledge.",
            *orchid("withdrawal-exceptions", "unfair-practices"),
            "lm-legal:lawful-bases [juno-mini]",
        ),
        hand(
            Party.AGENT,
            "One option is right and it chose another.",
            *orchid("burden-of-proof", "recall-remedy"),
            "lm-legal:price-cut [juno-mini]",
            "lm-legal:email-marketing [juno-large]",
        ),
        hand(
            Party.AGENT,
            "Each states as law what the case marks down as wrong, beside the points that it misses.",
            *orchid("used-tent", "open-cc", "late-delivery", "club-terms", "courier-agreement"),
        ),
        hand(
            Party.AGENT,
            "Short answers that differ from the reference in what matters. The button question is failed by two, but a"
            " third meets it, so the reference is not at fault.",
            *orchid("repair-transport", "order-button", "old-applications", "objection"),
            "lm-legal:order-button [juno-large]",
            "lm-legal:ticked-box [juno-mini]",
        ),
        hand(Party.JUDGE, "The judge broke off, then scored `high`.", "lm-legal:objection [juno-mini]"),
    ),
}


async def triaged(folder: Path, dialect: str) -> Triage:
    work = Workspace.here(database=str(folder / "howsure.db"))
    (demo,) = (each for each in DEMOS if each.dialect == dialect)
    summary = await start(work, demo_request(demo), lambda _: lambda _: None)
    return await triage_run(work, summary.run.id)


@pytest.mark.parametrize("dialect", BY_HAND)
async def test_triage_groups_the_demo_failures_as_a_person_did(dialect: str, tmp_path: Path) -> None:
    found = await triaged(tmp_path, dialect)
    groups = {(group.party, frozenset(group.results)) for group in found.causes}
    assert groups == {(group.party, group.results) for group in BY_HAND[dialect]}


@pytest.mark.parametrize("dialect", BY_HAND)
async def test_every_failure_and_error_of_a_demo_run_is_in_exactly_one_group(dialect: str, tmp_path: Path) -> None:
    found = await triaged(tmp_path, dialect)
    grouped = [result for group in found.causes for result in group.results]
    assert len(grouped) == len(set(grouped)) == found.failed + found.errored
