"""tau2-bench tasks: a simulated customer, the calls that a good agent makes, and statements about what it says
(docs/importers.md).

`tau2` gives scenarios, for test sets; `tau2-golden` gives the same tasks as golden questions of one fixed message, and
reads them for a golden file. What neither has a field for is kept beside the case, as the task has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import UniqueIds, load_json
from howsure.dialects.golden import labels
from howsure.dialects.importers.base import ImportOptions, is_list, wrong_kind
from howsure.dialects.problems import SchemaChecker, Spot, load_schema
from howsure.dialects.reference_data import matcher_problems
from howsure.dialects.strict_json import Json
from howsure.dialects.test_set import SCENARIO, labels_of, split_plan, step_of
from howsure.errors import Level, Problem
from howsure.model.case import Case, Fact, PlanStep, Scenario, Script, World
from howsure.model.expectation import Criteria, Criterion, Expectation, ExpectedCall, ToolCalls, text_id

OPENING = "Hello, I need some help, please."
"""The user's first message. A task has none: its reason for calling may also hold what must not be said."""
MAX_TURNS = 20
_SHAPE = SchemaChecker(load_schema("tau2_task"))
_ASKED = ("name", "user id", "email", "zip code", "zipcode", "order id", "order number", "reservation id", "address",
          "confirmation number", "phone number", "date of birth", "payment method", "cabin", "item id")  # fmt: skip


class Tau2Importer(WatchedDialect):
    """A JSON list of tasks, as scenarios."""

    name = "tau2"

    def detect(self, path: Path, head: bytes) -> bool:
        return is_list(head) and b'"user_scenario"' in head

    def chosen(self, options: ImportOptions) -> Tau2Importer:
        """Golden files have no simulated user: for them, the tasks are read as questions."""
        return Tau2GoldenImporter() if options.to == World.GOLDEN else self

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = load_json(path, watch)
        yield from document.problems
        if document.problems:
            return
        if not isinstance(document.value, list):
            yield wrong_kind(document.spot, "a list of tasks", document.value)
        ids = UniqueIds("id")
        for spot, task in document.elements():
            problems = [*_SHAPE.problems(task, spot), *ids.problems(task, spot)]
            if not problems:
                problems = [*_faults(task, spot)]
            yield from problems
            if not any(problem.level is Level.ERROR for problem in problems):
                yield self.case(_Tau2Task(task))

    def case(self, task: _Tau2Task) -> Case:
        return Case(
            id=task.id,
            input=task.scenario(),
            expectations=tuple(task.expectations()),
            world=World.TEST_SET,
            labels=labels_of(SCENARIO, None),
            # Written as one more field of the element's inputs: nothing of the task is lost.
            metadata={"inputs": {"tau2": task.rest()}},
        )


class Tau2GoldenImporter(Tau2Importer):
    """The same tasks as golden questions, for golden files or by name."""

    name = "tau2-golden"

    def detect(self, path: Path, head: bytes) -> bool:
        return False

    def chosen(self, options: ImportOptions) -> Tau2Importer:
        return self

    def case(self, task: _Tau2Task) -> Case:
        metadata = {"source": "tau2", **({"domain": task.domain} if task.domain else {})}
        reference = {"nl_assertions": task.assertions, "communicate_info": task.information, "tau2": task.rest()}
        return Case(
            id=task.id,
            input=Script(turns=(task.message(),)),
            expectations=tuple(one for one in task.expectations() if isinstance(one, ToolCalls)),
            world=World.GOLDEN,
            labels=labels(metadata),
            metadata={
                "metadata": metadata,
                "reference_data": {key: value for key, value in reference.items() if value},
            },
        )


class _Tau2Task:
    """One task that fits the schema."""

    def __init__(self, task: Json) -> None:
        self._task = task
        self._user: Json = task["user_scenario"]
        instructions = self._user["instructions"]
        self._instructions: Json = {"reason_for_call": instructions} if isinstance(instructions, str) else instructions
        self.domain = self._text("domain")
        self.id = f"{self.domain}-{task['id']}" if self.domain else str(task["id"])
        criteria: Json = task.get("evaluation_criteria") or {}
        self._actions: list[Json] = [one for one in criteria.get("actions") or () if not _is_users(one)]
        self.assertions: list[str] = list(dict.fromkeys(criteria.get("nl_assertions") or ()))
        self.information: list[str] = list(dict.fromkeys(criteria.get("communicate_info") or ()))

    def _text(self, name: str) -> str:
        """A text of the instructions. Some tasks write a full stop for nothing."""
        text = str(self._instructions.get(name) or "").strip()
        return text if text.strip(".") else ""

    def scenario(self) -> Scenario:
        manners = (str(self._user.get("persona") or "").strip(), self._text("task_instructions"))
        persona = "\n\n".join(text for text in manners if text) or self._text("known_info")
        facts: list[Fact] = []
        for name in ("known_info", "unknown_info"):
            if value := self._text(name):
                first = ("name",) if value.lower().startswith(("you are ", "your name")) else ()
                words = dict.fromkeys((*first, *(word for word in _ASKED if word in value.lower())))
                facts.append(Fact(name=name, value=value, asked_by=tuple(words)))
        # The plan: what the user wants, said at once; then what depends on the agent ("If the agent …, …").
        steps = [step_of(text) for text in split_plan(self._text("reason_for_call"))]
        reactions = [step_of(text) for text in split_plan(self._text("task_instructions") or ".")]
        statements = " ".join(step.say for step in steps if not step.when)
        opening = (PlanStep(say=statements),) if statements else ()
        return Scenario(
            persona=persona or "A customer.",
            initial_message=OPENING,
            max_turns=MAX_TURNS,
            goal=self._text("reason_for_call"),
            facts=tuple(facts),
            plan=(*opening, *(step for step in (*steps, *reactions) if step.when)),
        )

    def message(self) -> str:
        """Everything that the user would say, in one message, in the words of the task."""
        parts = (self._text(name) for name in ("reason_for_call", "known_info", "unknown_info", "task_instructions"))
        return "\n\n".join(part for part in parts if part)

    def expectations(self) -> Iterator[Expectation]:
        if self._actions:
            yield ToolCalls(expected=tuple(map(_call, self._actions)))
        statements = (f"The agent tells the user: {text}" for text in self.information)
        texts = dict.fromkeys((*self.assertions, *statements))
        if texts:
            yield Criteria(criteria=tuple(Criterion(id=text_id(text), text=text) for text in texts))

    def rest(self) -> Json:
        """The whole task without its user, who is in the case."""
        return {key: value for key, value in self._task.items() if key != "user_scenario" and value is not None} | {
            "instructions": self._user["instructions"]
        }


def _is_users(action: Json) -> bool:
    return action.get("requestor") == "user"


def _call(action: Json) -> ExpectedCall:
    """The expected call. `compare_args` names the arguments that count; without it all of them do."""
    arguments: Json = action.get("arguments") or {}
    compared = action.get("compare_args")
    if compared is not None:
        arguments = {name: value for name, value in arguments.items() if name in compared}
    return ExpectedCall(name=action["name"], arguments=arguments, reason=action.get("info") or "")


def _faults(task: Json, spot: Spot) -> Iterator[Problem]:
    """What the schema cannot state, and what a case cannot hold."""
    criteria: Json = task.get("evaluation_criteria") or {}
    at = spot.below("evaluation_criteria")
    actions = criteria.get("actions")
    for place, action in enumerate(actions or ()):
        for name, value in (action.get("arguments") or {}).items():
            here = at.below("actions", place, "arguments", name)
            if name.startswith("$"):
                yield here.problem("bad-matcher", f"`{name}` is not an argument", found=name)
            else:
                yield from matcher_problems(value, here)
        if _is_users(action):
            message = "a call that the user makes is not expected of the agent; it is kept and not checked"
            yield at.below("actions", place).warning("not-carried", message, found=action["name"])
    if actions == []:
        message = "the task expects the data to stay as they are; calls that only read are free, so none is checked"
        yield at.below("actions").warning("not-carried", message)
    if criteria.get("env_assertions"):
        message = "assertions about the environment are kept and not checked: there is no environment to ask"
        yield at.below("env_assertions").warning("not-carried", message)
    state: Any = task.get("initial_state") or {}
    for name in [name for name in state if state[name]]:
        message = "what happened before the conversation is kept; set it up in the agent's own environment"
        yield spot.below("initial_state", name).warning("not-carried", message)
