"""The assertions of promptfoo as expectations: those that compare texts are checked by program, those that a model
grades become criteria for the judge, code is checked by running it where that is allowed. Weights and thresholds become
the pass rule of the case."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import yaml
from msgspec import Struct, field

from howsure.config import load_yaml
from howsure.dialects.importers.records import finite_number
from howsure.dialects.plain_rows import text_of
from howsure.dialects.problems import Spot, shown
from howsure.dialects.tool_datasets.documents import (
    FILE_PREFIX,
    IS_CODE,
    ToolFolder,
    ToolLoader,
    equal_output,
    judged,
    object_in,
    wrong_type,
)
from howsure.dialects.tool_datasets.templates import TemplateFailed, fill_all
from howsure.model import expectation as expect
from howsure.model.expectation import CodeCheck, Expectation, ExpectedCall, JsonPlace

_CELL = re.compile(
    r"(?P<not>not-)?(?P<type>[a-z][a-z0-9:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?:(?P<value>.*)", re.DOTALL
)
_FIELD = re.compile(r'\s*(?:"((?:[^"\\]|\\.|"")*)"|([^,]+))\s*(?:,|$)')
JUDGED = {
    "llm-rubric": "{}",
    "model-graded-closedqa": "{}",
    "agent-rubric": "{}",
    "g-eval": "{}",
    "trajectory:goal-success": "The user's goal is reached: {}",
    "answer-relevance": "The answer is relevant to what was asked.",
    "context-faithfulness": "Everything that the answer claims is supported by the context that was given.",
    "is-refusal": "The answer refuses to do what was asked.",
}
"""What a judge is asked in place of the tool's own prompt."""
REFERENCES = ("factuality", "model-graded-factuality", "similar", "similar:cosine")
SAMENESS = "The answer agrees in substance with this reference: {}"
CODE = ("javascript", "python", "ruby", "webhook")
NOT_TRUSTED = "is code, which runs only where the file is trusted: `howsure trust FILE`"
OLDER = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
"""Older names of types in the cells of a table."""
GRADERS = {
    expect.ExactText: "exact_match",
    expect.IncludedText: "includes",
    expect.TextPattern: "regex_match",
    expect.JsonOutput: "json_schema",
    CodeCheck: "code_check",
}
"""Who checks an expectation that can have a weight."""


class AssertionSet(Struct, kw_only=True):
    """What the assertions of one test become: `values` are its variables, `languages` those in which code may run.
    `weights` are those of `expectations`, `statements` have their own; `unchecked` names what nothing here checks."""

    values: Mapping[str, Any]
    folder: ToolFolder
    languages: Collection[str] = ()
    expectations: list[Expectation] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    statements: dict[str, float] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def all(self) -> tuple[Expectation, ...]:
        """A reference stands alone only where nothing else is judged: beside criteria it would merely help the
        judge."""
        statements, found = dict(self.statements), list(self.expectations)
        if statements:
            statements |= {SAMENESS.format(text): 1.0 for text in self.references}
        elif self.references:
            found.append(expect.ReferenceAnswer(answers=tuple(self.references)))
        weighted = any(weight != 1 for weight in statements.values())
        return (*found, *([judged(statements, statements.values() if weighted else ())] if statements else []))

    def pass_rule(self, threshold: float | None) -> dict[str, Any]:
        """The weights by grader and part, and the share that is enough; empty where all must hold alike."""
        names = [GRADERS.get(type(each), "") for each in self.expectations]
        keys = [
            f"{name} {names[: n + 1].count(name)}" if names.count(name) > 1 else name for n, name in enumerate(names)
        ]
        weights = {key: weight for key, weight in zip(keys, self.weights, strict=True) if weight != 1}
        weighted = weights or any(weight != 1 for weight in self.statements.values())
        rule = {} if threshold is None else {"threshold": threshold}
        return {**rule, "weights": weights} if rule or weighted else {}

    def add_all(self, raw: Any, spot: Spot) -> None:
        if not isinstance(raw, list | None):
            self.folder.problems.append(wrong_type(spot, "a list of assertions", raw))
            return
        listed = ((spot.below(place), each) for place, each in enumerate(raw or []))
        for place, each in self.folder.objects(listed, "an object with `type`"):
            kind = each.get("type")
            if not isinstance(kind, str):
                self.folder.problems.append(wrong_type(place.below("type"), "a text", kind))
            elif kind.endswith("assert-set"):
                if each.get("threshold") is not None:
                    self.folder.lack("threshold of an assert-set", why="all of its assertions must hold")
                self.add_all(each.get("assert"), place.below("assert"))
            else:
                self._add(kind, each, place.below("value"))

    def _add(self, type: str, each: dict[str, Any], spot: Spot) -> None:
        kind, raw = type.removeprefix("not-"), each.get("value")
        try:
            value = fill_all(self._content(raw, kind, spot), self.values)
        except TemplateFailed as error:
            self.folder.problems.append(spot.problem("template", str(error), found=shown(raw)))
            return
        number = finite_number(each.get("weight"))
        weight = 1.0 if number is None else number
        transformed = each.get("transform") or each.get("contextTransform")
        if not transformed and self._add_counterpart(kind, value, type != kind, weight, each):
            return
        self.unchecked.append(f"{type}: {text_of(each.get('value', each.get('threshold', '')))}")
        what = f"assertion `{type}`" + (" with a transform" if each.get("transform") else "")
        why = "has no counterpart here and is not checked"
        if kind in CODE or each.get("transform"):
            why = NOT_TRUSTED if kind in CODE[:2] and not self.languages else IS_CODE
        self.folder.lack(what, why=why)

    def _content(self, value: Any, kind: str, spot: Spot) -> Any:
        """The value itself, or what stands in the file that it names."""
        if not (isinstance(value, str) and value.startswith(FILE_PREFIX)):
            return value
        if kind in CODE:
            return value if kind not in self.languages or self.folder.find(_code_file(value)[0], spot) else None
        path = self.folder.find(value, spot)
        return None if path is None else self.folder.value(path)

    def _add_counterpart(self, kind: str, value: Any, negate: bool, weight: float, each: Mapping[str, Any]) -> bool:
        """Whether the assertion has a counterpart; it is added then."""
        texts = [text_of(each) for each in (value if isinstance(value, list) else [value])]
        judged = kind in JUDGED and (value is not None or "{}" not in JUDGED[kind])
        if judged:
            statements = [JUDGED[kind].format(text) for text in texts]
            self.statements |= {f"This does not hold: {text}" if negate else text: weight for text in statements}
        elif kind in REFERENCES and not negate and value is not None:
            self.references += texts
        else:
            program = _code(kind, value, each, negate) if kind in self.languages else None
            program = PROGRAMS[kind](value, negate) if kind in PROGRAMS else program
            self.expectations += [program] if program is not None else []
            self.weights += [weight] if program is not None else []
            return program is not None
        if each.get("threshold") is not None:
            self.folder.lack("threshold of an assertion that a model grades", why="the judge says yes or no")
        return True


def _code_file(value: str) -> tuple[str, str]:
    """The file and the function of `file://checks/tone.py:polite`."""
    file, _, function = value.removeprefix(FILE_PREFIX).partition(":")
    return file, function


def _code(language: str, value: Any, each: Mapping[str, Any], negate: bool) -> Expectation | None:
    if not isinstance(value, str):
        return None
    named = value.startswith(FILE_PREFIX)
    file, function = _code_file(value) if named else ("", "")
    return CodeCheck(
        language=language,
        code="" if named else value.strip("\n"),
        file=file,
        function=function,
        config=object_in(each.get("config")),
        threshold=finite_number(each.get("threshold")),
        negate=negate,
    )


def _includes(value: Any, negate: bool, *, several: bool = False, **how: bool) -> Expectation | None:
    if several and isinstance(value, str):  # `a, "b, c"`
        fields = [(each[1], each[2]) for each in _FIELD.finditer(value)]
        value = [
            plain.strip() if plain else re.sub(r'\\(["\\])|""', lambda mark: mark[1] or '"', quoted)
            for quoted, plain in fields
        ]
    texts = tuple(text_of(each) for each in (value if isinstance(value, list) else [value]) if each not in (None, ""))
    return expect.IncludedText(values=texts, negate=negate, **how) if texts else None


def _json(value: Any, negate: bool, *, place: JsonPlace) -> Expectation | None:
    if isinstance(value, str):
        try:
            value = load_yaml(value, ToolLoader)[1]
        except yaml.YAMLError:
            return None
    return expect.JsonOutput(schema=value if isinstance(value, dict) else None, place=place, negate=negate)


def _regex(value: Any, negate: bool) -> Expectation | None:
    return expect.TextPattern(patterns=(value,), negate=negate) if isinstance(value, str) and value else None


def _tool_names(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    names = [each.get("name") if isinstance(each, dict) else each for each in values]
    return tuple(map(str, names)) if all(isinstance(name, str) for name in names) else ()


def _tools_used(value: Any, negate: bool) -> Expectation | None:
    names = _tool_names(value)
    if negate and names:
        return expect.ForbiddenTools(names=names)
    return expect.ToolCalls(expected=tuple(ExpectedCall(name=name) for name in names)) if names else None


def _tool_sequence(value: Any, negate: bool) -> Expectation | None:
    names = _tool_names(value.get("steps") if isinstance(value, dict) else value)
    exact = object_in(value).get("mode", "in_order") == "exact"
    return expect.Trajectory(steps=names) if names and not negate and not exact else None


PROGRAMS: Mapping[str, Callable[[Any, bool], Expectation | None]] = {
    "equals": lambda value, negate: equal_output(value, negate=negate),
    "contains": _includes,
    "icontains": partial(_includes, ignore_case=True),
    "contains-any": partial(_includes, several=True),
    "icontains-any": partial(_includes, several=True, ignore_case=True),
    "contains-all": partial(_includes, several=True, every=True),
    "icontains-all": partial(_includes, several=True, every=True, ignore_case=True),
    "starts-with": partial(_includes, at_start=True),
    "regex": _regex,
    "is-json": partial(_json, place=JsonPlace.WHOLE),
    "contains-json": partial(_json, place=JsonPlace.ANYWHERE),
    "trajectory:tool-used": _tools_used,
    "trajectory:tool-sequence": _tool_sequence,
}
OTHERS = (
    "bleu", "classifier", "context-recall", "context-relevance", "cost", "finish-reason", "gleu", "guardrails",
    "is-html", "contains-html", "is-sql", "contains-sql", "is-xml", "contains-xml", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "latency", "levenshtein", "meteor", "moderation",
    "perplexity", "perplexity-score", "pi", "rouge-n", "word-count", "search-rubric", "tool-call-f1",
)  # fmt: skip
"""Types that have no counterpart here; a cell may still name them."""
KNOWN = frozenset((*PROGRAMS, *JUDGED, *REFERENCES, *CODE, *OTHERS))


def parse_cell(text: str) -> dict[str, Any]:
    """The assertion in a cell of a table: `contains: word`, `similar(0.8): text`, or just the text that must come."""
    match = _CELL.fullmatch(text)
    kind = OLDER.get(match["type"], match["type"]) if match else ""
    if match is None or kind not in KNOWN:
        alone = text.removeprefix("not-") in ("is-json", "contains-json", *OTHERS)
        return {"type": text} if alone else {"type": "equals", "value": text}
    value: Any = match["value"] if kind in ("llm-rubric", "is-json", "contains-json") else match["value"].strip()
    found: dict[str, Any] = {"type": f"{match['not'] or ''}{kind}", "value": value}
    return {**found, "threshold": float(match["threshold"])} if match["threshold"] else found
