"""`howsure report` and `howsure export`: a run as files, by the same formats."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.output import howsure_command, say, with_runs
from howsure.errors import ConfigInvalid
from howsure.services.report import default_output, write_artifacts, write_reports
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("report", json_too=False, code=CodeUse.OPTIONAL)
@click.argument("run", default="latest")
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Where to (repeatable) [report.html].")
@click.option("--format", "form", default="", metavar="NAME", help="How, whatever the file's ending.")
@click.option("--baseline", default="", metavar="RUN", help="Show what changed since this run (.html and .md).")
@click.option(
    "--artifacts", default="", metavar="SET", help="A folder: legal, golden, explain, azure or every-eval-ever."
)
def command(work: Workspace, run: str, outputs: tuple[str, ...], form: str, baseline: str, artifacts: str) -> None:
    """Write RUN as files; the ending says how, or --format does for all of them.

    \b
    .html             html             a page that opens offline
    .pdf              pdf              the same, printed; needs Chromium or Chrome
    .md               markdown         for a pull request: never above its size limit
    .full.md          markdown-full    failed cases with their whole conversations
    .xml              junit            one test for each case, candidate and repeat
    .csv              csv              a table for spreadsheets
    .jsonl            jsonl            one EvaluationResult a line
    .json             json             the EvaluationRun and its results
    .canonical.jsonl  canonical        to compare two runs byte for byte
    .parquet          parquet          a typed table; needs howsure[parquet]
    .eee.json         every-eval-ever  the EvalEval Coalition's schema

    `howsure export` has those that other tools read.

    RUN and the --baseline may also be files of another tool's results, which are read and not stored.
    --artifacts writes the files of another system into the folder that --output names.
    """
    if artifacts:
        if len(outputs) != 1 or form or baseline:
            raise ConfigInvalid(
                "--artifacts writes one folder: name it with one --output, without --format and --baseline"
            )
        folder = Path(outputs[0])
        written = with_runs(work, [run], lambda place, named: write_artifacts(place, named[0], artifacts, folder))
    else:
        chosen = outputs or (default_output(work.kit, form),)
        names = [run, *([baseline] if baseline else [])]
        written = with_runs(
            work,
            names,
            lambda place, named: write_reports(place, named[0], chosen, form=form, baseline="".join(named[1:])),
        )
    for path in written:
        say(f"written: {path}")


@howsure_command("export", json_too=False, code=CodeUse.OPTIONAL)
@click.argument("run", default="latest")
@click.option("--to", "kind", required=True, metavar="KIND", help="The tool, or any --format of `howsure report`.")
@click.option("--output", "-o", required=True, metavar="FILE", help="Where to.")
@click.option("--candidate", default="", metavar="NAME", help="What this candidate did, and nothing else.")
def export_command(work: Workspace, run: str, kind: str, output: str, candidate: str) -> None:
    """Write RUN as a file that another tool reads.

    \b
    inspect          a log (.eval) for `inspect view` and `read_eval_log`
    promptfoo        an exported eval: `promptfoo import FILE`, then `promptfoo view`
    openai-evals     a log of `oaieval`
    langsmith        the body of an uploaded experiment
    deepeval         test cases for `EvaluationDataset.add_test_cases_from_json_file`
    every-eval-ever  the EvalEval Coalition's schema
    otlp             spans and evaluation events, one trace a line
    junit            one test for each case, candidate and repeat

    RUN may also be a file of another tool's results: `howsure export before.eval --to promptfoo -o before.json`.
    """
    with_runs(
        work, [run], lambda place, named: write_reports(place, named[0], [output], form=kind, candidate=candidate)
    )
    say(f"written: {output}")
