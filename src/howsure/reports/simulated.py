"""The simulated user's side, in words: how a conversation ended, what was wrong with it, who is answerable, and how far
the simulator of a run can be trusted."""

from __future__ import annotations

from collections.abc import Iterator

from howsure.model.result import Result
from howsure.model.simulation import Fault, Simulation
from howsure.model.summary import Summary
from howsure.reports.figures import Rate

FIDELITY = "simulator_fidelity"


def played(result: Result) -> list[tuple[str, str]]:
    """Title and text of each thing worth knowing; nothing where nobody was simulated."""
    told: list[tuple[str, str]] = []
    simulation = result.transcript.simulation if result.transcript else None
    if simulation is not None:
        told.append(("ended", _ended(simulation)))
        told += [("simulator", f"turn {slip.turn}: {slip.reason}{_quoted(slip.evidence)}") for slip in simulation.slips]
    if result.fault is not None:
        told.append(("answerable", blamed(result.fault)))
    return told


def _ended(simulation: Simulation) -> str:
    words = simulation.ending.value.replace("_", " ")
    reason = f": {simulation.reason}" if simulation.reason else ""
    again = len(simulation.discarded)
    tries = "1 earlier try" if again == 1 else f"{again} earlier tries"
    thrown = f"; {tries} spoiled by it and discarded" if again else ""
    return f"{words}{reason} (user played by {simulation.user}{thrown})"


def _quoted(evidence: str) -> str:
    return f" (“{evidence}”)" if evidence else ""


def blamed(fault: Fault) -> str:
    return f"{fault.party.value}: {fault.reason}{_quoted(fault.evidence)}"


def notes(summary: Summary) -> Iterator[str]:
    """What a reader of the run must know of its simulator."""
    graded = [grader for grader in summary.graders if grader.name == FIDELITY]
    spoiled, fair = sum(grader.failed for grader in graded), sum(grader.passed for grader in graded)
    if spoiled + fair:
        share, user = Rate(spoiled, spoiled + fair), summary.run.pins.simulator or "of an earlier run"
        yield f"The simulated user ({user}) spoiled {spoiled:,} of {spoiled + fair:,} conversations: {share}."
    if summary.faults:
        parties = ", ".join(f"{party} {number:,}" for party, number in summary.faults.items())
        yield f"Answerable for the scenarios that did not pass: {parties}."
