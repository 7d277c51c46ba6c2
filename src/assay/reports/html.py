"""A run as one HTML file that opens offline: styles, program and data are inside, nothing is asked of any host, and a
content policy forbids what is not ours by its hash.

Everything agents, users and judges wrote is data: JSON blocks that the page's program turns into text nodes, never into
markup. The file is written as the results come, so memory grows by one short entry a result; its size is about the
conversations' own (long texts are cut, see page.py), and the browser reads a block only when its case is opened."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterable
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from assay.model.result import Result
from assay.model.run import Counts
from assay.model.summary import GraderSummary, Summary, Tally
from assay.reports.figures import Rate, number, on_scale, utc
from assay.reports.gates import LOOKS, conclusion, gate_name
from assay.reports.header import facts, graders_together, notes, short_id, warning
from assay.reports.inert import inert
from assay.reports.marks import needed
from assay.reports.page import Page
from assay.reports.sentence import rate_of, sentence
from assay.reports.whole_file import whole_text

TEMPLATES = files("assay.reports") / "templates"


async def write_html(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    """The page as a file, there when it is whole."""
    with whole_text(path) as file:
        await write_page(summary, results, file)


async def write_page(summary: Summary, results: AsyncIterable[Result], file: TextIO) -> None:
    """The page, piece by piece."""
    style, program = _source("report.css"), _source("report.js")
    page = (
        _environment()
        .get_template("report.html")
        .generate_async(
            **_said(summary),
            summary=summary,
            page=Page(results),
            style=Markup(style),
            program=Markup(program),
            policy=policy(style, program),
        )
    )
    async for piece in page:
        file.write(piece)


def policy(style: str, program: str) -> str:
    """The one style and the one program of the page, by hash; no request of any kind."""
    return (
        f"default-src 'none'; script-src '{_hash(program)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        enable_async=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"inert": inert, "number": number, "thousands": lambda count: f"{count:,}"}
    return environment


def _said(summary: Summary) -> dict[str, object]:
    """The words of the page's head, by the names the template uses."""
    run = summary.run
    return {
        "sentence": sentence(summary),
        "warning": warning(summary),
        "facts": facts(run),
        "notes": list(notes(summary)),
        "gates": [(gate_name(each), each.outcome.value, LOOKS[each.outcome], each.reason) for each in summary.gates],
        "gates_said": conclusion(summary.gates) if summary.gates else "",
        "run_prefix": short_id(run),
        "created": (utc(run.created_at) or "")[:16].replace("T", " "),
        "counts": counted_verdicts(run.counts),
        "several": len(summary.candidates) > 1,
        "candidates": [(name, counts, rate_of(counts)) for name, counts in summary.candidates.items()],
        "judged": [grader_line(grader) for grader in graders_together(summary) if grader.passed + grader.failed],
        "measured": [grader_line(grader) for grader in graders_together(summary) if not grader.passed + grader.failed],
        "checks": check_lines(summary),
        "pins": run.pins,
    }


def counted_verdicts(counts: Counts) -> list[tuple[str, int, float, float]]:
    """Verdict, count, and where its stretch of the bar begins and how long it is, in percent."""
    numbers = {
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "skipped": counts.skipped,
        "pending": counts.pending,
    }
    stretches, start = [], 0.0
    for verdict, count in numbers.items():
        length = 100 * count / counts.total if counts.total else 0.0
        stretches.append((verdict, count, round(start, 3), round(length, 3)))
        start += length
    return stretches


def grader_line(grader: GraderSummary) -> dict[str, object]:
    """One line of the table of graders."""
    absent = [(grader.errored, "errored"), (grader.not_applicable, "not applicable"), (grader.no_judge, "no judge")]
    return {
        "name": grader.name,
        "candidate": grader.candidate,
        "n": grader.scored,
        "mean": on_scale(grader.mean, grader.scale),
        "needed": needed(grader.pass_mark, grader.direction),
        "rate": Rate(grader.passed, grader.passed + grader.failed),
        "absent": ", ".join(f"{count:,} {word}" for count, word in absent if count),
    }


def check_lines(summary: Summary) -> list[tuple[str, Tally, Rate, bool]]:
    """Criteria and rules one by one; True: the rules of one component."""
    named = [("each criterion", summary.criteria, False), ("each rubric rule", summary.rules, False)]
    scoped = [(f"about {name.replace('_', ' ')}", tally, True) for name, tally in summary.components.items()]
    return [
        (name, tally, Rate(tally.passed, tally.passed + tally.failed), about)
        for name, tally, about in [*named, *scoped]
        if tally
    ]
