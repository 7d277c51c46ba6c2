"""`adk-evalset`: eval sets of the Agent Development Kit, with `eval_cases`, as the older lists (named conversations, or
the turns of one), or as a list of `scenarios`. Each eval case becomes a golden question, with the criteria of a
`test_config.json` beside the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from howsure.dialects.documents import load_json
from howsure.dialects.importers.adk_config import (
    EvalConfig,
    lost_fields,
    lost_parts,
    persona_of,
    read_config,
    rubrics_of,
)
from howsure.dialects.importers.adk_recordings import either_case, expected_calls, text_of, without_private_keys
from howsure.dialects.importers.base import HashIds, ImportOptions, OptionImporter, is_list, wrong_kind
from howsure.dialects.importers.raw_logs import (
    ENDINGS,
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
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.strict_json import BOM, Json, head_keys
from howsure.dialects.test_set import split_plan, step_of
from howsure.errors import Level, Problem
from howsure.model.adk_criteria import CRITERIA, RUBRICS
from howsure.model.case import Case, Scenario

_FORMS = "an object with `eval_cases` or `scenarios`, or a list of conversations (`name`, `data`) or of turns (`query`)"
SOMEBODY = "A user of the agent."
SCENARIOS = "scenarios"


class AdkEvalSetImporter(OptionImporter):
    """JSON with `eval_cases`, `scenarios` or the older lists."""

    name = "adk-evalset"

    def __init__(self, options: ImportOptions | None = None) -> None:
        super().__init__(options)
        self.losses: list[tuple[str, str, str]] = []

    def detect(self, path: Path, head: bytes) -> bool:
        if not is_list(head):
            keys = head_keys(head)
            scenarios = keys[:1] == ["scenarios"] and b"starting" in head
            return scenarios or "eval_cases" in keys or "evalCases" in keys
        keys = head_keys(head.removeprefix(BOM).lstrip()[1:].lstrip())
        return {"name", "data"} <= set(keys) or ("query" in keys and path.name.endswith(ENDINGS))

    def read(self, path: Path) -> Iterator[Case | Problem]:
        document, self.losses = load_json(path), []
        yield from document.problems
        if document.problems:
            return
        config = read_config(path, self._options.criteria)
        yield from config.problems
        value, reader = document.value, _EvalSetReader(path.name, self._options, config, self.losses)
        if isinstance(value, dict):
            key = next(
                (key for key in ("eval_cases", "evalCases", SCENARIOS) if isinstance(value.get(key), list)), None
            )
        else:
            key = "" if isinstance(value, list) and value else None
        if key is None:
            yield wrong_kind(document.spot, _FORMS, value)
        elif not key and not (isinstance(value[0], dict) and "data" in value[0]):
            turns = RawLogImporter(self._options).read(path)  # the turns of one conversation
            yield from (reader.with_criteria(each) if isinstance(each, Case) else each for each in turns)
        else:
            read = reader.scenario if key == SCENARIOS else reader.case if key else reader.conversation
            for spot, element in document.elements(key):
                if isinstance(element, dict):
                    yield from read(element, spot)
                else:
                    yield wrong_kind(spot, "an object", element)


class _EvalSetReader:
    def __init__(
        self, file: str, options: ImportOptions, config: EvalConfig, losses: list[tuple[str, str, str]]
    ) -> None:
        self._file = file
        self._options = options
        self._config = config
        self._losses = losses
        self._ids = HashIds(options.prefix or PREFIX)
        self._names: dict[str, int | None] = {}

    def case(self, element: Json, spot: Spot) -> Iterator[Case | Problem]:
        turns, problems = _invocations(element, spot)
        scenario = either_case(element, "conversation_scenario")
        if not turns and isinstance(scenario, dict):
            yield from self._scenario(element, scenario, spot.below("conversation_scenario"))
            return
        if not turns and not problems:
            at = spot.below("conversation")
            problems = [at.problem("missing-field", "there is no turn in this case", expected="a list of turns")]
        yield from problems
        if not problems:
            lost = [*lost_fields(element), *lost_parts(element)]
            yield from self._made(str(either_case(element, "eval_id") or ""), turns, self._source(element), spot, lost)

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
            at = spot.below("starting_prompt")
            yield at.problem("missing-field", "`starting_prompt` is required", expected="starting_prompt")
            return
        steps = tuple(map(step_of, split_plan(plan))) if isinstance(plan, str) and plan.strip() else ()
        persona, lost = persona_of(either_case(scenario, "user_persona"))
        scenario_input = Scenario(persona=persona or SOMEBODY, initial_message=opening, plan=steps)
        id = self._named(str(either_case(element, "eval_id") or ""), [LoggedTurn(query=opening)])
        case = question(id, [], self._source(element), self._options, scenario_input)
        yield self._counted(case, [*lost_fields(element), *lost])

    def scenario(self, element: Json, spot: Spot) -> Iterator[Case | Problem]:
        """One of the scenarios that `adk eval_set add_eval_case` reads."""
        yield from self._scenario({}, element, spot)

    def with_criteria(self, case: Case) -> Case:
        """The case of an older list, with the criteria beside the file."""
        if not self._config.criteria:
            return self._counted(case)
        reference = case.metadata.get("reference_data", {}) | {CRITERIA: self._config.criteria}
        return self._counted(replace(case, metadata=case.metadata | {"reference_data": reference}))

    def _counted(self, case: Case, lost: Iterable[tuple[str, str]] = ()) -> Case:
        """The case, once what it does not carry of its source and of the configuration is noted."""
        self._losses += [(case.id, field, why) for field, why in dict.fromkeys((*lost, *self._config.lost))]
        return case

    def _made(
        self,
        name: str,
        turns: list[LoggedTurn],
        source: QuestionSource,
        spot: Spot,
        lost: Sequence[tuple[str, str]] = (),
    ) -> Iterator[Case | Problem]:
        if self._options.per_turn:
            for number, turn in enumerate(turns, start=1):
                alone = source.of_turn(number)
                yield self._counted(question(hash_id(self._ids, [turn]), [turn], alone, self._options), lost)
            return
        if name and self._names.setdefault(name, spot.line) != spot.line:
            message = f"the id {shown(name)} stands on line {self._names[name]} already"
            yield spot.below("eval_id").problem("duplicate-id", message, found=shown(name), hint="ids must be unique")
            return
        yield self._counted(question(self._named(name, turns), turns, source, self._options), lost)

    def _named(self, name: str, turns: list[LoggedTurn]) -> str:
        """The id of a case: its own name, after --prefix; else a hash."""
        if not name.strip():
            return hash_id(self._ids, turns)
        return f"{self._options.prefix}_{name}" if self._options.prefix else name

    def _source(self, element: Json) -> QuestionSource:
        session = either_case(element, "session_input")
        state = either_case(session, "state")
        final = either_case(element, "final_session_state")
        rubrics = rubrics_of(element)
        for number, turn in enumerate(objects_in(either_case(element, "conversation")), start=1):
            rubrics += rubrics_of(turn, number)
        found = {CRITERIA: self._config.criteria, RUBRICS: rubrics}
        return QuestionSource(
            file=self._file,
            app=str(either_case(session, "app_name") or ""),
            state=without_private_keys(state) if isinstance(state, dict) else {},
            final_state=without_private_keys(final) if isinstance(final, dict) else {},
            reference={key: value for key, value in found.items() if value},
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
