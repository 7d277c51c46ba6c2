"""The failures of the demo, sorted by a person who read every one of them before there were any rules; triage must sort
them the same way. Each group is a cause: who is answerable, the results that share it, and a sentence on why."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from howsure.model.simulation import Party
from howsure.model.triage import Triage
from howsure.services.demo import DEMOS, options
from howsure.services.runs import start
from howsure.services.triage.triaging import triage
from howsure.services.workspace import Workspace


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
    summary = await start(work, options(demo), lambda _: lambda _: None)
    return await triage(work, summary.run.id)


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
