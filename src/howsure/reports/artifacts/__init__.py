"""The folders of files that the systems before Howsure wrote after a run, under their own names: programs that read
those can read ours. Each set is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path

from msgspec import Struct

from howsure.errors import UnknownName
from howsure.model.result import Result
from howsure.model.summary import Summary
from howsure.reports.formats import load_writer


class ArtifactSet(Struct, frozen=True, kw_only=True):
    """`writer` is `module:function` in `howsure.reports`: it writes the set into a folder that is there, and returns
    what it wrote."""

    name: str
    writer: str
    about: str

    async def write(self, summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
        written: list[Path] = await load_writer(self.writer)(summary, results, folder)
        return written


SETS = (
    ArtifactSet(name="legal", writer="artifacts.legal:write_legal", about="the files of the legal benchmark's runner"),
    ArtifactSet(
        name="golden", writer="artifacts.golden:write_golden", about="eval_summary.json and what lies around it"
    ),
    ArtifactSet(name="explain", writer="artifacts.explain:write_explain", about="the report of the Explain runner"),
    ArtifactSet(name="azure", writer="artifacts.azure:write_azure", about="1–5 evals under the keys Azure's SDK uses"),
    ArtifactSet(
        name="every-eval-ever",
        writer="every_eval_ever:write_eval_folder",
        about="a folder for the collection of Every Eval Ever, one document for each candidate",
    ),
)


def artifact_set(name: str) -> ArtifactSet:
    found = next((each for each in SETS if each.name == name.lower()), None)
    if found is None:
        raise UnknownName("artifact set", name, [each.name for each in SETS])
    return found
