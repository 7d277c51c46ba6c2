"""`howsure init`: the first files of a new user (settings, a small agent, two small datasets), copied from the folder
`starter`; or, for a file of one's own data, the settings, an agent to fill in and the first run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from itertools import islice
from pathlib import Path
from shlex import quote

from msgspec import Struct

from howsure.config import FILE, load
from howsure.dialects.datasets import detect, read_cases
from howsure.dialects.plain_columns import TableDialect
from howsure.errors import ConfigInvalid, Conflict
from howsure.kit.plugins import builtin_kit
from howsure.matching.numbers import read_number
from howsure.model.expectation import ReferenceAnswer
from howsure.policies.verdicts import builtin_profiles
from howsure.services.trust import FolderSettings, TrustRegister

TARGET = "agent"
"""The name of the agent in the settings."""
TEST_SET = "evaluation/datasets/first_test_set.json"
GOLDEN = "evaluation/datasets/support_golden.json"
FILES = ("howsure.yaml", "support_agent.py", TEST_SET, GOLDEN)
AGENT, FIRST_RUN = "agent.py", "first_run.sh"
_AGENT = '''"""The agent under test: put your own in its place. It is told what the user says and returns its answer."""


def answer(message: str) -> str:
    return "I do not know."
'''
_LOOKED_AT, _SHORT = 200, 40
"""How many cases are read to choose how answers are compared, and the longest short answer in characters."""


class StarterFiles(Struct, frozen=True, kw_only=True):
    """The files that were written to a folder; `unchanged` ones were there already, byte for byte."""

    folder: str
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    first_run: str = ""


def starter_folder() -> Path:
    return Path(str(files("howsure") / "starter"))


def write_starter_files(folder: Path, *, force: bool = False) -> StarterFiles:
    return _write({name: (starter_folder() / name).read_bytes() for name in FILES}, folder, force=force)


def write_data_files(data: Path, folder: Path, *, force: bool = False) -> StarterFiles:
    """Settings, an agent to fill in and a first run for a file of cases. DatasetInvalid if it cannot be read."""
    kit = builtin_kit(builtin_profiles())
    reader = detect(data, kit.dialects, kit.importers, kit.results_readers)
    cases = list(islice(read_cases(data, reader), _LOOKED_AT))
    answered = all(case.recorded is not None for case in cases)
    expected = [each for case in cases for each in case.expectations if isinstance(each, ReferenceAnswer)]
    answers = [text for each in expected for text in each.answers]
    match = ""
    if isinstance(reader, TableDialect) and answers and all(len(text) <= _SHORT for text in answers):
        match = f" --match {'includes' if any(read_number(text) is None for text in answers) else 'numeric'}"
    path = quote(os.path.relpath(data, folder))
    command = f"howsure run {path}{match}" + ("" if answered else f" --target {TARGET}")
    settings = (starter_folder() / FILE).read_text(encoding="utf-8").replace("support_agent.py", AGENT)
    script = f"# The first run of {path}. Every option: howsure run -h\n{command}\n"
    contents = {FILE: settings.encode(), AGENT: _AGENT.encode(), FIRST_RUN: script.encode()}
    return _write(contents, folder, force=force, first_run=command)


def _write(contents: Mapping[str, bytes], folder: Path, *, force: bool, first_run: str = "") -> StarterFiles:
    """Write the files, and trust them. If that would overwrite a different file, nothing is written, unless `force` is
    set."""
    try:
        there = [name for name in contents if (folder / name).is_file()]
        same = tuple(name for name in there if (folder / name).read_bytes() == contents[name])
        others = [name for name in contents if name not in same]
        if not force and (lost := [name for name in others if (folder / name).exists()]):
            raise Conflict(f"{folder} has {', '.join(lost)} already; nothing was written (--force overwrites)")
        for name in others:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents[name])
    except OSError as error:
        raise ConfigInvalid(f"{error.filename}: cannot be written: {error.strerror}") from error
    with suppress(ConfigInvalid):  # if the trust file cannot be written, the first run says so
        TrustRegister().remember(FolderSettings.examine(load(folder, {}), folder / FILE))
    return StarterFiles(folder=str(folder), written=tuple(others), unchanged=same, first_run=first_run)
