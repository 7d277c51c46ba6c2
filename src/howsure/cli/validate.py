"""`howsure validate`."""

from __future__ import annotations

from typing import Any

import click

from howsure.cli.exit_codes import DONE, USER_MUST_ACT
from howsure.cli.options import map_option
from howsure.cli.output import howsure_command, print_json, problem_shape
from howsure.dialects.datasets import FileReport
from howsure.dialects.plain_columns import TableOptions
from howsure.reports.safe_text import make_inert
from howsure.services.trust import CodeUse
from howsure.services.validate import validate_files
from howsure.services.workspace import Workspace


@howsure_command("validate", stores=False, code=CodeUse.OPTIONAL)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--dialect", default="", metavar="NAME", help="Read the files as this dialect instead of detecting it.")
@map_option
def command(work: Workspace, paths: tuple[str, ...], dialect: str, map: dict[str, str], as_json: bool) -> int:
    """Check files or folders. Every problem of every file, with line, field, what was expected and what was found."""
    reports = validate_files(paths, work.kit.with_tables(TableOptions(map=map)), dialect)
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
        **({"columns": report.columns} if report.columns else {}),
        "problems": [problem_shape(problem) for problem in report.problems],
        **({"more_problems": report.more_problems} if report.more_problems else {}),
        "warnings": [problem_shape(warning) for warning in report.warnings],
    }


def _tell(report: FileReport) -> None:
    for problem in report.problems:
        click.echo(make_inert(str(problem)))
    for warning in report.warnings:
        click.echo(make_inert(f"warning: {warning}"))
    if report.columns:
        click.echo(make_inert(f"{report.path}: {report.columns}"))
    named = make_inert(report.path) + (f" ({report.dialect})" if report.dialect else "")
    if report.problems:
        more = f" and at least {report.more_problems:,} more" if report.more_problems else ""
        many = "" if len(report.problems) == 1 else "s"
        click.echo(f"{named}: {len(report.problems)} problem{many}{more}, not usable")
    else:
        click.echo(f"{named}: {report.cases:,} case{'' if report.cases == 1 else 's'}, valid")
