"""Candidates and code that a dataset file names, such as the providers, prompts and assertions of a promptfoo
configuration: candidates become targets of this run, and code checks run if the file is trusted. Trust in the file
works as for settings."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from howsure.config import CandidateSettings, Settings
from howsure.dialects.base import CandidateDialect, FileCandidates
from howsure.dialects.datasets import HEAD
from howsure.errors import ConfigInvalid, NotTrusted, PlanRefused
from howsure.graders.code_checks import CodeCheckGrader, runnable_languages
from howsure.kit import Kit
from howsure.model.run_request import RunRequest
from howsure.services.trust import CodeUse, FolderSettings, TrustCheck
from howsure.services.workspace import Workspace
from howsure.targets import promptfoo

HARMLESS = f"{promptfoo.__name__}:{promptfoo.echo.__name__}"


def use_file_candidates(work: Workspace, request: RunRequest) -> tuple[Workspace, RunRequest]:
    """The workspace with the targets of the file, and the request with these targets unless it names others."""
    found = _found(request, work.kit)
    if found is None:
        return work, request
    path, known = found
    if len(request.datasets) > 1 and (known.targets or known.prompts):
        raise PlanRefused(f"{path} says itself who answers: run it alone, not with other datasets")
    names, prompts = tuple(known.targets), known.prompts if len(known.prompts) > 1 else ()
    if request.responses or request.target:
        live = request.target not in ("", "recorded")
        return _with_code(work, path, known), replace(request, prompts=prompts if live else ())
    if not names and known.refused:
        reasons = "; ".join(known.refused.values())
        raise PlanRefused(f"{path}: none of its providers can be asked here: {reasons}. Name a target with --target")
    if not names:
        return _with_code(work, path, known), request
    target = names[0] if len(names) == 1 else names
    return _with_targets(work, path, known), replace(request, target=target, prompts=prompts)


def add_file_targets(work: Workspace, request: RunRequest) -> Workspace:
    """The workspace with the targets of the file, for a run that was made with them."""
    named = {request.target} if isinstance(request.target, str) else set(request.target)
    found = _found(request, work.kit)
    if found is None:
        return work
    others = named - {"", "recorded", *work.settings.targets}
    return _with_targets(work, *found) if others and named <= found[1].targets.keys() else _with_code(work, *found)


def file_settings(path: Path, kit: Kit) -> Settings | None:
    """What the file would have as settings; None where it is none that names candidates."""
    found = _candidates(path, kit)
    return None if found is None else _settings(found)


def _found(request: RunRequest, kit: Kit) -> tuple[Path, FileCandidates] | None:
    paths = (Path(path) for path in request.datasets)
    every = ((path, _candidates(path, kit, request.dialect)) for path in paths)
    return next(((path, each) for path, each in every if each is not None), None)


def _candidates(path: Path, kit: Kit, name: str = "") -> FileCandidates | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(HEAD)
    able = (each for each in kit.dialects if isinstance(each, CandidateDialect) and name in ("", each.name))
    return next((each.candidates(path) for each in able if each.detect(path, head)), None)


def _settings(found: FileCandidates) -> Settings:
    """The file as settings that may need trust: its providers except `echo`, and the code that checks answers."""
    blocks = {name: block for name, block in found.targets.items() if block.get("function") != HARMLESS}
    code: dict[str, Any] = {"kind": "assertions", "code": list(found.code), "files": list(found.files)}
    return Settings(targets={**blocks, **({"assertions": code} if found.code else {})})


def _with_code(work: Workspace, path: Path, found: FileCandidates) -> Workspace:
    """The workspace in which the code of the file checks answers, if the file is trusted."""
    trust = work.trust or TrustCheck(use=CodeUse.OPTIONAL)
    if not found.code or "code_check" in work.kit.graders or not trust.allows(_settings(found), path):
        return work
    changed = copy(work)
    changed.kit = work.kit.with_code(runnable_languages(), CodeCheckGrader(path.parent.resolve()))
    return changed


def _with_targets(work: Workspace, path: Path, found: FileCandidates) -> Workspace:
    settings = _settings(found)
    providers = replace(
        settings, targets={name: settings.targets[name] for name in settings.targets.keys() - {"assertions"}}
    )
    # Checks that are code do not keep the others from running: without trust, they are named as not run.
    asked = work.trust if FolderSettings.examine(providers, path).risks else None
    if asked is not None and asked.check_settings(settings, path).targets != settings.targets:
        raise NotTrusted(f"{path} is not trusted: nothing that it names was run")
    blocks = {name: dict(block) for name, block in found.targets.items()}
    for block in blocks.values():
        if "arguments" in block:
            block["arguments"] = {**block["arguments"], "folder": str(path.parent.resolve())}
    models = {name: block["model"] for name, block in blocks.items() if "model" in block}
    try:
        own = {
            name: msgspec.convert({**found.calls[name], "model": model}, CandidateSettings)
            for name, model in models.items()
        }
    except msgspec.ValidationError as error:
        raise ConfigInvalid(f"{path}: the settings of a provider: {error}") from error
    changed = copy(_with_code(work, path, found))
    settings = work.settings
    changed.settings = replace(
        settings, targets={**settings.targets, **blocks}, candidates={**settings.candidates, **own}
    )
    return changed
