"""The end of a session: each run is closed, the gates on whole datasets are reported as tests of their own, and one
line for each run says what came of it and how to look at it. Only the process that talks to the user does this."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import msgspec
import pytest

from howsure.errors import InputError
from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.pytest_plugin import NOTED
from howsure.pytest_plugin.case_runner import RUNNER, RunNote, SessionNotes
from howsure.reports.run_facts import gate_name, run_sentence
from howsure.reports.safe_text import one_line
from howsure.services.python.background_loop import run_sync
from howsure.services.python.evaluate import WorkspaceOptions, load_run, open_workspace
from howsure.services.python.shared_runs import close_shared_run

Ended = Literal["passed", "failed", "skipped"]


def add_worker_notes(config: pytest.Config, made: Any) -> None:
    """What a worker of xdist made: several of them may have made the same run."""
    noted = config.stash.setdefault(NOTED, SessionNotes())
    noted.notes += msgspec.convert(made, list[RunNote])


def finish_session(session: pytest.Session) -> None:
    """Close the desk; where this is not a worker, end its runs and tell their gates."""
    config = session.config
    if RUNNER in config.stash:
        config.stash[RUNNER].close()
    if hasattr(config, "workeroutput"):
        return
    noted, by_run = config.stash[NOTED], defaultdict[str, list[RunNote]](list)
    for note in noted.notes:
        by_run[note.run_id].append(note)
    for run_id, notes in by_run.items():
        place = WorkspaceOptions(database=notes[0].database) if notes[0].database else WorkspaceOptions()
        if notes[0].whole:
            noted.summaries.append(load_run(run_id, **place).summary)
            continue
        spent = [note.spent for note in notes if note.spent is not None]
        try:
            summary = run_sync(close_shared_run(open_workspace(place), run_id, spent))
        except InputError as error:
            _told(session, f"{notes[0].place}[run]", "failed", str(error))
            continue
        noted.summaries.append(summary)
        _gates(session, notes[0], summary)


def _gates(session: pytest.Session, note: RunNote, summary: Summary) -> None:
    """Each gate as a test after those of the cases. What was cut short, or is only a part, is held to nothing."""
    counts = summary.run.counts
    for ruling in summary.gates:
        name, ended = gate_name(ruling), _ended(ruling, note)
        if counts.pending or note.left_out:
            missing = f"{note.left_out} cases were not selected" if note.left_out else f"{counts.pending} are missing"
            ended, reason = "skipped", f"not decided: {missing}"
        else:
            reason = f"{name}: {ruling.outcome.value}\n{ruling.reason}\nmore:  howsure show {summary.run.id[:8]}"
        _told(session, f"{note.place}[{name}]", ended, reason)


def _ended(ruling: GateRuling, note: RunNote) -> Ended:
    match ruling.outcome:
        case GateOutcome.HELD:
            return "passed"
        case GateOutcome.FAILED:
            return "failed"
        case GateOutcome.INCONCLUSIVE:
            return "skipped" if note.inconclusive == "skip" else "failed"


def _told(session: pytest.Session, nodeid: str, ended: Ended, reason: str) -> None:
    """A report as a test would have given it: the terminal, JUnit and whoever else listens hear of it."""
    hook = session.config.hook
    session.testscollected += 1
    if (reporter := session.config.pluginmanager.get_plugin("terminalreporter")) is not None:
        reporter.ensure_newline()
    location = (nodeid.partition("::")[0], None, nodeid.partition("::")[2] or nodeid)
    hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    # A skipped test tells its place and its reason.
    skipped = (location[0], 0, f"Skipped: {' '.join(reason.split())}")
    told: Any = {"passed": None, "failed": reason, "skipped": skipped}[ended]
    for when in ("setup", "call", "teardown"):
        called = when == "call"
        outcome, text = ended if called else "passed", told if called else None
        report = pytest.TestReport(nodeid, location, keywords={}, outcome=outcome, longrepr=text, when=when)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
    if ended == "failed":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def write_summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for summary in config.stash[NOTED].summaries:
        run = summary.run
        reporter.write_line(
            f"howsure: {one_line(run.name)}: {one_line(run_sentence(summary))} howsure show {run.id[:8]}"
        )
