"""Recorded ADK conversations. `adk-history`: what `adk eval` leaves behind
(`<agent>/.adk/eval_history/*.evalset_result.json`), of ADK 1.x and 2.x, encoded once or twice; each result becomes a
recorded conversation with its reference and ADK's own scores. `adk-session`: one saved session (`*.session.json`); it
has no question of its own, so the case's id is a hash of what the user said.

The tools of an agent are read from its source without running it: the functions in the `tools=[…]` of its agents, with
their signatures and docstrings. If one element cannot be read, none is used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.documents import JsonDocument, load_json
from howsure.dialects.importers.adk_config import criteria_of, rubrics_of
from howsure.dialects.importers.adk_recordings import (
    AdkConversation,
    AdkRecordingReader,
    declarations,
    either_case,
    events_of_invocation,
    expected_calls,
    iso_time,
    text_of,
)
from howsure.dialects.importers.base import ImportOptions, OptionImporter, skipped_case, wrong_kind
from howsure.dialects.importers.raw_logs import calls_by_turn
from howsure.dialects.importers.records import finite_number
from howsure.dialects.lines import open_file
from howsure.dialects.problems import Spot
from howsure.dialects.reference_data import reference_document
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.strict_json import BOM, Json, head_keys, parse_json
from howsure.errors import Problem
from howsure.model.adk_criteria import CRITERIA, RUBRICS
from howsure.model.case import Case
from howsure.model.expectation import ToolCalls

AGENTS = {"Agent", "LlmAgent"}
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array"}
_GIVEN_BY_ADK = {"tool_context", "self", "ctx", "input_stream"}
_SKIPPED_FOLDERS = {".venv", "venv", "__pycache__", "tests", "eval", ".adk"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class _UnreadableTool(Exception):
    """A tool that only running the agent would reveal."""


def declared_tools_of(folder: Path | None) -> tuple[list[Json], list[Problem]]:
    """The tools of all agents in the folder, each once; none, and a warning, where one of them cannot be read."""
    if folder is None:
        return [], []
    functions: dict[str, Function] = {}
    agents: list[tuple[Path, ast.Call]] = []
    for path, tree in _modules(folder):
        functions |= {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
        agents += [(path, node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in AGENTS]
    declarations: dict[str, Json] = {}
    for path, agent in agents:
        for element in _listed(agent, "tools"):
            try:
                declaration = _declaration(element, functions)
            except _UnreadableTool:
                name = ast.unparse(element)[:80]
                message = f"the tool `{name}` cannot be known without running the agent; no tools are declared"
                hint = (
                    "name the functions themselves in `tools`, or convert with histories of ADK 2, which list the tools"
                )
                spot = Spot(str(path), element.lineno)
                return [], [spot.warning("unreadable-tool", message, hint=hint)]
            declarations.setdefault(declaration["name"], declaration)
        if _listed(agent, "sub_agents"):
            declarations.setdefault("transfer_to_agent", _TRANSFER)
    return [{"function_declarations": list(declarations.values())}] if declarations else [], []


_TRANSFER: Json = {
    "name": "transfer_to_agent",
    "description": "Hand over to another agent.",
    "parameters": {"type": "object", "properties": {"agent_name": {"type": "string"}}, "required": ["agent_name"]},
}


def _modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        if not _SKIPPED_FOLDERS & set(path.relative_to(folder).parts):
            with open_file(path) as file:
                source = file.read()
            try:
                yield path, ast.parse(source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue


def _listed(agent: ast.Call, name: str) -> list[ast.expr]:
    """The elements of a list argument; the argument itself where it is not a list."""
    value = next((keyword.value for keyword in agent.keywords if keyword.arg == name), None)
    if value is None:
        return []
    return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]


def _declaration(element: ast.expr, functions: dict[str, Function]) -> Json:
    """The declaration of a function that is named, or wrapped as `FunctionTool(f)`."""
    if isinstance(element, ast.Call):
        wrapped = [*element.args, *(keyword.value for keyword in element.keywords if keyword.arg == "func")]
        if len(wrapped) != 1 or _name(element.func) not in ("FunctionTool", "LongRunningFunctionTool"):
            raise _UnreadableTool
        element = wrapped[0]
    function = functions.get(_name(element))
    if function is None:
        raise _UnreadableTool
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    optional = {one.arg for one in plain[len(plain) - len(arguments.defaults) :]} if arguments.defaults else set()
    optional |= {one.arg for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default}
    types: Json = {}
    for one in (*plain, *arguments.kwonlyargs):
        if one.arg not in _GIVEN_BY_ADK:
            base = one.annotation.value if isinstance(one.annotation, ast.Subscript) else one.annotation
            known = _TYPES.get(_name(base)) if base is not None else None
            types[one.arg] = {"type": known} if known else {}
    required = [name for name in types if name not in optional]
    parameters: Json = {"type": "object", "properties": types, "required": required}
    return {"name": function.name, "description": ast.get_docstring(function) or "", "parameters": parameters}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


ENDING = ".evalset_result.json"
LATEST = "latest"
HISTORY = (".adk", "eval_history")
_HISTORY_FORM = "an ADK eval history (an object with `eval_case_results`, or the JSON text of one)"
_LISTS = ("eval_case_results", "evalCaseResults")
_EPOCH = re.compile(r"_(?P<at>\d{9,}(?:\.\d+)?)\.evalset_result\.json$")


class AdkHistoryImporter(OptionImporter):
    """`.evalset_result.json` files."""

    name = "adk-history"

    def files(self, folder: Path) -> list[Path]:
        """The histories in an agent's folder, oldest first; with the run `latest`, only the newest."""

        def age(path: Path) -> tuple[float, str]:
            named = _EPOCH.search(path.name)
            return (float(named["at"]) if named else 0.0, path.name)

        places = (folder.joinpath(*HISTORY), folder)
        histories = next((files for place in places if (files := sorted(place.glob(f"*{ENDING}"), key=age))), [])
        return histories[-1:] if self._options.runs == (LATEST,) else histories

    def detect(self, path: Path, head: bytes) -> bool:
        text = head.removeprefix(BOM).lstrip()
        if text.startswith(b'"'):
            return path.name.endswith(ENDING) or b'\\"eval_case_results\\"' in text
        keys = head_keys(head)
        if b'"response_candidate_results"' in head:
            return False  # an evaluation of Vertex AI has a list of the same name
        return any(name in keys for name in _LISTS) or (path.name.endswith(ENDING) and "eval_set_result_id" in keys)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        yield from (each for _, each in self.read_results(path))

    def read_results(self, path: Path) -> Iterator[tuple[Json, Case | Problem]]:
        """Each case or problem with the result of ADK that it comes from; an empty one for problems of the file."""
        document = load_json(path)
        if isinstance(document.value, str) and not document.problems:
            # Encoded twice, as older versions did: the inner JSON, all of it on line 1.
            value, problems = parse_json(document.value.encode("utf-8", "surrogatepass"), file=document.spot.file)
            document = JsonDocument(value, document.value, document.spot, problems)
        yield from (({}, problem) for problem in document.problems)
        if document.problems:
            return
        key = next((name for name in _LISTS if isinstance(either_case(document.value, name), list)), "")
        if not key or key not in document.value:
            yield {}, wrong_kind(document.spot, _HISTORY_FORM, document.value)
            return
        folder, parents = self._options.agent_folder, path.resolve().parents
        if folder is None and len(parents) > 2 and (parents[1].name, parents[0].name) == HISTORY:
            folder = parents[2]
        yield from _History(document, self._options, folder).cases(key)


class _History:
    """The results of one file."""

    def __init__(self, document: JsonDocument, options: ImportOptions, folder: Path | None) -> None:
        self._document = document
        self._options = options
        self._recordings = AdkRecordingReader(options)
        self._folder = folder
        history = document.value
        self._run = str(
            either_case(history, "eval_set_result_id") or either_case(history, "eval_set_result_name") or ""
        )
        self._at = either_case(history, "creation_timestamp")

    def cases(self, key: str) -> Iterator[tuple[Json, Case | Problem]]:
        reason = self._unwanted()
        # Histories of ADK 2 tell the tools themselves.
        tells = all(_told_agents(_actual(result)) for result in objects_in(self._document.value[key]))
        declared, problems = declared_tools_of(None if reason or tells else self._folder)
        yield from (({}, problem) for problem in problems)
        for spot, result in self._document.elements(key):
            if not isinstance(result, dict):
                yield {}, wrong_kind(spot, "an object", result)
            elif reason:
                yield result, skipped_case(spot, reason)
            else:
                yield from ((result, each) for each in self._case(result, spot, declared))

    def _unwanted(self) -> str:
        """Why this run is skipped; "" where it is not."""
        options, name = self._options, Path(self._document.spot.file).name
        if (
            options.runs
            and LATEST not in options.runs
            and not any(run in f"{self._run} {name}" for run in options.runs)
        ):
            return f"the run {self._run or name} is none of those asked for ({', '.join(options.runs)})"
        if options.since is not None and not (isinstance(self._at, int | float) and self._at >= options.since):
            return f"the run {self._run or name} is of {iso_time(self._at) or 'an unknown time'}, before --since"
        return ""

    def _case(self, result: Json, spot: Spot, declared: list[Json]) -> Iterator[Case | Problem]:
        actual = _actual(result)
        session = either_case(result, "session_details") or {}
        events = objects_in(either_case(session, "events"))
        if not events:
            events = [event for invocation in actual for event in events_of_invocation(invocation)]
        if not any(event.get("author") == "user" for event in events):
            hint = "ADK keeps no session where the app's name is not that of the agent's folder, or inference failed"
            yield skipped_case(
                spot, f"nothing of the conversation {either_case(result, 'eval_id')!r} was recorded", hint
            )
            return
        yield from self._recordings.read(self._conversation(result, session, events, actual, declared), spot)

    def _conversation(
        self, result: Json, session: Json, events: list[Json], actual: list[Json], declared: list[Json]
    ) -> AdkConversation:
        agents = _told_agents(actual)
        state = either_case(session, "state")
        # `shop_basic_1794716110.99` is a run of `basic` by the app `shop`.
        app, run_of, _ = self._run.partition(f"_{either_case(result, 'eval_set_id')}_")
        invocations = objects_in(either_case(result, "eval_metric_result_per_invocation"))
        expected = objects_in([either_case(one, "expected_invocation") for one in invocations])
        answers = [text_of(either_case(one, "final_response")) for one in actual]
        return AdkConversation(
            events=events,
            question=str(either_case(result, "eval_id") or ""),
            session=str(either_case(result, "session_id") or either_case(session, "id") or ""),
            app=str(either_case(session, "app_name") or (app if run_of else "")),
            user=str(either_case(result, "user_id") or either_case(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            run=self._run,
            at=self._at if isinstance(self._at, int | float) else None,
            answer=answers[-1] if answers and answers[-1] else None,
            declared=declarations([either_case(agent, "tool_declarations") for agent in agents]) or declared,
            instruction=str(either_case(agents[0], "instructions") or "") if agents else "",
            durations=_durations(actual),
            reference=_reference(expected, actual, result),
            columns={f"adk_score.{name}": score for name, score in _scores(result)},
        )


def _actual(result: Any) -> list[Json]:
    """The turns as they were."""
    invocations = objects_in(either_case(result, "eval_metric_result_per_invocation"))
    return objects_in([either_case(one, "actual_invocation") for one in invocations])


def _told_agents(actual: list[Json]) -> list[Json]:
    """The agents with their instructions and tools, as the turns tell them."""
    details = [either_case(either_case(one, "app_details"), "agent_details") for one in actual]
    return [agent for one in details if isinstance(one, dict) for agent in objects_in(list(one.values()))]


def _durations(actual: list[Json]) -> list[Json]:
    """The seconds that each turn took, and the model and the tools in it; none where ADK did not measure them all."""
    names = ("duration", "model_duration", "tool_duration")
    turns = [{name: either_case(one, name) for name in names} for one in actual]
    if not all(isinstance(turn["duration"], int | float) for turn in turns):
        return []
    return [{name: seconds for name, seconds in turn.items() if seconds is not None} for turn in turns]


def _reference(expected: list[Json], actual: list[Json], result: Json) -> Json | None:
    calls = [expected_calls(invocation) for invocation in expected]
    answers = [text_of(either_case(invocation, "final_response")) for invocation in expected]
    reference: Json = {}
    if any(call is not None for call in calls):
        listed_calls = ToolCalls(expected=calls_by_turn([turn or () for turn in calls]))
        reference |= reference_document([listed_calls], {})
    if answers and answers[-1]:
        reference["expected_response"] = answers[-1]
    if len(answers) > 1 and any(answers):
        reference["expected_responses"] = answers
    rubrics = [
        rubric
        for number, one in enumerate(actual, start=1)
        for rubric in rubrics_of(one, number if len(actual) > 1 else None)
    ]
    found = {CRITERIA: criteria_of(list(metric_results(result))), RUBRICS: rubrics}
    return reference | {key: value for key, value in found.items() if value} or None


VERDICTS = {1: True, "PASSED": True, 2: False, "FAILED": False}
"""ADK's words for a verdict."""


def verdict(result: Json) -> bool | None:
    """Whether ADK let it pass; None where it did not say."""
    status = either_case(result, "final_eval_status")
    return VERDICTS.get(status) if isinstance(status, int | float | str) else None


def _scores(result: Json) -> Iterator[tuple[str, float]]:
    """ADK's own scores, and its verdict: 1 passed, 0 failed."""
    passed = verdict(result)
    if passed is not None:
        yield "final_eval_status", float(passed)
    for one in metric_results(result):
        name, score = one["metric_name"], one.get("score")
        if isinstance(name, str) and isinstance(score, int | float) and finite_number(score) is not None:
            yield name, float(score)


def metric_results(result: Json) -> Iterator[Json]:
    """What ADK measured over the whole conversation: name, score, threshold and status of each metric. Older versions
    have a pair of objects for each."""
    overall = either_case(result, "overall_eval_metric_results") or either_case(result, "eval_metric_results")
    for one in overall if isinstance(overall, list) else ():
        parts = objects_in(one) if isinstance(one, list) else objects_in([one])
        known: Json = {}
        for name in ("metric_name", "score", "threshold", "eval_status", "criterion"):
            values = [either_case(part, name) for part in parts]
            known[name] = next((value for value in values if value is not None), None)
        if known["metric_name"]:
            yield known


_SESSION_FORM = "an ADK session (an object with `id` and a list `events`)"


class AdkSessionImporter(OptionImporter):
    """`.session.json` files."""

    name = "adk-session"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        named = path.name.endswith(".session.json")
        return (
            "id" in keys and (named or "events" in keys) and bool({"app_name", "appName", "events", "context"} & keys)
        )

    def read(self, path: Path) -> Iterator[Case | Problem]:
        document = load_json(path)
        session, spot = document.value, document.spot
        if document.problems:
            yield from document.problems
        elif not isinstance(session, dict) or not isinstance(session.get("events"), list):
            yield wrong_kind(spot, _SESSION_FORM, session)
        else:
            yield from self._case(session, spot)

    def _case(self, session: Json, spot: Spot) -> Iterator[Case | Problem]:
        events = objects_in(session["events"])
        at = either_case(session, "last_update_time")
        if not any(event.get("author") == "user" and text_of(event.get("content")).strip() for event in events):
            message, hint = "nobody says anything in this session", "a state alone is no conversation"
            yield spot.below("events").problem("no-user-inputs", message, expected="a user's message", hint=hint)
            return
        if self._options.since is not None and not (isinstance(at, int | float) and at >= self._options.since):
            yield skipped_case(spot, "the session is older than --since")
            return
        state = either_case(session, "state") or session.get("context")
        # The tools and instruction that the model was given, where the session logged its requests.
        requests = [either_case(log, "model_request") for log in objects_in(either_case(session, "event_logs"))]
        configs = objects_in([either_case(request, "config") for request in requests])
        instruction = either_case(configs[0], "system_instruction") if configs else None
        declared = declarations([either_case(config, "tools") for config in configs])
        from_source, problems = declared_tools_of(None if declared else self._options.agent_folder)
        yield from problems
        conversation = AdkConversation(
            events=events,
            session=str(session.get("id") or ""),
            app=str(either_case(session, "app_name") or ""),
            user=str(either_case(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            at=at if isinstance(at, int | float) else None,
            declared=declared or from_source,
            instruction=instruction if isinstance(instruction, str) else "",
        )
        yield from AdkRecordingReader(self._options).read(conversation, spot)
