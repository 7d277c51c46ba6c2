"""`howsure trust`."""

from __future__ import annotations

from pathlib import Path

import click

from howsure.cli.exit_codes import USER_MUST_ACT
from howsure.cli.output import confirm, exit_on_error, print_json, say, sits_at_terminal
from howsure.config import FILE, load
from howsure.errors import NotFound, NotTrusted
from howsure.kit.plugins import builtin_kit
from howsure.reports.safe_text import make_inert
from howsure.services.run.file_candidates import file_settings
from howsure.services.trust import FolderSettings, TrustRegister, risk_lines


# Not like the other commands: it reads the settings of a folder, and uses none of them.
@click.command("trust")
@click.argument("folder", default=".", type=click.Path(path_type=Path), metavar="[FOLDER|FILE]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--list", "listed", is_flag=True, help="List the settings that you trust, and what has changed since.")
@click.option("--forget", is_flag=True, help="Stop trusting it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")
def command(folder: Path, yes: bool, listed: bool, forget: bool, as_json: bool) -> None:
    """Show what the settings in FOLDER (default: this one) would run, and which secrets they would send where; then
    allow it. Until then, commands that need this refuse to run, and others work without it. The permission holds for
    this path until the settings, or a file that they name, change.
    """
    with exit_on_error(as_json=as_json):
        register = TrustRegister()
        known = register.read()
        path = (folder / FILE if folder.is_dir() else folder).resolve()
        if listed:
            rows = [{"path": each, "changed": register.changes(each)} for each in known]
            if as_json:
                print_json(rows)
            for row in () if as_json else rows:
                changed = f" (changed: {', '.join(row['changed'])})" if row["changed"] else ""
                click.echo(make_inert(f"{row['path']}{changed}"))
        elif forget:
            if known.pop(str(path), None) is None:
                raise NotFound(f"{path} is not trusted: there is nothing to forget")
            register.write(known)
            say(f"forgotten: {path}")
        else:
            own = file_settings(path, builtin_kit([])) if path.name != FILE else None
            found = FolderSettings.examine(load(path.parent, {}, path) if own is None else own, path)
            _show(found, trusted=yes or not found.risks, as_json=as_json)
            if found.risks and not yes:
                if as_json:
                    raise SystemExit(USER_MUST_ACT)
                if not sits_at_terminal():
                    raise NotTrusted(f"there is no terminal to ask at: if you trust it, type `{found.command} --yes`")
                if not confirm(f"{found.path} would do this."):
                    raise NotTrusted("not trusted: nothing has changed")
            register.remember(found)
            say(f"trusted: {found.path}")


def _show(found: FolderSettings, *, trusted: bool, as_json: bool) -> None:
    if as_json:
        risks = [{"setting": place, "does": does} for place, does in found.risks]
        print_json({"path": str(found.path), "risks": risks, "files": found.hashes, "trusted": trusted})
    else:
        click.echo(make_inert(risk_lines(found.risks) or f"{found.path} runs nothing and sends no secrets."))
