"""`howsure rank`."""

from __future__ import annotations

import click

from howsure.cli.options import option_callback, parsed_option, storable_text, storable_texts
from howsure.cli.output import howsure_command, with_runs
from howsure.cli.progress import print_report
from howsure.model.leaderboard import Leaderboard
from howsure.reports.leaderboards import leaderboard_report
from howsure.services.rank import RankRequest, rank_candidates
from howsure.services.workspace import Workspace


@howsure_command("rank")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN...]", callback=option_callback(storable_texts))
@parsed_option(
    storable_text,
    "--by",
    default="",
    metavar="WHAT",
    help="pairs, verdict or a grader [pairs where a judge compared some, else verdict].",
)
@parsed_option(
    storable_text, "--judge", default="", metavar="SPEC", help="The judge whose pairs count, if several compared."
)
@parsed_option(
    storable_texts,
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME",
    help="Only these, as the table names them.",
)
@click.option("--confidence", default=0.95, show_default=True, metavar="SHARE", help="How sure intervals are to be.")
def command(
    work: Workspace,
    runs: tuple[str, ...],
    by: str,
    judge: str,
    candidates: tuple[str, ...],
    confidence: float,
    as_json: bool,
) -> None:
    """A leaderboard of all candidates of the RUNs, whose ranks carry intervals: "2nd–4th".

    Ranks come from the pairs that `howsure judge pairs` had compared; without any, from the stored verdicts, or with
    --by GRADER from its values: of two candidates the one with the better result wins a case. Strengths are those of
    Bradley and Terry's model with ties; cases are what could have been others.

    \b
    howsure rank before after
    howsure rank RUN --by correctness
    howsure judge pairs RUN --judge openai:gpt-5 && howsure rank RUN
    """

    async def rank(place: Workspace, called: list[str]) -> Leaderboard:
        chosen = RankRequest(runs=tuple(called), candidates=candidates, by=by, judge=judge, confidence=confidence)
        return await rank_candidates(place, chosen)

    print_report(with_runs(work, runs, rank), leaderboard_report, as_json=as_json)
