"""Reading custom evals from a YAML file, strictly: every eval, or every problem with its place. docs/custom-evals.md
describes the fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from howsure.graders.case_sources import KNOWN, MISSING, is_source
from howsure.graders.eval_spec import EvalSpec, Input, Output
from howsure.graders.file_findings import Findings, close_to, shown
from howsure.graders.file_findings import Path as Place
from howsure.graders.judged import Mark
from howsure.graders.templates import placeholders
from howsure.graders.yaml_places import read_yaml
from howsure.model.case import World
from howsure.model.score import Direction, Scale

EVALS = "evals"
WORLDS = (World.EXPLAIN, World.GOLDEN, World.TEST_SET, World.LEGAL, World.PLAIN)
FIELDS = (
    *("name", "description", "instructions", "template", "inputs", "scale", "pass_mark", "direction"),
    *("worlds", "filters", "output"),
)
_SCALE = ("min", "max", "integer")
_INPUT = ("source", "default")
_OUTPUT = ("score", "reason")
_DIRECTIONS = tuple(direction.value for direction in Direction)


def read_evals(path: Path, taken: Collection[str] = ()) -> tuple[EvalSpec, ...]:
    """The evals, or DatasetInvalid with every problem. `taken` are names that other graders have."""
    document = read_yaml(path)
    findings = Findings(str(path), document.lines)
    for place in document.twice:
        findings.add("duplicate-key", place, f"`{place[-1]}` stands here twice")
    declared = _declared(document.value, findings)
    specs = [_Reader(given, (EVALS, position), findings).spec() for position, given in declared]
    _check_names(declared, taken, findings)
    findings.refuse()
    return tuple(spec for spec in specs if spec is not None)


def _declared(value: Any, findings: Findings) -> list[tuple[int, Mapping[str, Any]]]:
    if not isinstance(value, Mapping) or not isinstance(value.get(EVALS), list) or not value[EVALS]:
        found = value.get(EVALS) if isinstance(value, Mapping) else value
        expected = "a list of evals under `evals`"
        findings.add("missing-field", (EVALS,), f"there must be {expected}", expected=expected, found=shown(found))
        return []
    for name in value:
        if name != EVALS:
            findings.unknown((str(name),), (EVALS,), "a file of evals")
    declared = []
    for position, given in enumerate(value[EVALS]):
        if isinstance(given, Mapping):
            declared.append((position, given))
        else:
            findings.wrong((EVALS, position), "an eval: its fields by name", given)
    return declared


def _check_names(declared: list[tuple[int, Mapping[str, Any]]], taken: Collection[str], findings: Findings) -> None:
    first: dict[str, int] = {}
    for position, given in declared:
        name, place = given.get("name"), (EVALS, position, "name")
        if not isinstance(name, str):
            continue
        if name in first:
            earlier = findings.line_of((EVALS, first[name], "name"))
            message = f"a second eval is named {name!r}; the first is on line {earlier}"
            findings.add("duplicate-name", place, message, found=name)
        elif name in taken:
            hint = "choose another name: scores, marks and recordings go by it"
            findings.add("name-taken", place, f"a grader is named {name!r} already", found=name, hint=hint)
        first.setdefault(name, position)


class _Reader:
    """One eval of the file. Whatever is wrong goes to the findings; its value is then one that does no harm."""

    def __init__(self, given: Mapping[str, Any], place: Place, findings: Findings) -> None:
        self._given = given
        self._place = place
        self._findings = findings

    def spec(self) -> EvalSpec | None:
        for name in self._given:
            if name not in FIELDS:
                self._findings.unknown((*self._place, str(name)), FIELDS, "an eval")
        name = self._text("name", required=True)
        inputs = self._inputs()
        template = self._template(inputs)
        scale, whole = self._scale()
        mark, worlds, filters, output = self._mark(scale), self._worlds(), self._filters(), self._output()
        if scale is None:
            return None
        return EvalSpec(
            name=name,
            description=self._text("description"),
            template=template,
            inputs=inputs,
            scale=scale,
            whole=whole,
            mark=mark,
            worlds=worlds,
            filters=filters,
            output=output,
        )

    def _text(self, field: str, *, required: bool = False) -> str:
        given = self._given.get(field)
        if given is None and not required:
            return ""
        if isinstance(given, str) and (given.strip() or not required):
            return given
        if given is None:
            self._add("missing-field", (field,), f"`{field}` is required", expected="a text")
        else:
            self._wrong((field,), "a text", given)
        return ""

    def _inputs(self) -> dict[str, Input]:
        given = self._given.get("inputs")
        if not isinstance(given, Mapping) or not given:
            expected = "the eval's inputs: a source for each name"
            code = "missing-field" if given is None else "wrong-type"
            self._add(code, ("inputs",), f"must be {expected}", expected=expected, found=shown(given))
            return {}
        return {str(name): self._input(str(name), value) for name, value in given.items()}

    def _input(self, name: str, given: Any) -> Input:
        if placeholders(f"{{{name}}}") != (name,):
            expected = "letters, digits and _, not starting with a digit"
            self._add("bad-name", ("inputs", name), f"{name!r} cannot be a placeholder", expected=expected, found=name)
        if not isinstance(given, Mapping):
            return Input(source=self._source(("inputs", name), given))
        for field in given:
            if field not in _INPUT:
                self._findings.unknown((*self._place, "inputs", name, str(field)), _INPUT, "an input")
        source = self._source(("inputs", name, "source"), given.get("source"))
        return Input(source=source, default=given.get("default", MISSING))

    def _source(self, place: Place, given: Any) -> str:
        if isinstance(given, str) and is_source(given):
            return given
        hint = close_to(given, KNOWN) if isinstance(given, str) else ""
        message = f"{shown(given)} is not a source of inputs"
        self._add("unknown-source", place, message, expected=", ".join(KNOWN), found=shown(given), hint=hint)
        return ""

    def _template(self, inputs: Mapping[str, Input]) -> str:
        """The instructions, and the template below them. Without a template the inputs follow in their order."""
        instructions, template = self._text("instructions"), self._text("template")
        if not instructions.strip() and not template.strip():
            expected = "`instructions`, `template` or both"
            self._add(
                "missing-field", ("instructions",), f"the eval asks nothing: it needs {expected}", expected=expected
            )
        for field, text in (("instructions", instructions), ("template", template)):
            for name in placeholders(text):
                if name not in inputs:
                    hint = (
                        close_to(name, inputs) or f"declare it under `inputs`, or write {{{{{name}}}}} to show braces"
                    )
                    message, known = f"{{{name}}} is not an input of this eval", ", ".join(inputs)
                    self._add("unknown-placeholder", (field,), message, expected=known, found=f"{{{name}}}", hint=hint)
        if template.strip():
            used = {*placeholders(instructions), *placeholders(template)}
            for name in inputs:
                if name not in used:
                    hint = f"write {{{name}}} where it belongs, or remove it"
                    message = f"the input `{name}` has no place in the template"
                    self._add("unused-input", ("inputs", name), message, expected=f"{{{name}}}", hint=hint)
        return "\n\n".join(text.strip() for text in (instructions, template) if text.strip())

    def _scale(self) -> tuple[Scale | None, bool]:
        given = self._given.get("scale")
        if not isinstance(given, Mapping):
            expected = "`min` and `max`, and `integer` where only whole numbers count"
            code = "missing-field" if given is None else "wrong-type"
            self._add(code, ("scale",), f"`scale` must have {expected}", expected=expected, found=shown(given))
            return None, False
        for field in given:
            if field not in _SCALE:
                self._findings.unknown((*self._place, "scale", str(field)), _SCALE, "a scale")
        low, high = self._number("scale", "min", given.get("min")), self._number("scale", "max", given.get("max"))
        whole = given.get("integer", False)
        if not isinstance(whole, bool):
            self._wrong(("scale", "integer"), "true or false", whole)
        if low is None or high is None:
            return None, False
        if low >= high:
            self._add("bad-scale", ("scale",), "`min` must be less than `max`", found=f"{low:g} to {high:g}")
            return None, False
        if whole is True and not (low.is_integer() and high.is_integer()):
            message = "an integer scale has whole ends"
            self._add("bad-scale", ("scale",), message, expected="whole numbers", found=f"{low:g} to {high:g}")
        return Scale(low, high), whole is True

    def _number(self, *place: Any) -> float | None:
        *path, value = place
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
        self._wrong(tuple(path), "a number", value)
        return None

    def _mark(self, scale: Scale | None) -> Mark:
        said = self._given.get("direction", Direction.HIGHER.value)
        if said not in _DIRECTIONS:
            expected = ", ".join(_DIRECTIONS)
            self._add("unknown-value", ("direction",), "is no direction", expected=expected, found=shown(said))
            return Mark()
        direction = Direction(said)
        if self._given.get("pass_mark") is None:
            return Mark(None, direction)
        mark = self._number("pass_mark", self._given["pass_mark"])
        if mark is not None and scale is not None and mark not in scale:
            message = "a mark that no value can reach, or that none can miss, says nothing"
            self._add("bad-mark", ("pass_mark",), message, expected=f"a number from {scale}", found=f"{mark:g}")
        if direction is Direction.NEITHER:
            message = "where neither end is good, nothing passes or fails"
            hint = "set `direction` to higher or lower, or remove the mark"
            self._add("bad-mark", ("pass_mark",), message, found=shown(mark), hint=hint)
        return Mark(mark, direction)

    def _worlds(self) -> tuple[str, ...]:
        given = self._given.get("worlds") or []
        if not isinstance(given, list):
            self._wrong(("worlds",), "a list of worlds", given)
            return ()
        for place, world in enumerate(given):
            if world not in WORLDS:
                hint = close_to(world, WORLDS) if isinstance(world, str) else ""
                message, expected = f"{shown(world)} is not a world", ", ".join(WORLDS)
                self._add("unknown-value", ("worlds", place), message, expected=expected, found=shown(world), hint=hint)
        return tuple(map(str, given))

    def _filters(self) -> dict[str, tuple[str, ...]]:
        given = self._given.get("filters") or {}
        if not isinstance(given, Mapping):
            self._wrong(("filters",), "the values that labels may have, by label", given)
            return {}
        filters = {}
        for label, values in given.items():
            listed = values if isinstance(values, list) else [values]
            if not listed or not all(isinstance(value, str | int | float) for value in listed):
                self._wrong(("filters", str(label)), "a text, or a list of texts", values)
            filters[str(label)] = tuple(map(_as_label, listed))
        return filters

    def _output(self) -> Output:
        given = self._given.get("output") or {}
        if not isinstance(given, Mapping):
            self._wrong(("output",), "the names of the reply's fields: `score` and `reason`", given)
            return Output()
        for field, name in given.items():
            if field not in _OUTPUT:
                self._findings.unknown((*self._place, "output", str(field)), _OUTPUT, "an output")
            elif not isinstance(name, str) or not name.strip():
                self._wrong(("output", field), "the name of a field", name)
        return Output(**{field: given[field] for field in _OUTPUT if isinstance(given.get(field), str)})

    def _add(
        self, code: str, path: Place, message: str, *, expected: str = "", found: str = "", hint: str = ""
    ) -> None:
        self._findings.add(code, (*self._place, *path), message, expected=expected, found=found, hint=hint)

    def _wrong(self, path: Place, expected: str, value: Any) -> None:
        self._findings.wrong((*self._place, *path), expected, value)


def _as_label(value: Any) -> str:
    """As labels are written: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
