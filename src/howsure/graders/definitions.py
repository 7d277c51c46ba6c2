"""Reads the definition files of the golden world (`metrics` by name, with templates and the columns that fill them)
into `MetricDefinition`s: every definition, or every problem with its place. The fields are described in
docs/custom-evals.md; definition_graders.py makes graders of the definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from sys import float_info
from typing import Any

from msgspec import Struct, field

from howsure.errors import DatasetInvalid, Level, Problem
from howsure.graders.eval_files import FieldPath, FileProblems, did_you_mean, short_json
from howsure.graders.measures import NAMES as MEASURES
from howsure.graders.templates import MISSING, placeholders
from howsure.model.plain_values import is_storable
from howsure.model.score import UNIT, Scale
from howsure.policies.verdicts import JUDGED_SHARES

_IN_BRACES = re.compile(r"\{([^{}\s\"]+)\}")


class MappedColumn(Struct, frozen=True, kw_only=True):
    """One column of the conversation. `last`: only the last member of its list."""

    source: str
    default: Any = MISSING
    last: bool = False


class ColumnTemplate(Struct, frozen=True, kw_only=True):
    """A text made of several columns. `default` replaces each column that is missing."""

    template: str
    sources: tuple[str, ...]
    default: Any = MISSING

    def source_of(self, name: str) -> str | None:
        """The column that a placeholder names, in full or by its last part."""
        return next((each for each in self.sources if name in (each, re.split(r"[:.]", each)[-1])), None)

    def placeholders(self) -> list[str]:
        return [match[1] for match in _IN_BRACES.finditer(self.template)]

    def fill(self, values: Mapping[str, str]) -> str:
        """The text, filled in one pass. `values` has the text of each column."""
        return _IN_BRACES.sub(lambda match: values[self.source_of(match[1]) or ""], self.template)


class MetricDefinition(Struct, frozen=True, kw_only=True):
    """One judged eval. `managed` is the name of one of our own evals. `template` has placeholders; without a template,
    `question` is followed by every input."""

    name: str
    scale: Scale
    template: str = ""
    question: str = ""
    mapping: Mapping[str, MappedColumn | ColumnTemplate] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    managed: str = ""
    guidelines: str = ""


TOP, PREFIX, COMMENT = "metrics", "metric_prefix", "_comment"
BY_PROGRAM = ("tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity", "agent_routing", *MEASURES)
JUDGED = "_judged"
"""The suffix of a judged eval if a program measures the same thing under the plain name."""
SUPPLIED = ("prompt", "response")
"""Placeholders that need no mapping."""
FIELDS = (
    *("metric_type", "is_managed", "managed_metric_name", "use_gemini_format", "natural_language_guidelines"),
    *("agents", "score_range", "dataset_mapping", "template", "instruction", "criteria", "rating_scores"),
    *("description", "applies_to"),
)
EVERYBODY = "data_explorer_agent"
"""The agent that the tools of the golden world write if a definition names none."""
_MAPPING = ("source_column", "default", "transform", "template", "source_columns")

Json = dict[str, Any]
Warn = Callable[[Problem], object]


def read_definitions(path: Path, warn: Warn | None = None) -> tuple[MetricDefinition, ...]:
    """The judged definitions, or DatasetInvalid with every problem. Definitions that a program measures are left out:
    those graders run anyway. `warn` receives the fields that nothing reads."""
    value, problems = _load_json(path)
    prefix = value.get(PREFIX, "")
    if not isinstance(prefix, str):
        problems.add_wrong_type((PREFIX,), "a text", prefix)
        prefix = ""
    problems.add_unknown_fields((), _without_comments(value), (TOP, PREFIX), "a definition file", Level.WARNING)
    definitions = [
        _DefinitionReader(name, declared, problems).definition(prefix.strip("_"))
        for name, declared in _entries(value.get(TOP), problems)
    ]
    problems.raise_errors()
    if warn:
        for problem in problems.warnings:
            warn(problem)
    return tuple(each for each in definitions if each is not None)


def _load_json(path: Path) -> tuple[Json, FileProblems]:
    repeated: list[str] = []

    def unique_keys(pairs: list[tuple[str, Any]]) -> Json:
        unique = dict(pairs)
        if len(unique) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in unique if names.count(name) > 1 and not name.startswith(COMMENT))
        return unique

    def refuse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        text = path.read_text(encoding="utf-8-sig")
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse_constant)
        if not is_storable(value):
            raise ValueError("it holds half a character, a number that is too long, or is nested too deep")
    except json.JSONDecodeError as error:
        problem = Problem(code="json-syntax", message=error.msg, file=str(path), line=error.lineno, column=error.colno)
        raise DatasetInvalid(str(path), [problem]) from error
    except (OSError, ValueError, RecursionError) as error:
        problem = Problem(code="unreadable", message=f"cannot be read: {error}", file=str(path))
        raise DatasetInvalid(str(path), [problem]) from error
    names = value.get(TOP) if isinstance(value, dict) else None
    lines: dict[FieldPath, int] = {}
    for name in names if isinstance(names, dict) else ():
        if match := re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:\s*\{", text):
            lines[(TOP, name)] = text.count("\n", 0, match.start()) + 1
    problems = FileProblems(str(path), lines)
    for key in repeated:
        problems.add("duplicate-key", (key,), f"`{key}` stands twice in one object")
    if not isinstance(value, dict):
        problems.add_wrong_type((), "an object", value)
    return (value if isinstance(value, dict) else {}), problems


def _entries(declared: Any, problems: FileProblems) -> Iterator[tuple[str, Json]]:
    if not isinstance(declared, dict) or not declared:
        expected = "definitions by name"
        problems.add(
            "missing-field", (TOP,), f"`{TOP}` must hold {expected}", expected=expected, found=short_json(declared)
        )
        return
    # In this format, anything that is not an object is a comment.
    yield from ((name, each) for name, each in _without_comments(declared).items() if isinstance(each, dict))


def _without_comments(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if not key.startswith(COMMENT)}


class _DefinitionReader:
    """Reads one definition. Whatever is wrong is added to the problems."""

    def __init__(self, name: str, fields: Json, problems: FileProblems) -> None:
        self._name = name
        self._fields = _without_comments(fields)
        self._problems = problems

    def definition(self, prefix: str) -> MetricDefinition | None:
        """None if a program measures it or if it has problems."""
        self._problems.add_unknown_fields((TOP, self._name), self._fields, FIELDS, "a definition", Level.WARNING)
        kind = self._fields.get("metric_type", "llm")
        if kind == "deterministic":
            if self._name not in BY_PROGRAM:
                message = f"no program measures {self._name!r}"
                known, hint = ", ".join(BY_PROGRAM), did_you_mean(self._name, BY_PROGRAM)
                self._add("unknown-name", "metric_type", message, expected=known, found=self._name, hint=hint)
            return None
        if kind != "llm":
            expected = "llm, deterministic"
            self._add("unknown-value", "metric_type", "is no type", expected=expected, found=short_json(kind))
        full = f"{prefix}_{self._name}".lstrip("_")
        name = f"{full}{JUDGED}" if full in BY_PROGRAM else full
        agents = self._agents()
        guidelines = self._text("natural_language_guidelines")
        if self._fields.get("is_managed") or self._fields.get("managed_metric_name"):
            managed = self._managed()
            return MetricDefinition(name=name, scale=UNIT, agents=agents, managed=managed, guidelines=guidelines)
        scale, mapping = self._scale(), self._mapping()
        template, question = self._text("template"), self._question()
        self._check_placeholders(template or question, mapping)
        if not template.strip() and not question.strip():
            expected = "`template`, or `instruction` and `criteria`"
            self._add("missing-field", "template", f"it asks nothing: it needs {expected}", expected=expected)
        if scale is None:
            return None
        return MetricDefinition(
            name=name,
            scale=scale,
            template=template,
            question=question,
            mapping=mapping,
            agents=agents,
            guidelines=guidelines,
        )

    def _managed(self) -> str:
        declared = self._fields.get("managed_metric_name", self._name)
        name = declared.lower() if isinstance(declared, str) else ""
        if name not in JUDGED_SHARES:
            known, hint = ", ".join(map(str.upper, JUDGED_SHARES)), did_you_mean(name, JUDGED_SHARES)
            shown = short_json(declared)
            message = f"{shown} is no managed eval that we know"
            self._add("unknown-name", "managed_metric_name", message, expected=known, found=shown, hint=hint)
        if "score_range" in self._fields and self._scale() not in (UNIT, None):
            message = "a managed eval is the share of verdicts that hold, from 0 to 1"
            found = short_json(self._fields["score_range"])
            self._add("bad-scale", "score_range", message, expected="0 to 1", found=found)
        return name

    def _agents(self) -> tuple[str, ...]:
        declared = self._fields.get("agents", [])
        if not isinstance(declared, list) or not all(isinstance(name, str) for name in declared):
            self._add_wrong_type("agents", "a list of names", declared)
            return ()
        return () if EVERYBODY in declared else tuple(declared)

    def _text(self, key: str) -> str:
        declared = self._fields.get(key) or ""
        if isinstance(declared, str):
            return declared
        self._add_wrong_type(key, "a text", declared)
        return ""

    def _scale(self) -> Scale | None:
        declared = self._fields.get("score_range")
        if declared is None and isinstance(self._fields.get("rating_scores"), dict):
            return self._scale_of_ratings()
        if not isinstance(declared, dict):
            expected = "an object with `min` and `max`"
            message = "a range is needed to interpret values"
            self._add("missing-field", "score_range", message, expected=expected, found=short_json(declared))
            return None
        ends: list[Any] = [declared.get("min"), declared.get("max")]
        if not all(type(end) in (int, float) and abs(end) <= float_info.max for end in ends):
            self._add_wrong_type("score_range", "numbers under `min` and `max`", declared)
            return None
        return self._make_scale(float(declared["min"]), float(declared["max"]))

    def _scale_of_ratings(self) -> Scale | None:
        """The range of a definition that lists its possible values."""
        try:
            values = sorted(float(value) for value in self._fields["rating_scores"])
        except ValueError:
            values = []
        if not values or not all(map(isfinite, values)):
            self._add_wrong_type("rating_scores", "meanings by number", self._fields["rating_scores"])
            return None
        return self._make_scale(values[0], values[-1])

    def _make_scale(self, low: float, high: float) -> Scale | None:
        if low < high:
            return Scale(low, high)
        self._add("bad-scale", "score_range", "`min` must be less than `max`", found=f"{low:g} to {high:g}")
        return None

    def _question(self) -> str:
        """The question of the older form: an instruction, criteria and the meaning of the ratings."""
        lines = [self._text("instruction")]
        for title, key in (("Criteria:", "criteria"), ("Ratings:", "rating_scores")):
            declared = self._fields.get(key)
            if isinstance(declared, dict) and declared:
                lines += [title, *(f"- {name}: {meaning}" for name, meaning in declared.items())]
            elif declared:
                self._add_wrong_type(key, "texts by name", declared)
        return "\n".join(line for line in lines if line)

    def _mapping(self) -> dict[str, MappedColumn | ColumnTemplate]:
        declared = self._fields.get("dataset_mapping") or {}
        if not isinstance(declared, dict):
            self._add_wrong_type("dataset_mapping", "columns by placeholder", declared)
            return {}
        mapped = {name: self._mapping_of(name, each) for name, each in _without_comments(declared).items()}
        return {name: each for name, each in mapped.items() if each is not None}

    def _mapping_of(self, name: str, declared: Any) -> MappedColumn | ColumnTemplate | None:
        place: FieldPath = (TOP, self._name, "dataset_mapping", name)
        if not isinstance(declared, dict):
            expected = "an object with `source_column`, or with `template` and `source_columns`"
            self._problems.add_wrong_type(place, expected, declared)
            return None
        self._problems.add_unknown_fields(place, _without_comments(declared), _MAPPING, "a mapping", Level.WARNING)
        if "template" in declared:
            return self._column_template(declared, place)
        source, transform = declared.get("source_column"), declared.get("transform")
        if transform not in (None, "last_item"):
            found = short_json(transform)
            path = (*place, "transform")
            self._problems.add("unknown-value", path, "is no transform", expected="last_item", found=found)
        if not isinstance(source, str) or not source.strip():
            if "default" in declared:
                return MappedColumn(source="", default=declared["default"])
            self._problems.add_wrong_type((*place, "source_column"), "the name of a column", source)
            return None
        return MappedColumn(source=source, default=declared.get("default", MISSING), last=transform is not None)

    def _column_template(self, declared: Json, place: FieldPath) -> ColumnTemplate | None:
        template: Any = declared["template"]
        sources: Any = declared.get("source_columns")
        if not isinstance(sources, list) or not all(isinstance(each, str) for each in (template, *sources)):
            expected = "a text under `template` and a list of columns under `source_columns`"
            self._problems.add_wrong_type(place, expected, declared)
            return None
        mapped = ColumnTemplate(template=template, sources=tuple(sources), default=declared.get("default", MISSING))
        for name in mapped.placeholders():
            if mapped.source_of(name) is None:
                message, known = f"{{{name}}} is none of the columns", ", ".join(sources)
                self._problems.add("unknown-placeholder", (*place, "template"), message, expected=known, found=name)
        return mapped

    def _check_placeholders(self, text: str, mapping: Mapping[str, object]) -> None:
        declared = self._fields.get("dataset_mapping")
        known = [*mapping, *(declared if isinstance(declared, dict) else ()), *SUPPLIED]
        for name in placeholders(text):
            if name not in known:
                hint = did_you_mean(name, known) or f"map it to a column, or write {{{{{name}}}}} to show braces"
                message, expected = f"{{{name}}} is mapped to no column", ", ".join(dict.fromkeys(known))
                self._add("unknown-placeholder", "template", message, expected=expected, found=f"{{{name}}}", hint=hint)

    def _add(self, code: str, key: str, message: str, *, expected: str = "", found: str = "", hint: str = "") -> None:
        self._problems.add(code, (TOP, self._name, key), message, expected=expected, found=found, hint=hint)

    def _add_wrong_type(self, key: str, expected: str, value: Any) -> None:
        self._problems.add_wrong_type((TOP, self._name, key), expected, value)
