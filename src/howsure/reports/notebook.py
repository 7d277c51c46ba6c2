"""A run as a notebook shows it: the sentence, the graders, and the first cases that did not pass. Every foreign word is
escaped, and control characters are made visible: nothing of it can act."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice

from howsure.model.gate import GateRuling
from howsure.model.result import Result
from howsure.model.summary import GraderSummary, Summary
from howsure.model.verdict import Verdict
from howsure.reports.figures import Rate, counted, on_scale
from howsure.reports.gates import gate_name
from howsure.reports.inert import one_line
from howsure.reports.sentence import sentence

SHOWN = 10
LONGEST = 200


def run_html(summary: Summary, results: Sequence[Result]) -> str:
    """A fragment of HTML without scripts, styles or links."""
    run = summary.run
    blocks = [
        f"<p><strong>{_text(run.name or 'run')}</strong> <code>{_text(run.id[:8])}</code>",
        f"<br>{_text(sentence(summary))}<br><small>target {_text(run.pins.target)}, ",
        f"judge {_text(run.pins.judge or 'none')}</small></p>",
        *_gates(summary.gates),
        *_graders(summary.graders),
        *_cases(results),
    ]
    return f'<div class="howsure-run">{"".join(blocks)}</div>'


def _text(text: str, limit: int = LONGEST) -> str:
    return escape(one_line(text, limit))


def _gates(rulings: Sequence[GateRuling]) -> Iterator[str]:
    if rulings:
        lines = [(gate_name(each), each.outcome.value, each.reason) for each in rulings]
        yield _table(("gate", "", "why"), lines)


def _graders(graders: Sequence[GraderSummary]) -> Iterator[str]:
    if graders:
        lines = [
            (
                each.name,
                each.candidate,
                str(Rate(each.passed, each.passed + each.failed)),
                on_scale(each.mean, each.scale),
            )
            for each in graders
        ]
        yield _table(("grader", "candidate", "passed", "mean"), lines)


def _cases(results: Sequence[Result]) -> Iterator[str]:
    poor = [each for each in results if each.verdict in (Verdict.FAILED, Verdict.ERRORED)]
    if not poor:
        return
    lines = [
        (each.case.id, each.candidate, each.verdict.value, "; ".join(each.reasons)) for each in islice(poor, SHOWN)
    ]
    more = f"; the first {SHOWN} of them" if len(poor) > SHOWN else ""
    yield f"<p>{counted(len(poor), 'result')} that did not pass{more}:</p>"
    yield _table(("case", "candidate", "", "why"), lines)


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
