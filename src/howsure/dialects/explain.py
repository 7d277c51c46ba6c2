"""The `explain` dialect: JSONL of cases with up to nine Explain evals (docs/dialects/explain.md describes every field
and problem), the rules that its schema cannot state, and the scenario catalog beside a dataset. explain_rows.py turns
rows into Cases and back, and has the schema and the names.

Most lines have nothing to report: they are decoded, checked by a compiled schema and a few comparisons, and built.
`read_line` reads the others, and names every problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from howsure.dialects import extras
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.explain_rows import (
    AGENTS,
    DEFAULT_EVALS,
    PAYLOADS,
    PHASE_AGENTS,
    PLAIN_SCHEMA,
    PROFILES,
    REPEATS,
    SCHEMA,
    TOPIC_FAMILIES,
    case_of,
    disagreements,
    json_text,
    row_of,
    unreadable_tools,
    unwritable,
    with_canonical_evals,
    with_payload_fields,
)
from howsure.dialects.ids import SeenIds
from howsure.dialects.lines import first_keys, not_an_object, open_file, read_lines, read_objects, split_lines
from howsure.dialects.problems import (
    SchemaChecker,
    Spot,
    did_you_mean,
    kind_of,
    load_schema,
    shown,
    unknown_fields,
    with_article,
)
from howsure.dialects.reference_data import matcher_problems
from howsure.dialects.strict_json import Json, duplicate_free, parse_json
from howsure.dialects.writers import iter_writable, write_checked
from howsure.errors import Level, Problem
from howsure.model.case import Case

_NEEDS = {"TaskAdherenceExplain": "task_goal", "ToolCallAccuracyExplain": "available_tools"}
"""The field that an eval needs."""
_CALL_LISTS = ("expected_tool_calls", "invoked_tool_calls")


def row_problems(row: Json, spot: Spot, profiles: Collection[str] | None) -> Iterator[Problem]:
    """What the schema cannot state: names that must fit each other, payloads, texts that should hold JSON. Parts of a
    wrong type are skipped: the schema reports those. `row` has canonical eval names and the fields of its payloads."""
    yield from _name_problems(row, spot, profiles)
    yield from _calls(row, spot)
    yield from _evals(row, spot)
    yield from unreadable_tools(row, spot)
    yield from disagreements(row, spot)


def _name_problems(row: Json, spot: Spot, profiles: Collection[str] | None) -> Iterator[Problem]:
    id, agent, profile = (_name(row, field) for field in ("case_id", "agent_name", "threshold_profile"))
    if id and agent and not re.fullmatch(re.escape(agent) + "-[0-9]{3,}", id):
        message = "must be the agent's name, a hyphen and three or more digits"
        yield spot.below("case_id").problem("bad-pattern", message, expected=f"{agent}-001", found=shown(id))
    for field, known, code in (
        ("agent_name", AGENTS, "unknown-agent"),
        ("topic_family", TOPIC_FAMILIES, "unknown-topic-family"),
    ):
        name = _name(row, field)
        if name and name not in known:  # a warning only: these lists are open
            message = f"{shown(name)} is not one of those we know; it is kept"
            yield spot.below(field).warning(code, message, found=shown(name), hint=did_you_mean(name, known))
    if "phase" not in row and agent in PHASE_AGENTS:
        message, hint = "`phase` is required for this agent", "only agents that run a whole workflow have none"
        yield spot.below("phase").problem("missing-field", message, expected="phase", hint=hint)
    if profiles is not None and profile and profile not in profiles:
        names = ", ".join(sorted(profiles))
        message, hint = f"there is no profile {shown(profile)}", f"known: {names}; more can be added in howsure.yaml"
        at = spot.below("threshold_profile")
        yield at.problem("unknown-profile", message, expected=names, found=shown(profile), hint=hint)


def _name(row: Json, field: str) -> str:
    """The text of a field; "" where it is blank or no text."""
    name = row.get(field)
    return name if isinstance(name, str) and name.strip() else ""


def _calls(row: Json, spot: Spot) -> Iterator[Problem]:
    for field in _CALL_LISTS:
        calls = row.get(field)
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(call, dict) or "arguments" not in call:
                continue
            at, raw, arguments = spot.below(field, index, "arguments"), call["arguments"], json_text(call["arguments"])
            if isinstance(raw, str) and not isinstance(arguments, dict):
                no_json = isinstance(arguments, str)
                what = "no JSON" if no_json else f"the JSON text of {with_article(kind_of(arguments))}"
                message = f"must be an object or the JSON text of one, not {what}"
                yield at.problem("not-an-object", message, expected="object", found=shown(raw))
            elif field == "expected_tool_calls":
                yield from matcher_problems(arguments, at)
    if row.get("invoked_tool_calls") and "model_answer" not in row:
        message = "`invoked_tool_calls` belong to a recorded answer, and there is none"
        yield spot.below("model_answer").problem("missing-field", message, expected="model_answer")


def _evals(row: Json, spot: Spot) -> Iterator[Problem]:
    """Evals that lack a field they need, or their payload."""
    evals, bundle = row.get("required_evals", []), row.get("explain_inputs")
    if not isinstance(evals, list):
        return
    evals = evals or DEFAULT_EVALS
    for eval in evals:
        field = _NEEDS.get(eval) if isinstance(eval, str) else None
        if field is not None and row.get(field, "") in ("", None):
            yield spot.below(field).problem("missing-field", f"`{field}` is needed by {eval}", expected=field)
    if isinstance(bundle, dict):
        for eval in evals:
            if isinstance(eval, str) and eval not in bundle:
                message = f"{eval} has no payload; built from the fields"
                yield spot.below("explain_inputs", eval).warning("missing-payload", message)
    elif bundle is None and "model_answer" in row:
        message = "there are no payloads; built from the fields"
        yield spot.below("explain_inputs").warning("missing-payload", message)


NAME = "scenario-catalog"
CATALOG_SCHEMA = load_schema("scenario_catalog")
_CHECKER = SchemaChecker(CATALOG_SCHEMA)


class ScenarioCatalog(Struct, frozen=True, kw_only=True):
    """The scenario ids of a catalog file (JSONL beside the dataset), and its problems."""

    path: Path
    ids: frozenset[str]
    problems: tuple[Problem, ...] = ()


def find_catalogs(dataset: Path) -> list[Path]:
    """The catalogs nearest to a dataset: in its folder, in a folder `common` inside or beside it, or in the folder
    above."""
    folder = dataset.resolve().parent
    for place in (folder, folder / "common", folder.parent / "common", folder.parent):
        named = sorted(path for path in place.glob("*") if NAME in path.name.lower()) if place.is_dir() else []
        if catalogs := [path for path in named if path.suffix.lower() in (".jsonl", ".ndjson")]:
            return catalogs
    return []


def read_catalog(path: Path) -> ScenarioCatalog:
    """Reads a catalog strictly, and reports every problem."""
    ids, known = SeenIds("scenario_id"), set()
    problems: list[Problem] = []
    with open_file(path) as stream:
        for line, row in read_objects(stream, str(path)):
            if isinstance(row, Problem):
                problems.append(row)
                continue
            spot = Spot(str(path), line)
            problems += _CHECKER.problems(row, spot)
            problems += unknown_fields(row, CATALOG_SCHEMA["properties"], spot)
            id = row.get("scenario_id")
            if isinstance(id, str):
                known.add(id)
                problems += [] if ids.is_new(id, line) else [ids.repeated(id, spot)]
    return ScenarioCatalog(path=path, ids=frozenset(known), problems=tuple(problems))


_SHAPE = SchemaChecker(SCHEMA)
_TELLING = {"agent_name", "explain_inputs", "required_evals", "quality_band", "threshold_profile"}


T = TypeVar("T")


class ExplainDialect(WatchedDialect):
    """JSONL of Explain cases. `profiles` are the threshold profiles a case may name; None: any."""

    name = "explain"
    brings_answers = True
    """In a scan, None stands for a case that has its answer with it and names no contract."""

    def __init__(self, profiles: Collection[str] | None = PROFILES) -> None:
        self._profiles = profiles

    def schema(self) -> dict[str, Any]:
        return SCHEMA

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(first_keys(head))
        return len(keys & _TELLING) >= 2 and ("case_id" in keys or "question" in keys)

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        return self._read(path, watch, lambda row: case_of(row, {}))

    def scan(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]:
        """As `read_watched`, with None for most cases that have nothing to report."""
        return self._read(path, watch, lambda row: case_of(row, {}) if row.get("expected_contract") else None)

    def _read(self, path: Path, watch: Watch | None, build: Callable[[Json], T]) -> Iterator[Case | Problem | T]:
        catalogs, ids = [read_catalog(catalog) for catalog in find_catalogs(path)], SeenIds("case_id")
        for catalog in catalogs:
            yield from catalog.problems
        if len(catalogs) > 1:
            names = ", ".join(catalog.path.name for catalog in catalogs)
            message = f"{len(catalogs)} scenario catalogs stand beside this dataset: {names}"
            yield Problem(code="several-catalogs", message=message, file=str(path), hint="keep one of them there")
        name = str(path)
        for number, text in read_lines(split_lines(path, watch)):
            row = plain_row(text)
            if (
                row is not None
                and has_no_problem(row, text, self._profiles)
                and all(row["scenario_id"] in catalog.ids for catalog in catalogs)
                and ids.is_new(row["case_id"], number)  # asked last: asking makes the id known
            ):
                yield build(row)
            else:
                yield from self.read_line(text, Spot(name, number), ids, catalogs)

    def read_again(self, path: Path, watch: Watch) -> Iterator[Case | Problem]:
        """The cases of a file that was found valid and has the same hash. What is of no use to a valid line is not
        checked; a line that has changed after all is read slowly."""
        ids, name = SeenIds("case_id"), str(path)
        for number, text in read_lines(split_lines(path, watch)):
            try:
                row = msgspec.json.decode(text)
                case = case_of(row, {}) if has_only_known_names(row) else None
            except (msgspec.DecodeError, LookupError, TypeError, AttributeError, ValueError, RecursionError):
                case = None
            if case is not None:
                yield case
            else:
                yield from self.read_line(text, Spot(name, number), ids, ())

    def write(self, cases: Iterable[Case], path: Path) -> None:
        ids = SeenIds("case_id")
        rows = (row_of(case) for case in iter_writable(cases, path, unwritable))
        write_checked(rows, path, lambda text, spot: self.read_line(text, spot, ids, ()))

    def read_line(
        self, text: bytes, spot: Spot, ids: SeenIds, catalogs: Iterable[ScenarioCatalog]
    ) -> Iterator[Case | Problem]:
        """Every problem of a line; the case too, where they are only warnings."""
        row, problems = parse_json(text, file=spot.file, line=spot.line)
        if not isinstance(row, dict):
            yield from problems or [not_an_object(row, spot)]
            return
        row, misnamed = with_canonical_evals(row, spot)
        row = with_payload_fields(row)
        problems += [*misnamed, *_SHAPE.problems(row, spot)]
        unknown = extras.separate_unknown(row, SCHEMA, spot)
        problems += row_problems(row, spot, self._profiles)
        id, scenario = row.get("case_id"), _name(row, "scenario_id")
        if isinstance(id, str) and spot.line is not None and not ids.is_new(id, spot.line):
            problems.append(ids.repeated(id, spot))
        for catalog in catalogs:
            if scenario and scenario not in catalog.ids:
                message = f"the catalog {catalog.path.name} has no scenario {shown(scenario)}"
                at, hint = spot.below("scenario_id"), did_you_mean(scenario, catalog.ids)
                problems.append(at.problem("unknown-scenario", message, found=shown(scenario), hint=hint))
        problems += unknown.warnings
        if all(problem.level is Level.WARNING for problem in problems):
            yield case_of(row, unknown.kept)
        yield from problems


_PLAIN = SchemaChecker(PLAIN_SCHEMA)


def plain_row(text: bytes) -> Json | None:
    """The row of a line in the usual form: each eval that it names has a payload, no other eval has one, and the
    payloads repeat the fields word for word. None does not mean that the line is wrong: `read_line` reads any line."""
    try:
        row: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not _PLAIN.fits(row):
        return None
    payloads: dict[str, Json] = row["explain_inputs"]
    if len(payloads) != len(row["required_evals"]) or not payloads.keys() >= set(row["required_evals"]):
        return None
    for payload in payloads.values():
        for key, value in payload.items():
            if key in REPEATS and row.get(REPEATS[key]) != value:
                return None
    return row


_FIELDS = SCHEMA["properties"].keys()
_CALL_FIELDS = {name: SCHEMA["properties"][name]["items"]["properties"].keys() for name in _CALL_LISTS}
_PAYLOAD_FIELDS = {
    eval: set(rule["required"]) for eval, rule in SCHEMA["properties"]["explain_inputs"]["properties"].items()
}
_REPEATED = {eval: {REPEATS[key] for key in keys} for eval, keys in PAYLOADS.items()}


def has_only_known_names(row: Json) -> bool:
    """Whether a valid row becomes a case as it stands: it has no unknown field, each eval under our spelling of its
    name and once, and no field that only a payload states."""
    evals, names = row.get("required_evals", ()), row.keys()
    if not names <= _FIELDS or not PAYLOADS.keys() >= (distinct := set(evals)) or len(distinct) != len(evals):
        return False
    for eval, payload in row.get("explain_inputs", {}).items():
        if payload.keys() != _PAYLOAD_FIELDS.get(eval) or not _REPEATED[eval] <= names:
            return False
    return all(call.keys() <= known for field, known in _CALL_FIELDS.items() for call in row.get(field, ()))


def has_no_problem(row: Json, text: bytes, profiles: Collection[str] | None) -> bool:
    """Whether a plain row certainly has nothing to report: `read_line` would find neither problem nor warning."""
    agent, evals = row["agent_name"], row["required_evals"]
    number = row["case_id"].removeprefix(f"{agent}-")
    return (
        number is not row["case_id"]
        and len(number) >= 3
        and number.isascii()
        and number.isdigit()
        and ("phase" in row or agent not in PHASE_AGENTS)
        and (profiles is None or "threshold_profile" not in row or row["threshold_profile"] in profiles)
        and all(row.get(field) or eval not in evals for eval, field in _NEEDS.items())
        and text.find(b'"$') < 0  # a matcher, which may be malformed
        and duplicate_free(text, row)
    )
