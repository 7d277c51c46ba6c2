"""`howsure resume` and `howsure retry`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import click

from howsure.cli.interrupts import run_interruptible
from howsure.cli.options import again_options, given_options, output_options
from howsure.cli.output import howsure_command
from howsure.cli.progress import finish_run, show_progress
from howsure.model.summary import Summary
from howsure.services.report import check_outputs
from howsure.services.run.start import resume, retry
from howsure.services.trust import CodeUse
from howsure.services.workspace import Workspace


@howsure_command("resume", code=CodeUse.NEEDED)
@click.argument("run", default="latest")
@again_options
@output_options
def resume_command(work: Workspace, **given: Any) -> int:
    """Go on with RUN (an id, a unique prefix, a name, or `latest`): what is finished is kept, nothing is repeated."""
    return _go_on(resume, work, **given)


@howsure_command("retry", code=CodeUse.NEEDED)
@click.argument("run", default="latest")
@click.option("--errors", is_flag=True, required=True, help="Try the errored cases again (the only kind yet).")
@again_options
@output_options
def retry_command(work: Workspace, errors: bool, **given: Any) -> int:
    """Try the errored cases of RUN (an id, a unique prefix, a name, or `latest`) again; the others are kept."""
    return _go_on(retry, work, **given)


def _go_on(
    how: Callable[..., Coroutine[Any, Any, Summary]],
    work: Workspace,
    run: str,
    outputs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **changes: Any,
) -> int:
    if outputs:
        check_outputs(work.kit, outputs)
    with show_progress(quiet=quiet or as_json) as watch:
        summary = run_interruptible(work, how(work, run, watch, **given_options(changes)))
    return finish_run(work, summary, outputs, quiet=quiet, as_json=as_json)
