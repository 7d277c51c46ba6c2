"""Results of promptfoo: `output.json`, `.yaml` and `.jsonl`, exported evals, and the newest eval of its database. A
test is a case by its variables, a prompt with a provider is a candidate, the same test again is a repeat. The verdict
is promptfoo's own."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import yaml

from howsure.config import MAX_YAML_VALUES, load_yaml
from howsure.dialects.importers.base import text_hash
from howsure.dialects.strict_json import Json, head_keys
from howsure.dialects.tool_results import samples
from howsure.dialects.tool_results.base import ResultsRecord
from howsure.dialects.tool_results.samples import SampleRecord, number_score, read_records, read_time, show_value
from howsure.dialects.tool_results.streams import (
    LARGEST_VALUE,
    container_fault,
    json_document,
    json_lines,
    json_value,
    read_head,
)
from howsure.model.case import SingleTurn
from howsure.model.expectation import Criteria, Criterion, Expectation, text_id
from howsure.model.plain_values import MAX_DEPTH
from howsure.model.score import UNIT, Grade, Score
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun
from howsure.model.transcript import Message, Role

TOOL = "promptfoo"
ERROR = 2
"""`failureReason` of a test that broke; 1 is an assertion that failed."""
SQLITE = b"SQLite format 3\0"
LARGEST_YAML = 1 << 26
VALUES_A_BYTE = 10
"""How many values the aliases of a YAML file may stand for, for each of its bytes."""
_MARKS = (b'"gradingResult"', b'"promptIdx"', b'"testCase"', b'"prompts"', b'"display"')
_STATS = {"successes": Statistic.PASSED, "failures": Statistic.FAILED, "errors": Statistic.ERRORED}
_ENCODED = ("testCase", "prompt", "provider", "response", "gradingResult", "namedScores")
"""What its database holds as JSON texts, by the names that its files have."""
_MEASURES = ("latencyMs", "cost")
_TOP_KEYS = frozenset((
    "evalId", "results", "config", "shareableUrl", "metadata", "vars", "runtimeOptions", "version", "createdAt",
    "author", "id", "prompts", "datasetId", "traces", "stats", "table", "timestamp", "_resultsLoaded", "persisted",
))  # fmt: skip
_RESULTS = re.compile(rb'"results"\s*:\s*([\[{])')
"""Version 1 has its rows at the top, and so has an eval that was printed from code."""


class PromptfooResultsReader:
    """What promptfoo writes with `--output`, exports, and keeps in its database."""

    name = TOOL

    def detect(self, path: Path, head: bytes) -> bool:
        if head.startswith(SQLITE):
            return b"eval_results" in head or path.name == "promptfoo.db"
        if _is_yaml(path):
            marked = head.startswith(b"evalId:") or b"\n  stats:" in head or b"promptIdx" in head
            return marked and b"\nresults:" in b"\n" + head
        keys = set(head_keys(head))
        return {"success", "vars", "prompt", "provider"} <= keys or (
            "results" in keys and keys <= _TOP_KEYS and any(mark in head for mark in _MARKS)
        )

    def read(self, path: Path) -> Iterator[ResultsRecord]:
        head = read_head(path)
        notes: list[str] = []
        if head.startswith(SQLITE):
            about: Json = {}
            rows = _database_rows(path, about, notes)
        elif _is_yaml(path):
            about = _load_yaml(path)
            rows = ((f"results[{at}]", each) for at, each in enumerate(about["results"].pop("results", ())))
        elif "success" in head_keys(head):
            about, rows = {}, ((f"line {line}", each) for line, each in json_lines(path))
        else:
            listed = _RESULTS.search(head)
            at = ("results",) if listed and listed[1] == b"[" else ("results", "results")
            with json_document(path, *at) as stream:
                yield from _read_eval(stream.rest, stream.rows(), notes)
            if not stream.found or "_resultsLoaded" in stream.rest:
                message = f"there is no list `{'.'.join(at)}`: this is not a result of promptfoo"
                if stream.found:
                    message = "the eval was saved without its rows, which are in promptfoo's database"
                hint = "write one with `promptfoo eval -o output.json`"
                raise container_fault(path, "missing-field", message, hint=hint)
            return
        yield from _read_eval(about, rows, notes)


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml")


def _read_eval(about: Json, rows: Iterator[tuple[str, Any]], notes: list[str]) -> Iterator[ResultsRecord]:
    """The tests and what is said of them all; `about` fills while the rows are read, its prompts before the first."""
    tests = PromptfooTests(about)
    yield from read_records(rows, tests.sample)
    results, config, made = (about.get(key) or {} for key in ("results", "config", "metadata"))
    results = results or about
    stats = results.get("stats") or {}
    counts = {key: stats[key] for key in _STATS if isinstance(stats.get(key), int)}
    yield ToolRun(
        tool=TOOL,
        version=str(made.get("promptfooVersion") or ""),
        name=str(config.get("description") or about.get("evalId") or ""),
        samples=sum(counts.values()) if counts else None,
        models=tests.models,
        started_at=read_time(results.get("timestamp")),
        aggregates=tuple(
            ToolAggregate(name=key, value=float(value), statistic=_STATS[key]) for key, value in counts.items()
        ),
        notes=tuple(notes),
    )


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_depth(text: str) -> None:
    """YAMLError for a document that is nested deeper than any that is stored: what is written in C would end the
    process over it."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"it is nested more than {MAX_DEPTH} deep")


def _load_yaml(path: Path) -> Json:
    if path.stat().st_size > LARGEST_YAML:
        message = f"YAML of more than {LARGEST_YAML:,} bytes is not read"
        hint = "write it as output.json, which is read a row at a time"
        raise container_fault(path, "yaml-too-large", message, hint=hint)
    try:
        most, text = max(MAX_YAML_VALUES, VALUES_A_BYTE * path.stat().st_size), path.read_text("utf-8-sig")
        _check_depth(text)
        _, document = load_yaml(text, _LOADER, most)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = getattr(error, "problem_mark", None)
        message = f"not valid YAML: {getattr(error, 'problem', None) or error}"
        raise container_fault(path, "yaml-syntax", message, line=place.line + 1 if place else None) from error
    if not isinstance(document, dict) or not isinstance(document.get("results"), dict):
        raise container_fault(path, "missing-field", "there is no object `results`: this is not a result of promptfoo")
    return document


_PLAIN_TABLES = """SELECT count(*) FROM sqlite_master m WHERE type = 'table' AND name IN ('evals', 'eval_results')
AND sql NOT LIKE 'create virtual%' AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(m.name) WHERE hidden)"""
"""What a database computes when it is read (views, generated columns) may never end."""


def _database_rows(path: Path, about: Json, notes: list[str]) -> Iterator[tuple[str, Any]]:
    """The rows of the newest eval; `about` is filled as a file would have it."""
    newest = "SELECT id, description, config, prompts, created_at FROM evals ORDER BY created_at DESC, rowid DESC"
    tests = "SELECT * FROM eval_results WHERE eval_id = ? ORDER BY test_idx, prompt_idx"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
            if database.execute(_PLAIN_TABLES).fetchone() != (2,):
                message = "`evals` and `eval_results` are no plain tables: this is no database of promptfoo"
                raise container_fault(path, "wrong-kind", message)
            found, many = database.execute(newest).fetchone(), database.execute("SELECT count(*) FROM evals").fetchone()
            if found is None:
                raise container_fault(path, "no-evals", "there is no eval in this database")
            id, description, config, prompts, created = found
            described = description or json_value((config or "{}").encode()).get("description")
            about |= {"evalId": id, "config": {"description": described}}
            about["results"] = {"timestamp": created, "prompts": json_value((prompts or "null").encode())}
            if many[0] > 1:
                other = "`promptfoo export eval ID` writes another"
                notes.append(f"The database holds {many[0]:,} evals and this is the newest, {id}: {other}.")
            rows = database.execute(tests, (id,))
            names = [re.sub(r"_(\w)", lambda found: found[1].upper(), column) for column, *_ in rows.description]
            for at, row in enumerate(rows, start=1):
                yield f"result {at}", _row(dict(zip(names, row, strict=True)))
    except (sqlite3.Error, ValueError) as error:
        raise container_fault(path, "broken-database", f"not a whole database of promptfoo: {error}") from error


def _row(row: Json) -> Json | ValueError:
    try:
        return row | {name: json_value(row[name].encode()) for name in _ENCODED if row[name]}
    except ValueError as error:
        return error


class PromptfooTests:
    """The tests of one eval as they are met: ids of cases and names of candidates."""

    def __init__(self, about: Json) -> None:
        self._about = about
        self._variants: dict[str, dict[str, str]] = {}
        self.models: dict[str, str] = {}

    def sample(self, row: Json) -> SampleRecord:
        test, grading = row.get("testCase") or {}, row.get("gradingResult") or {}
        values, error = _variables(row.get("vars") or {}, test.get("vars") or {}), row.get("error") or ""
        asserts = [each for each in test.get("assert") or () if isinstance(each, dict)]
        response, prompt = row.get("response") or {}, row.get("prompt") or {}
        response = response if isinstance(response, dict) else {"output": response}
        said, used = response.get("output"), response.get("tokenUsage") or {}
        broke = row.get("failureReason") == ERROR
        if row.get("failureReason") is None:  # before version 3; in version 1 the reason of a failure is an error, too
            broke = bool(error and not grading and said is None)
        latency, cost = (row.get(name) if isinstance(row.get(name), int | float) else None for name in _MEASURES)
        return SampleRecord(
            id=self._id(values, [asserts, test.get("description"), test.get("threshold")]),
            name=str(test.get("description") or ""),
            asked=SingleTurn(message=_variables_text(values)),
            expected=_expectations(asserts),
            messages=_conversation(prompt.get("raw"), said),
            said=None if said is None else show_value(said),
            grades=_grades(row, grading),
            passed=bool(row["success"]),
            reason=str(grading.get("reason") or error or ""),
            error=(error or "the test errored") if broke else "",
            candidate=self._candidate(row.get("provider") or {}, prompt),
            seconds=None if latency is None else latency / 1000,
            usage=samples.token_usage(used.get("prompt"), used.get("completion"), cost_usd=cost),
            metadata={"vars": values, **(test.get("metadata") or {})},
        )

    def _id(self, values: Json, about: list[Any]) -> str:
        """As the dialect of its configurations names a test: the same variables with other assertions are another."""
        key = text_hash([msgspec.json.encode(values, order="deterministic").decode()])
        variants = self._variants.setdefault(key, {})
        return variants.setdefault(
            samples.content_id(*about), f"test_{key}" + (f"-{len(variants) + 1}" if variants else "")
        )

    def _candidate(self, provider: Any, prompt: Json) -> str:
        listed = [each for each in (self._about.get("results") or {}).get("prompts") or () if isinstance(each, dict)]
        one_prompt, one_provider = (len({str(each.get(name)) for each in listed}) == 1 for name in ("raw", "provider"))
        known = {"id": provider} if isinstance(provider, str) else provider
        who = str(known.get("label") or known.get("id") or "")
        asked = str(prompt.get("label") or prompt.get("display") or prompt.get("raw") or "")
        name = who if one_prompt else asked if one_provider or not who else f"{asked} × {who}"
        name = " ".join(name.replace("\0", "").split())[:120]
        self.models.setdefault(name, str(known.get("id") or ""))
        return name


def _variables(filled: Json, given: Json) -> Json:
    """The variables of a test as they were filled in, without those that promptfoo adds while it runs."""
    return {name: value for name, value in filled.items() if name in given or not given} or given


def _variables_text(values: Json) -> str:
    """What the case asks, whatever the prompt around it: its one variable, or all of them by name."""
    texts = {key: show_value(each) for key, each in values.items()}
    return next(iter(texts.values())) if len(texts) == 1 else "\n".join(f"{key}: {text}" for key, text in texts.items())


def _expectations(asserts: list[Json]) -> tuple[Expectation, ...]:
    """What was to hold, for our own graders: only rubrics are statements in words."""
    rubrics = [each.get("value") for each in asserts if each.get("type") == "llm-rubric"]
    texts = dict.fromkeys(text for text in rubrics if isinstance(text, str))
    known = tuple(Criterion(id=text_id(text), text=text) for text in texts)
    return (Criteria(criteria=known),) if known else ()


def _conversation(raw: Any, said: Any) -> tuple[Message, ...]:
    """The prompt as it was sent, and what came back: a text, or the calls of tools."""
    if said is None:
        return ()
    asked = samples.read_chat(raw) or ((Message(role=Role.USER, content=raw),) if raw and isinstance(raw, str) else ())
    calls = [each for each in said if isinstance(each, dict) and "function" in each] if isinstance(said, list) else []
    answer: Json = {"role": "assistant", "content": "" if calls else show_value(said), "tool_calls": calls}
    return (*asked, *samples.read_messages([answer]))


def _grades(row: Json, grading: Json) -> Iterator[Grade]:
    """One for each assertion, under its metric or type; then named scores that no assertion has, and the whole."""
    seen: Counter[str] = Counter()
    for each in grading.get("componentResults") or ():
        assertion = each.get("assertion") or {}
        name, giver = str(assertion.get("metric") or assertion.get("type") or "assertion"), assertion.get("type")
        seen[name] += 1
        score = number_score(
            name if seen[name] == 1 else f"{name} #{seen[name]}",
            each.get("score") or 0,
            giver=f"{TOOL}:{giver or 'assertion'}",
            pass_mark=1.0,
            reason=str(each.get("reason") or ""),
            details={"assertion": assertion},
        )
        yield msgspec.structs.replace(score, stated_pass=bool(each["pass"])) if isinstance(score, Score) else score
    for name, value in (row.get("namedScores") or {}).items():
        if name not in seen and isinstance(value, int | float):
            yield number_score(name, value, giver=TOOL)
    if isinstance(row.get("score"), int | float):
        yield number_score("score", row["score"], giver=TOOL, scale=UNIT, reason=str(grading.get("reason") or ""))
