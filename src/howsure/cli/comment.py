"""`howsure comment`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from howsure.cli.output import exit_on_error, print_json, say
from howsure.errors import ConfigInvalid
from howsure.services.ci.forges import detect_forge, post_comment, read_comment


# Not like the other commands: it holds a token, so it reads nothing but its file.
@click.command("comment")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", default="howsure", show_default=True, metavar="TEXT", help="Tells several comments apart.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
def command(file: Path, key: str, as_json: bool) -> None:
    """Post FILE, which `howsure ci` wrote, on the pull request or merge request of this pipeline; or rewrite the
    comment that was posted before.

    It needs GITHUB_TOKEN or GITLAB_TOKEN, and runs nothing: let it run in a job of its own, without the code of the
    change (docs/ci.md).
    """
    with exit_on_error(as_json=as_json):
        text, forge = read_comment(file), detect_forge(os.environ)
        if forge is None or not forge.comments:
            raise ConfigInvalid(
                "this pipeline belongs to no open pull request at its newest commit, or there is no token"
            )
        posted = asyncio.run(post_comment(forge, f"<!-- howsure: {key} -->", text))
        if as_json:
            print_json({"posted": posted})
        else:
            say(f"the comment was {posted}")
