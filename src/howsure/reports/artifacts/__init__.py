"""The folders of files that the systems before Howsure wrote after a run, under their own names: programs that read
those can read ours. Each set is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

from howsure.errors import UnknownName
from howsure.model.result import Result
from howsure.model.summary import Summary


class FolderWriter(Protocol):
    """Writes the set into a folder that is there, and gives what it wrote."""

    async def __call__(self, summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]: ...


class ArtifactSet(Struct, frozen=True, kw_only=True):
    """`place` is the writer's module and name under `howsure.reports`."""

    name: str
    place: str
    about: str

    async def write(self, summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
        module, name = self.place.split(":")
        writer = cast(FolderWriter, getattr(import_module(f"howsure.reports.{module}"), name))
        return await writer(summary, results, folder)


SETS = (
    ArtifactSet(name="legal", place="artifacts.legal:write_legal", about="the files of the legal benchmark's runner"),
    ArtifactSet(
        name="golden", place="artifacts.golden:write_golden", about="eval_summary.json and what lies around it"
    ),
    ArtifactSet(name="explain", place="artifacts.explain:write_explain", about="the report of the Explain runner"),
    ArtifactSet(name="azure", place="artifacts.azure:write_azure", about="1–5 evals under the keys Azure's SDK uses"),
    ArtifactSet(
        name="every-eval-ever",
        place="every_eval_ever:write_eval_folder",
        about="a folder for the collection of Every Eval Ever, one document for each candidate",
    ),
)


def artifact_set(name: str) -> ArtifactSet:
    found = next((each for each in SETS if each.name == name.lower()), None)
    if found is None:
        raise UnknownName("artifact set", name, [each.name for each in SETS])
    return found
