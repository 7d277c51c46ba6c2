"""The report formats that Howsure brings, and how the name of a file selects one; and the artifact sets, which are
folders of files. The module of each is loaded when it is written, so that a run without a table or a page does not pay
for them."""

from __future__ import annotations

from collections.abc import AsyncIterable
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.errors import UnknownName
from howsure.kit import Kit
from howsure.kit.report_formats import ReportFormat
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.summary import Summary


class BuiltinFormat(Struct, frozen=True, kw_only=True):
    """`writer` is `module:function` in this package: `await write_csv_file(summary, results, path)`; one that
    `compares` takes the comparison too. `needs` is the function that refuses where a program or package is missing."""

    name: str
    endings: tuple[str, ...]
    writer: str
    compares: bool = False
    needs: str = ""

    def check(self) -> None:
        if self.needs:
            load_writer(self.needs)()

    async def write(
        self, summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
    ) -> None:
        added = {"comparison": comparison} if self.compares else {}
        await load_writer(self.writer)(summary, results, path, **added)


def load_writer(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(f"howsure.reports.{module}"), name)


FORMATS = (
    BuiltinFormat(name="html", endings=(".html", ".htm"), writer="html.page:write_html", compares=True),
    BuiltinFormat(name="pdf", endings=(".pdf",), writer="pdf:write_pdf", compares=True, needs="pdf:browser"),
    BuiltinFormat(name="markdown", endings=(".md",), writer="pull_request:write_pull_request", compares=True),
    BuiltinFormat(name="markdown-full", endings=(".full.md",), writer="run_report:write_markdown_file"),
    BuiltinFormat(name="junit", endings=(".xml",), writer="junit:write_junit"),
    BuiltinFormat(name="csv", endings=(".csv",), writer="tables:write_csv_file"),
    BuiltinFormat(name="jsonl", endings=(".jsonl", ".ndjson"), writer="jsonl:write_jsonl_file"),
    BuiltinFormat(name="json", endings=(".json",), writer="jsonl:write_json_file"),
    BuiltinFormat(name="canonical", endings=(".canonical.jsonl",), writer="jsonl:write_canonical_file"),
    BuiltinFormat(name="parquet", endings=(".parquet",), writer="tables:write_parquet", needs="tables:import_pyarrow"),
    BuiltinFormat(name="every-eval-ever", endings=(".eee.json",), writer="every_eval_ever:write_every_eval_ever"),
    BuiltinFormat(name="inspect", endings=(".eval",), writer="tool_files.inspect_log:write_inspect"),
    BuiltinFormat(name="promptfoo", endings=(".promptfoo.json",), writer="tool_files.promptfoo_eval:write_promptfoo"),
    BuiltinFormat(name="openai-evals", endings=(".oaieval.jsonl",), writer="tool_files.case_rows:write_oaieval_log"),
    BuiltinFormat(name="langsmith", endings=(".langsmith.json",), writer="tool_files.case_rows:write_langsmith"),
    BuiltinFormat(name="deepeval", endings=(".deepeval.json",), writer="tool_files.case_rows:write_deepeval"),
    BuiltinFormat(name="otlp", endings=(".otlp.jsonl",), writer="tool_files.otlp:write_otlp"),
)


def register(kit: Kit) -> None:
    """Built-in formats enter by the same door as those of a plug-in."""
    for each in FORMATS:
        kit.report_formats.add(each)


def find_format(kit: Kit, path: Path, name: str = "") -> ReportFormat:
    """The format of that name; without a name, the one with the longest ending that fits the file, in any case."""
    if name:
        return kit.report_formats[name.lower()]
    file = path.name.lower()
    fits = [
        (len(ending), each)
        for each in kit.report_formats
        for ending in each.endings
        if file.endswith(ending.lower()) and len(file) > len(ending)
    ]
    if not fits:
        raise UnknownName("report file ending", path.suffix or path.name, format_endings(kit))
    return max(fits, key=lambda fit: fit[0])[1]


def format_endings(kit: Kit) -> list[str]:
    return [ending for each in kit.report_formats for ending in each.endings]


class ArtifactSet(Struct, frozen=True, kw_only=True):
    """`writer` is `module:function` in `howsure.reports`: it writes the set into a folder that is there, and returns
    what it wrote."""

    name: str
    writer: str

    async def write(self, summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
        written: list[Path] = await load_writer(self.writer)(summary, results, folder)
        return written


SETS = (
    ArtifactSet(name="legal", writer="artifacts.legal:write_legal"),
    ArtifactSet(name="golden", writer="artifacts.golden:write_golden"),
    ArtifactSet(name="explain", writer="artifacts.explain:write_explain"),
    ArtifactSet(name="azure", writer="artifacts.explain:write_azure"),
    ArtifactSet(name="every-eval-ever", writer="every_eval_ever:write_eval_folder"),
)


def artifact_set(name: str) -> ArtifactSet:
    found = next((each for each in SETS if each.name == name.lower()), None)
    if found is None:
        raise UnknownName("artifact set", name, [each.name for each in SETS])
    return found
