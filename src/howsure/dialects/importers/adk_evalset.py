"""`adk-evalset`: eval sets of the Agent Development Kit, with `eval_cases` or as the older lists (named conversations,
or the turns of one). Each eval case becomes a golden question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from howsure.dialects.documents import load_json
from howsure.dialects.importers.adk_recordings import either_case, expected_calls, text_of, without_private_keys
from howsure.dialects.importers.base import HashIds, ImportOptions, OptionImporter, is_list, wrong_kind
from howsure.dialects.importers.raw_logs import (
    PREFIX,
    LoggedTurn,
    QuestionSource,
    RawLogImporter,
    hash_id,
    question,
    turn_of,
    turn_problems,
)
from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import BOM, Json, head_keys
from howsure.dialects.test_set_scenarios import split_plan, step_of
from howsure.errors import Level, Problem
from howsure.model.case import Case, Scenario

_FORMS = "an object with `eval_cases`, or a list of named conversations (`name`, `data`) or of turns (`query`)"
SOMEBODY = "A user of the agent."


class AdkEvalSetImporter(OptionImporter):
    """JSON with `eval_cases`, or the older lists."""

    name = "adk-evalset"

    def detect(self, path: Path, head: bytes) -> bool:
        if not is_list(head):
            keys = head_keys(head)
            return "eval_cases" in keys or "evalCases" in keys
        return {"name", "data"} <= set(head_keys(head.removeprefix(BOM).lstrip()[1:].lstrip()))

    def read(self, path: Path) -> Iterator[Case | Problem]:
        document = load_json(path)
        yield from document.problems
        if document.problems:
            return
        value, reader = document.value, _EvalSetReader(path.name, self._options)
        if isinstance(value, dict):
            key = next((key for key in ("eval_cases", "evalCases") if isinstance(value.get(key), list)), None)
        else:
            key = "" if isinstance(value, list) and value else None
        if key is None:
            yield wrong_kind(document.spot, _FORMS, value)
        elif not key and not (isinstance(value[0], dict) and "data" in value[0]):
            yield from RawLogImporter(self._options).read(path)  # the turns of one conversation
        else:
            for spot, element in document.elements(key):
                if isinstance(element, dict):
                    yield from (reader.case if key else reader.conversation)(element, spot)
                else:
                    yield wrong_kind(spot, "an object", element)


class _EvalSetReader:
    def __init__(self, file: str, options: ImportOptions) -> None:
        self._file = file
        self._options = options
        self._ids = HashIds(options.prefix or PREFIX)
        self._names: dict[str, int | None] = {}

    def case(self, element: Json, spot: Spot) -> Iterator[Case | Problem]:
        turns, problems = _invocations(element, spot)
        scenario = either_case(element, "conversation_scenario")
        if not turns and isinstance(scenario, dict):
            yield from self._scenario(element, scenario, spot)
            return
        if not turns and not problems:
            at = spot.below("conversation")
            problems = [at.problem("missing-field", "there is no turn in this case", expected="a list of turns")]
        yield from problems
        if not problems:
            yield from self._made(str(either_case(element, "eval_id") or ""), turns, self._source(element), spot)

    def conversation(self, element: Json, spot: Spot) -> Iterator[Case | Problem]:
        data = element.get("data")
        if not isinstance(data, list) or not data:
            yield wrong_kind(spot.below("data"), "a list of turns", data)
            return
        problems = [fault for place, one in enumerate(data) for fault in turn_problems(one, spot.below("data", place))]
        yield from problems
        if not any(problem.level is Level.ERROR for problem in problems):
            source = self._source({"session_input": element.get("initial_session") or {}})
            yield from self._made(str(element.get("name") or ""), [turn_of(one) for one in data], source, spot)

    def _scenario(self, element: Json, scenario: Json, spot: Spot) -> Iterator[Case | Problem]:
        opening, plan = either_case(scenario, "starting_prompt"), either_case(scenario, "conversation_plan")
        if not isinstance(opening, str) or not opening.strip():
            at = spot.below("conversation_scenario", "starting_prompt")
            yield at.problem("missing-field", "`starting_prompt` is required", expected="starting_prompt")
            return
        steps = tuple(map(step_of, split_plan(plan))) if isinstance(plan, str) and plan.strip() else ()
        scenario_input = Scenario(persona=SOMEBODY, initial_message=opening, plan=steps)
        id = self._named(str(either_case(element, "eval_id") or ""), [LoggedTurn(query=opening)])
        yield question(id, [], self._source(element), self._options, scenario_input)

    def _made(self, name: str, turns: list[LoggedTurn], source: QuestionSource, spot: Spot) -> Iterator[Case | Problem]:
        if self._options.per_turn:
            yield from (question(hash_id(self._ids, [turn]), [turn], source, self._options) for turn in turns)
            return
        if name and self._names.setdefault(name, spot.line) != spot.line:
            message = f"the id {shown(name)} stands on line {self._names[name]} already"
            yield spot.below("eval_id").problem("duplicate-id", message, found=shown(name), hint="ids must be unique")
            return
        yield question(self._named(name, turns), turns, source, self._options)

    def _named(self, name: str, turns: list[LoggedTurn]) -> str:
        """The id of a case: its own name, after --prefix; else a hash."""
        if not name.strip():
            return hash_id(self._ids, turns)
        return f"{self._options.prefix}_{name}" if self._options.prefix else name

    def _source(self, element: Json) -> QuestionSource:
        session = either_case(element, "session_input")
        state = either_case(session, "state")
        final = either_case(element, "final_session_state")
        return QuestionSource(
            file=self._file,
            app=str(either_case(session, "app_name") or ""),
            state=without_private_keys(state) if isinstance(state, dict) else {},
            final_state=without_private_keys(final) if isinstance(final, dict) else {},
        )


def _invocations(element: Json, spot: Spot) -> tuple[list[LoggedTurn], list[Problem]]:
    conversation = either_case(element, "conversation")
    turns: list[LoggedTurn] = []
    problems: list[Problem] = []
    for place, invocation in enumerate(conversation if isinstance(conversation, list) else ()):
        at = spot.below("conversation", place)
        query = text_of(either_case(invocation, "user_content"))
        if query.strip():
            between = either_case(either_case(invocation, "intermediate_data"), "intermediate_responses")
            turns.append(
                LoggedTurn(
                    query=query,
                    calls=expected_calls(invocation),
                    reference=text_of(either_case(invocation, "final_response")),
                    others=between if isinstance(between, list) else [],
                )
            )
            continue
        found = invocation if isinstance(invocation, dict) else with_article(kind_of(invocation))
        message = "the user says nothing here that is text"
        problems.append(at.below("user_content").problem("no-user-text", message, expected="text", found=shown(found)))
    return turns, problems
