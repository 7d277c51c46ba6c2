"""Recorded ADK conversations. `adk-history`: what `adk eval` leaves behind
(`<agent>/.adk/eval_history/*.evalset_result.json`), of ADK 1.x and 2.x, encoded once or twice; each result becomes a
recorded conversation with its reference and ADK's own scores. `adk-session`: one saved session (`*.session.json`); it
has no question of its own, so the case's id is a hash of what the user said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from howsure.dialects.importers.adk_tools import declared_tools_of
from howsure.dialects.importers.base import (
    ImportOptions,
    LoadedFile,
    OptionImporter,
    list_elements,
    load_file,
    skipped_case,
    wrong_kind,
)
from howsure.dialects.problems import Spot
from howsure.dialects.reference_data import reference_document
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.strict_json import BOM, Json, head_keys, parse_json
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.model.expectation import ToolCalls

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
        places = (folder.joinpath(*HISTORY), folder)
        histories = next((files for place in places if (files := sorted(place.glob(f"*{ENDING}"), key=_age))), [])
        return histories[-1:] if self._options.runs == (LATEST,) else histories

    def detect(self, path: Path, head: bytes) -> bool:
        text = head.removeprefix(BOM).lstrip()
        if text.startswith(b'"'):
            return path.name.endswith(ENDING) or b'\\"eval_case_results\\"' in text
        keys = head_keys(head)
        return any(name in keys for name in _LISTS) or (path.name.endswith(ENDING) and "eval_set_result_id" in keys)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        loaded = _unwrapped(load_file(path))
        yield from loaded.problems
        if loaded.problems:
            return
        key = next((name for name in _LISTS if isinstance(either_case(loaded.value, name), list)), "")
        if not key or key not in loaded.value:
            yield wrong_kind(loaded.spot, _HISTORY_FORM, loaded.value)
            return
        yield from _History(loaded, self._options, _agent_folder(path, self._options)).cases(key)


def _age(path: Path) -> tuple[float, str]:
    named = _EPOCH.search(path.name)
    return (float(named["at"]) if named else 0.0, path.name)


def _agent_folder(path: Path, options: ImportOptions) -> Path | None:
    if options.agent_folder is not None:
        return options.agent_folder
    parents = path.resolve().parents
    return parents[2] if len(parents) > 2 and (parents[1].name, parents[0].name) == HISTORY else None


def _unwrapped(loaded: LoadedFile) -> LoadedFile:
    """The inner JSON of a file that was encoded twice, as older versions did. All of it is on line 1."""
    if not isinstance(loaded.value, str):
        return loaded
    value, problems = parse_json(loaded.value.encode("utf-8", "surrogatepass"), file=loaded.spot.file)
    return LoadedFile(value=None if problems else value, text=loaded.value, spot=loaded.spot, problems=problems)


class _History:
    """The results of one file."""

    def __init__(self, loaded: LoadedFile, options: ImportOptions, folder: Path | None) -> None:
        self._loaded = loaded
        self._options = options
        self._recordings = AdkRecordingReader(options)
        self._folder = folder
        self._run = str(
            either_case(loaded.value, "eval_set_result_id") or either_case(loaded.value, "eval_set_result_name") or ""
        )
        self._at = either_case(loaded.value, "creation_timestamp")

    def cases(self, key: str) -> Iterator[Case | Problem]:
        reason = self._unwanted()
        source = declared_tools_of(self._folder) if self._folder is not None and not reason else None
        if source is not None:
            yield from source.problems
        for spot, result in list_elements(self._loaded, key):
            if not isinstance(result, dict):
                yield wrong_kind(spot, "an object", result)
            elif reason:
                yield skipped_case(spot, reason)
            else:
                yield from self._case(result, spot, source.declarations if source else [])

    def _unwanted(self) -> str:
        """Why this run is skipped; "" where it is not."""
        options, name = self._options, Path(self._loaded.spot.file).name
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
        invocations = objects_in(either_case(result, "eval_metric_result_per_invocation"))
        actual = objects_in([either_case(one, "actual_invocation") for one in invocations])
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
        agents = [agent for one in actual for agent in _agents(one)]
        state = either_case(session, "state")
        answers = [text_of(either_case(one, "final_response")) for one in actual]
        return AdkConversation(
            events=events,
            question=str(either_case(result, "eval_id") or ""),
            session=str(either_case(result, "session_id") or either_case(session, "id") or ""),
            app=str(either_case(session, "app_name") or _app(self._run, result)),
            user=str(either_case(result, "user_id") or either_case(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            run=self._run,
            at=self._at if isinstance(self._at, int | float) else None,
            answer=answers[-1] if answers and answers[-1] else None,
            declared=declarations([either_case(agent, "tool_declarations") for agent in agents]) or declared,
            instruction=str(either_case(agents[0], "instructions") or "") if agents else "",
            reference=_reference(_expected(result)),
            columns=_columns(result),
        )


def _expected(result: Json) -> list[Json]:
    per_turn = objects_in(either_case(result, "eval_metric_result_per_invocation"))
    return objects_in([either_case(one, "expected_invocation") for one in per_turn])


def _agents(invocation: Json) -> list[Json]:
    details = either_case(either_case(invocation, "app_details"), "agent_details")
    return objects_in(list(details.values())) if isinstance(details, dict) else []


def _app(run: str, result: Json) -> str:
    """`shop_basic_1794716110.99` is a run of `basic` by the app `shop`."""
    middle = f"_{either_case(result, 'eval_set_id')}_"
    return run.partition(middle)[0] if middle in run else ""


def _reference(expected: list[Json]) -> Json | None:
    calls = [expected_calls(invocation) for invocation in expected]
    answers = [text_of(either_case(invocation, "final_response")) for invocation in expected]
    reference: Json = {}
    if any(call is not None for call in calls):
        listed_calls = ToolCalls(expected=tuple(one for turn in calls for one in turn or ()))
        reference |= reference_document([listed_calls], {})
    if answers and answers[-1]:
        reference["expected_response"] = answers[-1]
    if len(answers) > 1 and any(answers):
        reference["expected_responses"] = answers
    return reference or None


def _columns(result: Json) -> Json:
    """ADK's own scores."""
    columns: Json = {}
    overall = either_case(result, "overall_eval_metric_results") or either_case(result, "eval_metric_results")
    for name, score in _scores(overall):
        columns[f"adk_score.{name}"] = score
    return columns


def _scores(overall: Any) -> Iterator[tuple[str, float]]:
    for one in overall if isinstance(overall, list) else ():
        pair = objects_in(one) if isinstance(one, list) else objects_in([one])
        name = next((either_case(part, "metric_name") for part in pair if either_case(part, "metric_name")), None)
        score = next((either_case(part, "score") for part in pair if either_case(part, "score") is not None), None)
        if isinstance(name, str) and isinstance(score, int | float):
            yield name, float(score)


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
        loaded = load_file(path)
        yield from loaded.problems
        if loaded.problems:
            return
        session, spot = loaded.value, loaded.spot
        if not isinstance(session, dict) or not isinstance(session.get("events"), list):
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
        declared, instruction = _model_request(session)
        source = declared_tools_of(self._options.agent_folder) if self._options.agent_folder and not declared else None
        if source is not None:
            yield from source.problems
        conversation = AdkConversation(
            events=events,
            session=str(session.get("id") or ""),
            app=str(either_case(session, "app_name") or ""),
            user=str(either_case(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            at=at if isinstance(at, int | float) else None,
            declared=declared or (source.declarations if source else []),
            instruction=instruction,
        )
        yield from AdkRecordingReader(self._options).read(conversation, spot)


def _model_request(session: Json) -> tuple[list[Json], str]:
    """The tools and instruction that the model was given, where the session logged its requests."""
    requests = [either_case(log, "model_request") for log in objects_in(either_case(session, "event_logs"))]
    configs = objects_in([either_case(request, "config") for request in requests])
    instruction = either_case(configs[0], "system_instruction") if configs else None
    declared = declarations([either_case(config, "tools") for config in configs])
    return declared, instruction if isinstance(instruction, str) else ""
