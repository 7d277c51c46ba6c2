"""`howsure run`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from howsure.cli.interrupts import run_interruptible
from howsure.cli.options import (
    MAX_REPEATS,
    engine_option,
    gate_option,
    judge_options,
    map_option,
    output_options,
    parsed_option,
    read_match,
    read_names,
    read_normalization,
    read_pairs,
    read_sure_gate,
    read_target,
    read_values_by_key,
    storable_text,
    storable_texts,
)
from howsure.cli.output import howsure_command
from howsure.cli.progress import finish_run, show_progress
from howsure.cli.watch import watch_files as watch_files
from howsure.cli.watch import watch_options
from howsure.model.run_request import RunRequest
from howsure.services.report import check_outputs
from howsure.services.run.start import apply_settings, carry_over, start
from howsure.services.run.watched_files import WatchedFiles, watched_files
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("run", code=CodeUse.NEEDED)
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--dialect", default="", metavar="NAME", help="Read the files as this dialect instead of detecting it.")
@map_option
@parsed_option(
    read_match,
    "--match",
    metavar="exact|includes|regex|numeric",
    help="For a plain table: compare answers with the expected ones by this program, not by a judge.",
)
@parsed_option(
    read_target,
    "--target",
    multiple=True,
    metavar="SPEC",
    help="Who answers: recorded (default), a target of howsure.yaml or a plug-in, chat:provider:model, http:URL,"
    " function:module:callable, command:PROGRAM, adk:URL/APP, replay:SPEC … Given several times, each is a candidate.",
)
@click.option("--responses", multiple=True, metavar="FILE", help="Recorded answers, or `run:RUN` for an earlier run's.")
@parsed_option(
    storable_texts,
    "--candidate",
    "candidates",
    multiple=True,
    metavar="NAME",
    help="Only this candidate (repeatable): of recorded answers, of several targets, of `candidates:` in howsure.yaml,"
    " or with --target chat a model, as provider:model.",
)
@click.option(
    "--judge", default=None, metavar="SPEC", help="Who judges: offline (default), recorded:FILE, provider:model, none."
)
@click.option(
    "--partial", is_flag=True, help="Grade the cases that have recorded answers; skip the others, and say so."
)
@click.option("--batch-criteria", is_flag=True, help="One call of a live judge for all criteria of a case.")
@parsed_option(
    read_names,
    "--graders",
    metavar="A,B|+A,-B",
    help="Only these graders; or with + and -: the usual ones with A and without B.",
)
@click.option("--evals", multiple=True, metavar="FILE", help="Evals of your own: YAML, or a definition file (JSON).")
@click.option("--profile", default="", metavar="NAME", help="Pass marks to use instead of those the cases name.")
@parsed_option(
    read_normalization, "--normalization", metavar="points|min_max", help="How weighted criteria become a value."
)
@click.option("--rubric", default="", metavar="FILE", help="The agent's standing rules.")
@click.option("--agent", default="", metavar="FILE", help="Who is under test (a BotContext).")
@parsed_option(
    storable_text, "--component-scope", default="", metavar="SCOPE", help="Only rules of this scope, or of none."
)
@parsed_option(
    storable_texts, "--component-id", "component_ids", multiple=True, metavar="ID", help="Only rules of this component."
)
@parsed_option(read_pairs, "--state", multiple=True, metavar="KEY:VALUE", help="Initial session state for the target.")
@click.option(
    "--simulator",
    default=None,
    metavar="SPEC",
    help="Who plays the user in scenarios: offline (default: no model), provider:model, a plug-in's.",
)
@click.option(
    "--replay-spoiled",
    "replays",
    default=0,
    metavar="N",
    help="Play a conversation again, up to N times, where the simulated user spoiled it.",
)
@click.option(
    "--criteria-from",
    default="",
    metavar="TESTSET",
    help="Hold finished conversations (a file, or run:RUN as DATASET) against all success criteria of this test set.",
)
@click.option(
    "--repeat",
    type=click.IntRange(max=MAX_REPEATS),
    default=1,
    show_default=True,
    metavar="N",
    help="Independent conversations for each case.",
)
@click.option("--limit", type=int, default=None, metavar="N", help="Only the first N cases.")
@parsed_option(
    read_values_by_key,
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY:VALUE",
    help="Only cases with this label, tag or value.",
)
@click.option("--max-concurrency", "concurrency", type=int, default=None, metavar="N", help="Cases at a time [8].")
@click.option("--name", default="", metavar="TEXT", help="A name to find the run by.")
@click.option("--budget", default="", metavar="AMOUNT", help="Most to spend on models: 2USD, 500ktok, 10m.")
@engine_option
@gate_option
@parsed_option(
    read_sure_gate,
    "--until-sure",
    default="",
    metavar="EXPR",
    help="Ask cases in a random order and stop when this gate is decided: pass_rate >= 0.9.",
)
@click.option(
    "--anchors",
    default="",
    metavar="RUN",
    help="Afterwards judge the answers of this stored run again, to see if the judge has changed. Costs that again.",
)
@judge_options
@output_options
@watch_options
def command(
    work: Workspace,
    judge: str | None,
    simulator: str | None,
    outputs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    watched: bool,
    carry: bool,
    **rest: Any,
) -> int:
    """Run DATASETs: every case, graded, decided and kept.

    The answers come from the dataset itself where it brings them, from --responses, or from a live --target.
    Without --judge the offline judge is asked: no model, no network, and an honest "cannot tell" where it cannot.
    A key in the environment alone never selects a judge that costs money.
    """
    if outputs:
        check_outputs(work.kit, outputs)
    options = apply_settings(work, RunRequest(judge=judge or "", simulator=simulator or "", **rest))
    if watched:
        return watch_files(lambda: _watched(options, outputs))
    with show_progress(quiet=quiet or as_json) as watch:
        summary = run_interruptible(work, start(work, options, watch, carry_over if carry else None))
    return finish_run(work, summary, outputs, quiet=quiet, as_json=as_json)


def _watched(options: RunRequest, outputs: Sequence[str]) -> WatchedFiles:
    """The files as the settings name them now."""
    given = click.get_current_context().params
    plugins = given.get("plugins", ())
    work = Workspace.here(config=os.devnull if given.get("no_config") else given.get("config"), plugins=plugins)
    written = [*map(Path, outputs), *(Path(path) for path in (options.record_judge, options.trace) if path)]
    found = watched_files(work, options, written)
    more = {Path(file).resolve() for file in (*plugins, *([given["config"]] if given.get("config") else []))}
    return WatchedFiles(found.data, found.others | more)
