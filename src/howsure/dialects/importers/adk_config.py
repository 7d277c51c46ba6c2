"""The settings of `adk eval` beside an eval set: the criteria of a `test_config.json`, rubrics and personas, in the
shapes that cases keep them in (model/adk_criteria.py), and what cases have no place for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from howsure.dialects.documents import load_json
from howsure.dialects.importers.adk_recordings import calls_in, either_case, parts_of
from howsure.dialects.importers.base import wrong_kind
from howsure.dialects.problems import Spot, did_you_mean, shown
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.strict_json import Json
from howsure.errors import Problem
from howsure.model.adk_criteria import NAMES, TrajectoryMatch

BESIDE = "test_config.json"
_SETTINGS = ("threshold", "match_type", "ignore_args", "rubrics")
_LOST_SETTINGS = {
    "judge_model_options": "the judge is chosen with --judge, and its votes in a panel",
    "stop_signal": "the simulated user here leaves without a word of its own",
}
_LOST_CONFIG = {
    "user_simulator_config": "the simulated user is chosen with --simulator",
    "live_model_config": "there are no calls by voice",
}
_CASE = (
    *("eval_id", "conversation", "conversation_scenario", "session_input", "rubrics", "final_session_state"),
    "creation_timestamp",
)
_SESSION = ("app_name", "state")
_TEXT = ("text", "thought_signature", "thoughtSignature")
_LOST_SESSION = {
    "user_id": "each case has a user of its own",
    "session_id": "each case has a session of its own",
}
NO_PLACE = "the format has no place for it"
PERSONAS = {
    "EXPERT": "An expert who gives every detail at once, brief and businesslike; corrects a mistake once.",
    "NOVICE": "A newcomer, friendly and patient, who gives details only when asked and cannot correct the assistant.",
    "EVALUATOR": "A tester of the assistant, who states each wish with its details and does not help with mistakes.",
}
"""ADK's built-in personas, in our words."""


class EvalConfig(Struct, kw_only=True):
    """The criteria of a configuration, what has no place, and what is wrong with it."""

    criteria: Json = field(default_factory=dict)
    lost: list[tuple[str, str]] = field(default_factory=list)
    problems: Sequence[Problem] = ()


def read_config(eval_set: Path, named: Path | None) -> EvalConfig:
    """The named file, else the one beside the eval set."""
    path = named or eval_set.parent / BESIDE
    if named is None and not path.is_file():
        return EvalConfig()
    document = load_json(path)
    if document.problems:
        return EvalConfig(problems=document.problems)
    declared = document.value.get("criteria", {}) if isinstance(document.value, dict) else document.value
    if not isinstance(declared, dict):
        return EvalConfig(problems=[wrong_kind(document.spot.below("criteria"), "criteria by name", declared)])
    custom = either_case(document.value, "custom_metrics") or {}
    config = EvalConfig(lost=[(key, why) for key, why in _LOST_CONFIG.items() if either_case(document.value, key)])
    problems: list[Problem] = []
    for name, value in declared.items():
        at = document.spot.below("criteria", name)
        if name in custom:
            config.lost.append((f"criteria.{name}", "a function of yours; register it as a grader of a plug-in"))
        elif name not in NAMES:
            message, hint = f"{shown(name)} is no criterion of ADK that has a threshold", did_you_mean(name, NAMES)
            problems.append(at.problem("unknown-name", message, expected=", ".join(NAMES), found=name, hint=hint))
        else:
            problems += _read_criterion(name, value, at, config)
    config.problems = problems
    return config


def _read_criterion(name: str, value: Any, at: Spot, config: EvalConfig) -> Iterator[Problem]:
    settings = value if isinstance(value, dict) else {"threshold": value}
    threshold = settings.get("threshold")
    if not isinstance(threshold, int | float) or isinstance(threshold, bool):
        yield wrong_kind(at.below("threshold"), "a number", threshold)
        return
    criterion: Json = {"threshold": threshold}
    if (match := either_case(settings, "match_type")) is not None:
        named = _match_name(match)
        if named is None:
            known = ", ".join(each.value for each in TrajectoryMatch)
            yield at.below("match_type").problem(
                "unknown-value", "is no match type", expected=known, found=shown(match)
            )
            return
        criterion["match_type"] = named
    if either_case(settings, "ignore_args"):
        criterion["ignore_args"] = True
    if rubrics := rubrics_of(settings):
        criterion["rubrics"] = rubrics
    config.criteria[name] = threshold if len(criterion) == 1 else criterion
    for key in map(_snake_case, settings):
        if key not in _SETTINGS:
            config.lost.append((f"criteria.{name}.{key}", _LOST_SETTINGS.get(key, "no grader here reads it")))


def _snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()


def lost_fields(element: Any) -> Iterator[tuple[str, str]]:
    """What a case does not carry of its own fields, and of those of its session."""
    for key, value in element.items():
        if value and _snake_case(key) not in _CASE:
            yield key, NO_PLACE
    session = either_case(element, "session_input")
    for key, value in session.items() if isinstance(session, dict) else ():
        if value and (name := _snake_case(key)) not in _SESSION:
            yield f"session_input.{name}", _LOST_SESSION.get(name, NO_PLACE)


def lost_parts(element: Any) -> Iterator[tuple[str, str]]:
    """What a case does not carry of its turns."""
    for turn in objects_in(either_case(element, "conversation")):
        if _holds_more_than_text(either_case(turn, "user_content")):
            yield "conversation.user_content", "only text is sent to the agent"
        if _holds_more_than_text(either_case(turn, "final_response")):
            yield "conversation.final_response", "only the text of an expected answer is compared, without thoughts"
        data = either_case(turn, "intermediate_data")
        events = objects_in(either_case(data, "invocation_events"))
        responses = [response for event in events for response in calls_in(event.get("content"), "function_response")]
        if responses or either_case(data, "tool_responses"):
            yield "conversation.intermediate_data", "what expected calls gave back is compared by no criterion"


def _holds_more_than_text(content: Any) -> bool:
    return any(value for part in parts_of(content) for key, value in part.items() if key not in _TEXT)


def criteria_of(metrics: Sequence[Json]) -> Json:
    """The criteria under which ADK measured, from its own results."""
    config = EvalConfig()
    for each in metrics:
        declared = each.get("criterion") if isinstance(each.get("criterion"), dict) else each.get("threshold")
        if each["metric_name"] in NAMES and declared is not None:
            list(_read_criterion(each["metric_name"], declared, Spot(""), config))
    return config.criteria


def _match_name(match: Any) -> str | None:
    """The name of a match type, which ADK takes as a number too, and in any case."""
    names = [each.value for each in TrajectoryMatch]
    if type(match) is int:
        return names[match] if 0 <= match < len(names) else None
    name = str(match).strip().upper().replace("-", "_").replace(" ", "_")
    return name if name in names else None


def rubrics_of(holder: Any, turn: int | None = None) -> list[Json]:
    """The rubrics of a criterion, a case or a turn."""
    rubrics: list[Json] = []
    for each in objects_in(either_case(holder, "rubrics")):
        text = either_case(either_case(each, "rubric_content"), "text_property")
        if isinstance(text, str) and text.strip():
            rubric = {"rubric_id": str(either_case(each, "rubric_id") or f"rubric {len(rubrics) + 1}"), "text": text}
            rubric |= {key: value for key in ("type", "description") if isinstance(value := each.get(key), str)}
            rubrics.append(rubric | ({} if turn is None else {"turn": turn}))
    return rubrics


def persona_of(declared: Any) -> tuple[str, list[tuple[str, str]]]:
    """The words of a persona ("" where none is declared), and what of it is lost."""
    if not isinstance(declared, dict):
        name = declared if isinstance(declared, str) else ""
        return PERSONAS.get(name.strip().upper(), name), []
    behaviors = objects_in(declared.get("behaviors"))
    instructions = [
        f"- {text}"
        for each in behaviors
        for text in either_case(each, "behavior_instructions") or ()
        if isinstance(text, str)
    ]
    lost = [("user_persona.behaviors.violation_rubrics", "simulator_fidelity has rules of its own")]
    has_rubrics = any(either_case(each, "violation_rubrics") for each in behaviors)
    return "\n".join([str(declared.get("description") or ""), *instructions]).strip(), lost if has_rubrics else []
