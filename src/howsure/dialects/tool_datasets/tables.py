"""Datasets of other tools that are tables: Inspect, DeepEval, OpenAI Evals, LangSmith, ragas, Braintrust. They are
read as `plain` reads them, with `--map` and `--match`; what is their own are the columns that tell them, and the
names under which they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.dialects.base import Watch
from howsure.dialects.lines import Row, RowDialect, is_table
from howsure.dialects.plain import PlainDialect
from howsure.dialects.plain_columns import EXPECTED, INPUT, METADATA, NESTED, RESPONSE, TableOptions
from howsure.dialects.plain_rows import RETRIEVED, row_of
from howsure.dialects.tables import head_names
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.model.expectation import Trajectory
from howsure.model.transcript import BrokenRecording

STEPS = ("outputs.trajectory", "outputs.expected_trajectory")
ENDINGS = (".json", ".jsonl", ".ndjson", ".csv")


class TableFormat(Struct, frozen=True, kw_only=True):
    """The table of one tool. It has all of the columns `required`, and one of `signs` where there are any. `mapped`
    says what a column is whose name says otherwise for other people; `names` are the columns that are written, by role
    (`inputs.question`: in an object). `spread`: metadata are columns of their own."""

    name: str
    required: frozenset[str]
    signs: frozenset[str] = frozenset()
    mapped: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    spread: bool = False
    endings: tuple[str, ...] = ENDINGS


class ToolTable(PlainDialect):
    """A table of one tool, by its format."""

    schema: Any = None
    """The file is another tool's: `howsure schema` does not describe it."""

    def __init__(self, format: TableFormat, options: TableOptions | None = None) -> None:
        asked = options or TableOptions()
        super().__init__(TableOptions(map={**format.mapped, **asked.map}, match=asked.match))
        self.name, self.fallback, self._format, self._user_map = format.name, False, format, asked.map

    def with_table_options(self, options: TableOptions) -> PlainDialect:
        return ToolTable(self._format, options)

    def detect(self, path: Path, head: bytes) -> bool:
        if INPUT in self._user_map or path.suffix.lower() not in self._format.endings:
            return False
        names, format = set(head_names(path, head)), self._format
        return format.required <= names and (not format.signs or bool(format.signs & names))

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        for each in super().read_watched(path, watch):
            yield _of_a_dataset(each) if isinstance(each, Case) else each

    def case(self, row: Row) -> Case:
        return _of_a_dataset(super().case(row))

    def row(self, case: Case) -> Row:
        found = row_of(case)
        kept: Row = found.pop(METADATA, {})
        if self._format.spread:
            found, kept = {**found, **kept}, {}
        nests = any("." in name for name in self._format.names.values())
        parts = {name: kept[name] for name in kept if nests and name.partition(".")[0] in NESTED}
        kept = {name: kept[name] for name in kept if name not in parts}
        named = {self._format.names.get(role, role): value for role, value in found.items()}
        row: Row = {}
        for name, value in {**named, **parts, **({METADATA: kept} if kept else {})}.items():
            family, _, inner = name.partition(".")
            if inner and family in NESTED:
                row.setdefault(family, {})[inner] = value
            else:
                row[name] = value
        return row

    def write(self, cases: Iterable[Case], path: Path) -> None:
        (RowDialect if is_table(path) else PlainDialect).write(self, cases, path)


def _of_a_dataset(case: Case) -> Case:
    """An empty answer is none yet; a list `trajectory` among the outputs is the expected trajectory."""
    if isinstance(case.recorded, BrokenRecording):
        case = replace(case, recorded=None)
    steps: list[Any] = next((case.metadata[name] for name in STEPS if isinstance(case.metadata.get(name), list)), [])
    if not steps or not all(isinstance(each, str) for each in steps):
        return case
    return replace(case, expectations=(*case.expectations, Trajectory(steps=tuple(steps))))


FORMATS = (
    TableFormat(name="inspect", required=frozenset(("input", "target")), names={EXPECTED: "target"}),
    # `context` is what an answer is held against, and is not shown to the agent.
    TableFormat(
        name="deepeval",
        required=frozenset(("input", "expected_output")),
        signs=frozenset(("retrieval_context", "tools_called", "expected_tools", "source_file", "additional_metadata")),
        mapped={"context": "", METADATA: ""},
        names={EXPECTED: "expected_output", RESPONSE: "actual_output", RETRIEVED: "retrieval_context"},
        spread=True,
    ),
    # How they are graded stands in the registry file (openai_evals.py).
    TableFormat(name="openai-evals", required=frozenset(("input", "ideal")), names={EXPECTED: "ideal"}),
    TableFormat(
        name="langsmith",
        required=frozenset(("inputs",)),
        signs=frozenset(("outputs", "metadata", "split", "dataset_id")),
        names={INPUT: "inputs.question", EXPECTED: "outputs.answer"},
    ),
    TableFormat(
        name="ragas",
        required=frozenset(("user_input",)),
        names={INPUT: "user_input", EXPECTED: "reference", "expected_tools": "reference_tool_calls"},
    ),
    # A CSV with these columns may be anybody's.
    TableFormat(
        name="braintrust",
        required=frozenset(("input", "expected")),
        signs=frozenset(("metadata", "tags", "dataset_id", "_xact_id")),
        endings=(".json", ".jsonl", ".ndjson"),
    ),
)


def tool_tables() -> tuple[ToolTable, ...]:
    return tuple(map(ToolTable, FORMATS))
