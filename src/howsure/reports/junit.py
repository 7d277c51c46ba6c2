"""A run as JUnit XML, the shape that Jenkins, GitLab, GitHub actions and most CI servers read: one test for each case,
candidate and repeat. A failed case is a failure, an errored one an error, a skipped one skipped; scores are properties
of the test, and what was asked and answered is its output, cut to a length that CI servers bear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, TextIO
from xml.sax.saxutils import escape, quoteattr

from howsure.model.case import user_turns
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.atomic_files import atomic_text
from howsure.reports.figures import iso_utc
from howsure.reports.grades import case_grades, grade_passed, grade_status
from howsure.reports.run_facts import run_facts, run_notes, run_sentence, run_warning
from howsure.reports.safe_text import CONTROLS, make_inert, one_line

NAME_LENGTH = 500
MESSAGE_LENGTH = 300
OUTPUT_LENGTH = 4000
HELD_IN_MEMORY = 4_000_000
# Lone surrogates and non-characters, which XML 1.0 cannot hold either; `make_inert` shows the controls as symbols.
NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
REPLACED = "howsure.replaced_characters"


async def write_junit(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    """The counts come first in the file and are known last, so the tests are first written to a temporary file."""
    tally, suite = Counter[Verdict](), suite_name(summary.run)
    with SpooledTemporaryFile(HELD_IN_MEMORY, "w+", encoding="utf-8", newline="") as tests:
        async for result in results:
            tally[result.verdict] += 1
            tests.write(_test(suite, result))
        tests.seek(0)
        with atomic_text(path) as file:
            _write(summary, tally, tests, file)


def suite_name(run: Run) -> str:
    """The dataset without its ending; of several, the name of the run."""
    stems = [pin.name or PurePath(pin.path).stem for pin in run.pins.datasets]
    return stems[0] if len(stems) == 1 else run.name or "howsure"


def _write(summary: Summary, tally: Counter[Verdict], tests: IO[str], file: TextIO) -> None:
    run = summary.run
    errors = tally[Verdict.ERRORED] + tally[Verdict.DAMAGED]
    counts = f'tests="{tally.total()}" failures="{tally[Verdict.FAILED]}" errors="{errors}"'
    seconds = run.seconds or 0.0
    moment = (iso_utc(run.started_at or run.created_at) or "")[:19]
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write(f'<testsuites name={_quoted(run.name or "howsure")} {counts} time="{seconds:.3f}">\n')
    named = f'<testsuite name={_quoted(suite_name(run))} {counts} skipped="{tally[Verdict.SKIPPED]}"'
    file.write(f'{named} time="{seconds:.3f}" timestamp="{moment}">\n')
    file.write(_properties(_run_properties(summary)))
    copyfileobj(tests, file)
    file.write("</testsuite>\n</testsuites>\n")


def _run_properties(summary: Summary) -> Iterator[tuple[str, str]]:
    run = summary.run
    yield "howsure.run_id", run.id
    yield "howsure.summary", run_sentence(summary)
    for name, value in run_facts(run):
        yield f"howsure.{name}", value
    for number, note in enumerate(filter(None, (run_warning(summary), *run_notes(summary))), 1):
        yield f"howsure.note.{number}", note
    for ruling in summary.gates:
        yield f"howsure.gate.{ruling.expression}", ruling.outcome.value


def _test(suite: str, result: Result) -> str:
    case, answer = result.case, result.transcript.answer if result.transcript else ""
    question = "\n".join(user_turns(case.input))
    name = case.id + (f" [repeat {result.repeat}]" if result.repeat > 1 else "")
    group = suite + (f".{result.candidate}" if result.candidate else "")
    properties = [*_scores(result)]
    # Whoever compares texts must know how many characters of the test are shown as something else.
    texts = (case.id, *result.reasons, *user_turns(case.input), answer)
    if replaced := sum(len(pattern.findall(text)) for text in texts for pattern in (CONTROLS, NOT_XML)):
        properties.append((REPLACED, str(replaced)))
    at = f'name={_quoted(name)} classname={_quoted(group)} time="{result.duration_ms / 1000:.3f}"'
    output = f"asked:\n{_cut(question)}\n\nanswered:\n{_cut(answer)}"
    body = f"{_outcome(result)}<system-out>{escape(_legal(output))}</system-out>\n"
    return f"<testcase {at}>\n{_properties(properties)}{body}</testcase>\n"


def _scores(result: Result) -> Iterator[tuple[str, str]]:
    yield "verdict", result.verdict.value
    if result.candidate:
        yield "candidate", result.candidate
    yield "repeat", str(result.repeat)
    if result.case.tags:
        yield "tags", ", ".join(result.case.tags)
    for flag in result.flags:
        yield f"flag.{flag.kind}", flag.text
    for grade in case_grades(result.grades):
        yield f"score.{grade.name}", f"{grade.value:.12g}" if isinstance(grade, Score) else grade_status(grade)
        if grade.pass_mark is not None:
            yield f"mark.{grade.name}", f"{grade.pass_mark:g}"


def _outcome(result: Result) -> str:
    why = "; ".join(result.reasons) or result.verdict.value
    message = _quoted(one_line(why, MESSAGE_LENGTH))
    match result.verdict:
        case Verdict.PASSED:
            return ""
        case Verdict.SKIPPED:
            return f"<skipped message={message}/>\n"
        case Verdict.ERRORED | Verdict.DAMAGED:
            kind = result.failures[0].kind if result.failures else result.verdict.value
            return f"<error message={message} type={_quoted(kind)}>{_content(_causes(result))}</error>\n"
        case Verdict.FAILED:
            return f'<failure message={message} type="failed">{_content(_causes(result))}</failure>\n'


def _causes(result: Result) -> str:
    """Reasons, failures, and every criterion and rule that does not hold, one a line."""
    lines = [*result.reasons, *(f"{failure.kind}: {failure.message}" for failure in result.failures)]
    lines += [
        f"{grade.name} ({one_line(grade.part.text, MESSAGE_LENGTH)}): {grade.reason}"
        for grade in result.grades
        if grade.part and grade_passed(grade) is False
    ]
    return "\n".join(dict.fromkeys(lines))


def _cut(text: str) -> str:
    left = len(text) - OUTPUT_LENGTH
    return text if left <= 0 else f"{text[:OUTPUT_LENGTH]}\n… {left:,} more characters"


def _properties(named: Sequence[tuple[str, str]] | Iterator[tuple[str, str]]) -> str:
    lines = [f"<property name={_quoted(name)} value={_quoted(value)}/>\n" for name, value in named]
    return f"<properties>\n{''.join(lines)}</properties>\n" if lines else ""


def _content(text: str) -> str:
    """As the content of an element, cut."""
    return escape(_legal(_cut(text)))


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    """As an attribute. Remembered, because the names of graders come with every test."""
    return quoteattr(_legal(one_line(text, NAME_LENGTH)))


def _legal(text: str) -> str:
    """The text with everything that XML cannot hold as visible symbols or codes."""
    return NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", make_inert(text))
