"""A run in a notebook: a fragment of HTML, and columns for pandas and polars. In the HTML every foreign word is escaped
and control characters are made visible. Neither library is needed unless a table of its kind is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from howsure.errors import ConfigInvalid, UnknownName
from howsure.model.result import Result
from howsure.model.run import Pins
from howsure.model.score import Grade
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.case_facts import result_row
from howsure.reports.figures import format_on_scale, pass_rate_of, pluralize
from howsure.reports.grades import case_grades, grade_passed, grade_status, grade_value
from howsure.reports.run_facts import gate_name, run_notes, run_sentence, run_warning
from howsure.reports.safe_text import one_line
from howsure.reports.tables import label_column

SHOWN = 10
LONGEST = 200


def notebook_html(summary: Summary, results: Sequence[Result]) -> str:
    """A fragment of HTML without scripts, styles or links."""
    run = summary.run
    blocks = [
        f"<p><strong>{_text(run.name or 'run')}</strong> <code>{_text(run.id[:8])}</code>",
        f"<br>{_text(run_sentence(summary))}<br><small>target {_text(run.pins.target_text)}, ",
        f"judge {_text(run.pins.request.judge or 'none')}</small></p>",
        *(f"<p>{_text(each)}</p>" for each in (run_warning(summary), *run_notes(summary)) if each),
    ]
    if summary.gates:
        gates = [(gate_name(each), each.outcome.value, each.reason) for each in summary.gates]
        blocks.append(_table(("gate", "", "why"), gates))
    if summary.graders:
        graders = [
            (each.name, each.candidate, str(pass_rate_of(each)), format_on_scale(each.mean, each.scale))
            for each in summary.graders
        ]
        blocks.append(_table(("grader", "candidate", "passed", "mean"), graders))
    poor = [each for each in results if each.verdict in (Verdict.FAILED, Verdict.ERRORED)]
    if poor:
        lines = [(each.case.id, each.candidate, each.verdict.value, "; ".join(each.reasons)) for each in poor[:SHOWN]]
        more = f"; the first {SHOWN} of them" if len(poor) > SHOWN else ""
        blocks.append(f"<p>{pluralize(len(poor), 'result')} that did not pass{more}:</p>")
        blocks.append(_table(("case", "candidate", "", "why"), lines))
    return f'<div class="howsure-run">{"".join(blocks)}</div>'


def _text(text: str, limit: int = LONGEST) -> str:
    return escape(one_line(text, limit))


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


LIBRARIES = ("pandas", "polars")

Columns = dict[str, list[Any]]


def result_columns(summary: Summary, results: Sequence[Result]) -> Columns:
    """One row a result; a column for each grader and each label, under its name."""
    columns = _as_columns([_row(result, summary.run.pins) for result in results])
    for name in dict.fromkeys(each.name for each in summary.graders):
        column = f"{name} (grader)" if name in columns else name
        columns[column] = [
            next((grade_value(grade) for grade in case_grades(result.grades) if grade.name == name), None)
            for result in results
        ]
    for name in dict.fromkeys(name for result in results for name in result.case.labels):
        columns[label_column(name, columns)] = [result.case.labels.get(name) for result in results]
    return columns


def _row(result: Result, pins: Pins) -> dict[str, Any]:
    row = result_row(result)
    texts = {"reasons": "; ".join(row["reasons"]), "tags": ", ".join(row["tags"]), "flags": ", ".join(row["flags"])}
    return {**row, **texts, "file": pins.dataset_name(result.position)}


def grade_columns(results: Sequence[Result]) -> Columns:
    """One row a grade: those of cases, and those of each criterion and rule."""
    return _as_columns([_grade(result, grade) for result in results for grade in result.grades])


def _as_columns(rows: Sequence[dict[str, Any]]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _grade(result: Result, grade: Grade) -> dict[str, Any]:
    return {
        "case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "grader": grade.name,
        "part_id": grade.part.id if grade.part else None,
        "part": grade.part.text if grade.part else None,
        "value": grade_value(grade),
        "pass_mark": grade.pass_mark,
        "passed": grade_passed(grade),
        "status": grade_status(grade),
        "reason": grade.reason,
        "judge": grade.judge,
    }


def data_frame(columns: Columns, library: str = "") -> Any:
    """A `DataFrame` of the named library, or of the first that is installed."""
    if library and library not in LIBRARIES:
        raise UnknownName("table library", library, LIBRARIES)
    found = next((name for name in ((library,) if library else LIBRARIES) if find_spec(name)), None)
    if found is None:
        names = library or " or ".join(LIBRARIES)
        raise ConfigInvalid(f"to_frame needs {names}, which is not installed; `.results` has the same without it")
    module = import_module(found)
    return module.DataFrame(columns, strict=False) if found == "polars" else module.DataFrame(columns)
