"""The inputs of a scenario in a test set: opening, goal, facts and conversation plan, read into a Scenario and written
back. A plan may be one text: its lines (or the sentences of a single line) are the steps; "If the agent …, …" is a
condition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from howsure.dialects.problems import Spot, shown
from howsure.dialects.reference_data import LOOSE, TEXT, TEXTS
from howsure.dialects.strict_json import Json
from howsure.dialects.writers import Reason
from howsure.errors import Problem
from howsure.model.case import Fact, PlanStep, Scenario

MAX_TURNS = 8
TURNS: Json = {"type": ["integer", "null"], "minimum": 1}
STATE: Json = {"type": ["object", "null"]}
_VALUE: Json = {"anyOf": [TEXT, {"type": "number"}]}
_FACT: Json = {
    "type": "object",
    "required": ["name", "value"],
    "properties": {"name": TEXT, "value": _VALUE, "asked_by": TEXTS},
    "additionalProperties": False,
}
FACTS: Json = {
    "anyOf": [{"type": "object", "additionalProperties": _VALUE}, {"type": "array", "items": _FACT}, {"type": "null"}]
}
_STEP: Json = {
    "type": "object",
    "required": ["say"],
    "properties": {"say": TEXT, "when": {"type": "string"}},
    "additionalProperties": False,
}
PLAN: Json = {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, _STEP]}}, {"type": "null"}]}
FIELDS: Json = {
    "initial_message": LOOSE,
    "starting_prompt": LOOSE,
    "max_turns": TURNS,
    "goal": LOOSE,
    "facts": FACTS,
    "conversation_plan": PLAN,
}
NEEDED: Json = {
    # Either name of the opening will do; where both are missing, the first is the one to ask for.
    "if": {"properties": {"starting_prompt": {"type": "string"}}, "required": ["starting_prompt"]},
    "then": {"properties": {"starting_prompt": TEXT}},
    "else": {"properties": {"initial_message": TEXT}, "required": ["initial_message"]},
}
USED = ("persona", *FIELDS)

_MARK = re.compile(r"\A(?:[-*•–]|\(?\d+[.)]|[Ss]tep \d+[:.])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“„«¿¡(]*[A-ZÄÖÜÉÀÁÍÓÚÑÇ])")
_CONDITION = re.compile(
    r"\A(?:if|when|whenever|once|after|as soon as|should|wenn|falls|sobald|si|quand|lorsque|cuando|se|quando|als|"
    r"wanneer)\s+"
    r"(?P<when>(?:(?:the|an?|your|der|die|das|le|la|l'|el|il|lo|o|de|het)\s+)?"
    r"(?:agent|assistant|bot|chatbot|support|representative|company|service|system|price|cost|fee|they|asked|offered|told|"
    r"refused|agenten?|assistent|assistente|preis|prix|precio|prezzo|prijs)\b.*?)[,:]\s+"
    r"(?:(?:then|dann|alors|entonces|allora)\s+)?(?P<say>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


def scenario_of(inputs: Mapping[str, Any]) -> Scenario:
    """The scenario that valid inputs describe."""
    turns, facts, plan = inputs.get("max_turns"), inputs.get("facts") or (), inputs.get("conversation_plan") or ()
    if isinstance(facts, dict):
        facts = [{"name": name, "value": value} for name, value in facts.items()]
    return Scenario(
        persona=inputs["persona"],
        initial_message=inputs.get("initial_message") or inputs["starting_prompt"],
        max_turns=MAX_TURNS if turns is None else int(turns),
        goal=inputs.get("goal") or "",
        facts=tuple(
            Fact(
                name=fact["name"],
                value=fact["value"] if isinstance(fact["value"], str) else json.dumps(fact["value"]),
                asked_by=tuple(fact.get("asked_by", ())),
            )
            for fact in facts
        ),
        plan=tuple(
            step_of(step) if isinstance(step, str) else PlanStep(say=step["say"], when=step.get("when", ""))
            for step in (split_plan(plan) if isinstance(plan, str) else plan)
        ),
    )


def split_plan(text: str) -> list[str]:
    """The steps of a plan that is one text: its lines, or the sentences of a single line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pieces = lines if len(lines) > 1 else _SENTENCE.split(lines[0] if lines else text)
    return [step for piece in pieces if (step := _MARK.sub("", piece.strip()).strip())] or [text.strip()]


def step_of(text: str) -> PlanStep:
    """The step of a text. `If the agent offers a voucher, decline it.` has a condition; any other text has none."""
    match = _CONDITION.match(text)
    return PlanStep(say=match["say"], when=f"{match['when']}".strip()) if match else PlanStep(say=text)


def scenario_document(scenario: Scenario) -> Json:
    """The inputs of a scenario, without empty fields."""
    document: Json = {
        "persona": scenario.persona,
        "initial_message": scenario.initial_message,
        "max_turns": scenario.max_turns,
    }
    if scenario.goal:
        document["goal"] = scenario.goal
    if scenario.facts:
        document["facts"] = [
            {"name": fact.name, "value": fact.value, **({"asked_by": list(fact.asked_by)} if fact.asked_by else {})}
            for fact in scenario.facts
        ]
        if not any(fact.asked_by for fact in scenario.facts):
            document["facts"] = {fact.name: fact.value for fact in scenario.facts}
    if scenario.plan:
        # A step is plain text where reading that gives the same step.
        document["conversation_plan"] = [
            step.say if step_of(step.say) == step else {"say": step.say, **({"when": step.when} if step.when else {})}
            for step in scenario.plan
        ]
    return document


def scenario_faults(inputs: Any, spot: Spot) -> Iterator[Problem]:
    """What the schema cannot state: two openings, facts without a name or with a repeated one."""
    if not isinstance(inputs, dict):
        return
    one, other = inputs.get("initial_message"), inputs.get("starting_prompt")
    if isinstance(one, str) and isinstance(other, str) and one != other:
        yield spot.below("starting_prompt").problem(
            "contradiction",
            "`initial_message` and `starting_prompt` are two names of one thing, and differ",
            expected=shown(one),
            found=shown(other),
            hint="keep one of them",
        )
    facts = inputs.get("facts")
    if isinstance(facts, dict) and any(not name.strip() for name in facts):
        yield spot.below("facts").problem("empty", "a fact needs a name", expected="a text", found='""')
    names = [fact.get("name") for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    for place, name in enumerate(names):
        if isinstance(name, str) and name in names[:place]:
            message = f"the fact {shown(name)} is listed already"
            yield spot.below("facts", place, "name").problem("duplicate-value", message, found=shown(name))


def unwritable_scenario(scenario: Scenario) -> Iterator[Reason]:
    """The reasons why these fields cannot hold the scenario."""
    names = [fact.name for fact in scenario.facts]
    if len(set(names)) < len(names):
        yield "input", "two facts of a scenario cannot have one name"
    if any(not text.strip() for fact in scenario.facts for text in (fact.name, fact.value, *fact.asked_by)):
        yield "input", "a fact of a scenario needs a name and a value, and no blank words it is asked by"
    if any(not step.say.strip() for step in scenario.plan):
        yield "input", "a step of a conversation plan needs words to say"
