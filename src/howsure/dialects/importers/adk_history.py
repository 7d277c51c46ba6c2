"""`adk-history`: what `adk eval` leaves behind (`<agent>/.adk/eval_history/*.evalset_result.json`), of ADK 1.x and 2.x,
encoded once or twice. Each result becomes a recorded conversation with its reference and ADK's own scores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.importers.adk_recordings import Conversation, Recordings, declarations, moment
from howsure.dialects.importers.adk_shapes import events_of_invocation, expected_calls, text_of, told
from howsure.dialects.importers.adk_tools import declared_in
from howsure.dialects.importers.base import Options, WithOptions, skipped
from howsure.dialects.importers.loading import Loaded, listed, load, not_this
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.reference_data import reference_document
from howsure.dialects.simulation_talk import objects_in
from howsure.dialects.strict_json import BOM, parse
from howsure.errors import Problem
from howsure.model.case import Case
from howsure.model.expectation import ToolCalls

ENDING = ".evalset_result.json"
LATEST = "latest"
HISTORY = (".adk", "eval_history")
_WANTED = "an ADK eval history (an object with `eval_case_results`, or the JSON text of one)"
_LISTS = ("eval_case_results", "evalCaseResults")
_EPOCH = re.compile(r"_(?P<at>\d{9,}(?:\.\d+)?)\.evalset_result\.json$")


class AdkHistory(WithOptions):
    """`.evalset_result.json` files."""

    name = "adk-history"

    def files(self, folder: Path) -> list[Path]:
        """The histories of an agent's folder, oldest first; with the run `latest`, the newest alone."""
        places = (folder.joinpath(*HISTORY), folder)
        found = next((files for place in places if (files := sorted(place.glob(f"*{ENDING}"), key=_age))), [])
        return found[-1:] if self._options.runs == (LATEST,) else found

    def detect(self, path: Path, head: bytes) -> bool:
        text = head.removeprefix(BOM).lstrip()
        if text.startswith(b'"'):
            return path.name.endswith(ENDING) or b'\\"eval_case_results\\"' in text
        keys = head_keys(head)
        return any(name in keys for name in _LISTS) or (path.name.endswith(ENDING) and "eval_set_result_id" in keys)

    def read(self, path: Path) -> Iterator[Case | Problem]:
        loaded = _unwrapped(load(path))
        yield from loaded.problems
        if loaded.problems:
            return
        key = next((name for name in _LISTS if isinstance(told(loaded.value, name), list)), "")
        if not key or key not in loaded.value:
            yield not_this(loaded.spot, _WANTED, loaded.value)
            return
        yield from _History(loaded, self._options, _agent_folder(path, self._options)).cases(key)


def _age(path: Path) -> tuple[float, str]:
    named = _EPOCH.search(path.name)
    return (float(named["at"]) if named else 0.0, path.name)


def _agent_folder(path: Path, options: Options) -> Path | None:
    if options.agent_folder is not None:
        return options.agent_folder
    parents = path.resolve().parents
    return parents[2] if len(parents) > 2 and (parents[1].name, parents[0].name) == HISTORY else None


def _unwrapped(loaded: Loaded) -> Loaded:
    """Older versions wrote a JSON text that holds the JSON. Everything in it is on line 1."""
    if not isinstance(loaded.value, str):
        return loaded
    value, problems = parse(loaded.value.encode("utf-8", "surrogatepass"), file=loaded.spot.file)
    return Loaded(value=None if problems else value, text=loaded.value, spot=loaded.spot, problems=problems)


class _History:
    """The results of one file."""

    def __init__(self, loaded: Loaded, options: Options, folder: Path | None) -> None:
        self._loaded = loaded
        self._options = options
        self._recordings = Recordings(options)
        self._folder = folder
        self._run = str(told(loaded.value, "eval_set_result_id") or told(loaded.value, "eval_set_result_name") or "")
        self._at = told(loaded.value, "creation_timestamp")

    def cases(self, key: str) -> Iterator[Case | Problem]:
        reason = self._unwanted()
        source = declared_in(self._folder) if self._folder is not None and not reason else None
        if source is not None:
            yield from source.problems
        for spot, result in listed(self._loaded, key):
            if not isinstance(result, dict):
                yield not_this(spot, "an object", result)
            elif reason:
                yield skipped(spot, reason)
            else:
                yield from self._case(result, spot, source.declarations if source else [])

    def _unwanted(self) -> str:
        """Why this run is not to be read; "" where it is."""
        options, name = self._options, Path(self._loaded.spot.file).name
        if (
            options.runs
            and LATEST not in options.runs
            and not any(run in f"{self._run} {name}" for run in options.runs)
        ):
            return f"the run {self._run or name} is none of those asked for ({', '.join(options.runs)})"
        if options.since is not None and not (isinstance(self._at, int | float) and self._at >= options.since):
            return f"the run {self._run or name} is of {moment(self._at) or 'an unknown time'}, before --since"
        return ""

    def _case(self, result: Json, spot: Spot, declared: list[Json]) -> Iterator[Case | Problem]:
        invocations = objects_in(told(result, "eval_metric_result_per_invocation"))
        actual = objects_in([told(one, "actual_invocation") for one in invocations])
        session = told(result, "session_details") or {}
        events = objects_in(told(session, "events"))
        if not events:
            events = [event for invocation in actual for event in events_of_invocation(invocation)]
        if not any(event.get("author") == "user" for event in events):
            hint = "ADK keeps no session where the app's name is not that of the agent's folder, or inference failed"
            yield skipped(spot, f"nothing of the conversation {told(result, 'eval_id')!r} was recorded", hint)
            return
        yield from self._recordings.read(self._conversation(result, session, events, actual, declared), spot)

    def _conversation(
        self, result: Json, session: Json, events: list[Json], actual: list[Json], declared: list[Json]
    ) -> Conversation:
        agents = [agent for one in actual for agent in _agents(one)]
        state = told(session, "state")
        answers = [text_of(told(one, "final_response")) for one in actual]
        return Conversation(
            events=events,
            question=str(told(result, "eval_id") or ""),
            session=str(told(result, "session_id") or told(session, "id") or ""),
            app=str(told(session, "app_name") or _app(self._run, result)),
            user=str(told(result, "user_id") or told(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            run=self._run,
            at=self._at if isinstance(self._at, int | float) else None,
            answer=answers[-1] if answers and answers[-1] else None,
            declared=declarations([told(agent, "tool_declarations") for agent in agents]) or declared,
            instruction=str(told(agents[0], "instructions") or "") if agents else "",
            reference=_reference(_expected(result)),
            columns=_columns(result),
        )


def _expected(result: Json) -> list[Json]:
    per_turn = objects_in(told(result, "eval_metric_result_per_invocation"))
    return objects_in([told(one, "expected_invocation") for one in per_turn])


def _agents(invocation: Json) -> list[Json]:
    details = told(told(invocation, "app_details"), "agent_details")
    return objects_in(list(details.values())) if isinstance(details, dict) else []


def _app(run: str, result: Json) -> str:
    """`shop_basic_1794716110.99` is a run of `basic` by the app `shop`."""
    middle = f"_{told(result, 'eval_set_id')}_"
    return run.partition(middle)[0] if middle in run else ""


def _reference(expected: list[Json]) -> Json | None:
    calls = [expected_calls(invocation) for invocation in expected]
    answers = [text_of(told(invocation, "final_response")) for invocation in expected]
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
    overall = told(result, "overall_eval_metric_results") or told(result, "eval_metric_results")
    for name, score in _scores(overall):
        columns[f"adk_score.{name}"] = score
    return columns


def _scores(overall: Any) -> Iterator[tuple[str, float]]:
    for one in overall if isinstance(overall, list) else ():
        pair = objects_in(one) if isinstance(one, list) else objects_in([one])
        name = next((told(part, "metric_name") for part in pair if told(part, "metric_name")), None)
        score = next((told(part, "score") for part in pair if told(part, "score") is not None), None)
        if isinstance(name, str) and isinstance(score, int | float):
            yield name, float(score)
