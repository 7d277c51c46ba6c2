"""`howsure validate`."""

from __future__ import annotations

from typing import Any

import click

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.output import howsure_command, print_json, problem_shape
from howsure.dialects.datasets import FileReport
from howsure.reports.safe_text import make_inert
from howsure.services.validate import validate_files
from howsure.services.workspace import Workspace


@howsure_command("validate", stores=False)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--dialect", default="", metavar="NAME", help="Read the files as this dialect instead of detecting it.")
def command(work: Workspace, paths: tuple[str, ...], dialect: str, as_json: bool) -> int:
    """Check files or folders. Every problem of every file, with line, field, what was expected and what was found."""
    reports = validate_files(paths, work.kit, dialect)
    valid = not any(report.problems for report in reports)
    if as_json:
        print_json({"files": [file_shape(report) for report in reports], "valid": valid})
    else:
        for report in reports:
            _tell(report)
    return DONE if valid else USER_MUST_ACT


def file_shape(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "dialect": report.dialect,
        "cases": report.cases,
        "problems": [problem_shape(problem) for problem in report.problems],
        "warnings": [problem_shape(warning) for warning in report.warnings],
    }


def _tell(report: FileReport) -> None:
    for problem in report.problems:
        click.echo(make_inert(str(problem)))
    for warning in report.warnings:
        click.echo(make_inert(f"warning: {warning}"))
    named = make_inert(report.path) + (f" ({report.dialect})" if report.dialect else "")
    if report.problems:
        click.echo(f"{named}: {len(report.problems)} problems, not usable")
    else:
        click.echo(f"{named}: {report.cases:,} cases, valid")
