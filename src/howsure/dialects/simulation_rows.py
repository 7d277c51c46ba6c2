"""One row of a simulation file as a Case: which columns say what the user said, what was expected, whether the
conversation broke, and what was recorded of it. A column is either read into the case or kept in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import Any

import msgspec

from howsure.dialects import reference_data
from howsure.dialects.documents import Json
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden_schema import labels
from howsure.dialects.json_places import Spot
from howsure.dialects.reference_data import read_reference, reference_faults
from howsure.dialects.schema_fit import Shape
from howsure.dialects.simulation_columns import RECORDING, Cells
from howsure.dialects.simulation_recording import Recording
from howsure.dialects.simulation_talk import from_events, from_extract
from howsure.dialects.simulation_trace import user_turns_of_spans
from howsure.dialects.wording import shown
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import Message, Mishap, Role, Transcript

SIMULATED = "simulation"
"""What converters write as `base_url`: nobody was reached over a network."""
_REFERENCE = Shape(reference_data.SCHEMA)
_STRINGS = Shape({"type": "array", "items": {"type": "string"}})
_SUCCESS = ("success", "succeeded", "ok", "completed", "passed", "true", "")
_FAILURE = ("failed", "failure", "error", "errored", "false")
_NOTHING = ("none", "null", "nan")
"""How tables write that a cell is empty."""
_SAYS_WHY = {"status": ("error_message", "failed"), "missing_information": ("details", "true")}
"""The field that says why, and the word that it stands for where the object has no other."""


def read_row(cells: Cells, spot: Spot) -> tuple[Case | None, list[Problem]]:
    """The case (its id not yet numbered among equals), or None and why."""
    reader = _RowReader(cells.values, spot)
    problems = list(cells.problems)
    if "howsure_case" in cells.values:
        case, found = _whole(cells.values["howsure_case"], spot.below("howsure_case"))
        return case, [*problems, *found]
    problems += reader.problems()
    if any(problem.level is Level.ERROR for problem in problems):
        return None, problems
    case = reader.case()
    problems += reader.found
    return (None if reader.found else case), problems


def _whole(value: Any, spot: Spot) -> tuple[Case | None, list[Problem]]:
    try:
        return msgspec.convert(value, Case), []
    except (msgspec.ValidationError, ValueError) as error:
        hint = "this column is written by Howsure and not meant to be edited; without it the others are read"
        return None, [spot.problem("bad-case", str(error), expected="a case", found=shown(value), hint=hint)]


class _RowReader:
    """Takes the values out of a row one by one; what is left when all have been asked for is metadata."""

    def __init__(self, values: Json, spot: Spot) -> None:
        self._values = values
        self._left = dict(values)
        self._spot = spot
        self._simulated = values.get("base_url") == SIMULATED
        self.found: list[Problem] = []

    def problems(self) -> Iterator[Problem]:
        shapes = {"user_inputs": _STRINGS, "agents_evaluated": _STRINGS, "reference_data": _REFERENCE}
        for column, shape in shapes.items():
            if column in self._values and not shape.fits(self._values[column]):
                yield from shape.problems(self._values[column], self._spot.below(column))
        yield from reference_faults(self._values.get("reference_data"), self._spot)
        for column in ("status", "missing_information"):
            if self._marked(column) is None:
                word = shown(self._word(column))
                yield self._spot.below(column).problem(
                    "unknown-value", f"{word} is neither success nor failure", expected="success or failed", found=word
                )

    def case(self) -> Case | None:
        turns = self._turns()
        if not turns:
            hint = (
                "`user_inputs` is a JSON list of what the user said; `custom_extract` and `session_trace` may tell it"
            )
            message = "nothing in this row tells what the user said"
            self.found.append(self._spot.below("user_inputs").problem("no-user-inputs", message, hint=hint))
            return None
        case_id = self._id(turns)
        mishap = self._mishap()
        reference = read_reference(self._left.pop("reference_data", {}), self._agents())
        recorded, tools = (mishap, None) if mishap else self._recorded(turns)
        metadata = {key: value for key, value in self._left.items() if value != ""}
        if reference.custom:
            metadata["reference_data"] = reference.custom
        if reference.unknown:
            metadata[UNKNOWN] = reference.unknown
        agent = metadata.get("app_name") or metadata.get("agent_name") or ""
        return Case(
            id=case_id,
            input=Script(turns=tuple(turns)),
            expectations=reference.expectations,
            world=World.GOLDEN,
            labels=labels(metadata.get("question_metadata", {}), agent=str(agent), repeat="1"),
            metadata=metadata,
            tools=tools,
            recorded=recorded,
        )

    def _turns(self) -> list[str]:
        """What the user said, by the first column that tells it."""
        given: list[str] = self._left.pop("user_inputs", [])
        accounts = chain([given], self._accounts())
        return next((account for account in accounts if any(turn.strip() for turn in account)), [])

    def _accounts(self) -> Iterator[list[str]]:
        yield _said_by_user(from_extract(self._values.get("custom_extract", ())).messages)
        for column in ("final_session_state", "session_state"):
            events = self._values.get(column, {}).get("events")
            yield _said_by_user(from_events(events).messages) if isinstance(events, list) else []
        yield user_turns_of_spans(self._values.get("session_trace", ()))

    def _id(self, turns: list[str]) -> str:
        for column in ("question_id", "eval_id"):
            given = self._left.get(column)
            if given is not None and str(given).strip():
                del self._left[column]
                return str(given)
        text = json.dumps(turns, ensure_ascii=False)
        return f"sim-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    def _agents(self) -> Iterable[str]:
        """`agents_evaluated` is a reference where it was copied from a golden question, not where a converter wrote
        down the agent that ran."""
        names: list[str] = self._left.get("agents_evaluated", [])
        ran = [self._left.get("app_name") or self._left.get("agent_name")]
        if "reference_data" not in self._values or (self._simulated and names == ran):
            return ()
        return tuple(self._left.pop("agents_evaluated", ()))

    def _mishap(self) -> Mishap | None:
        failed = self._marked("status") is False
        missing = self._marked("missing_information") is False
        reasons = [self._reason("status", "error_message"), self._reason("missing_information", "details")]
        if failed:
            return Mishap(reason=reasons[0] or reasons[1] or "the row is marked as failed")
        return Mishap(reason=reasons[1] or "the row is marked as missing information") if missing else None

    def _word(self, column: str) -> str:
        word = self._values.get(column, "")
        if isinstance(word, dict):
            told = next((word[name] for name in ("boolean", column) if word.get(name) is not None), "")
            field, meant = _SAYS_WHY[column]
            word = meant if told == "" and word.get(field) else told
        plain = str(word).strip().lower()
        return "" if plain in _NOTHING else plain

    def _marked(self, column: str) -> bool | None:
        """Whether all is well by this column; None: it says something that we do not know."""
        word = self._word(column)
        if column == "missing_information":
            return {"true": False, "false": True, "": True}.get(word)
        return True if word in _SUCCESS else False if word in _FAILURE else None

    def _reason(self, column: str, field: str) -> str:
        """Why it failed, by this column; the column is kept where it says more than that."""
        given = self._left.get(column)
        if isinstance(given, dict) and given.keys() - {"boolean", field}:
            return str(given.get(field) or "")
        self._left.pop(column, None)
        return str(given.get(field) or "") if isinstance(given, dict) else ""

    def _recorded(self, turns: list[str]) -> tuple[Transcript | Mishap | None, Any]:
        if not any(self._values.get(column) not in (None, "") for column in RECORDING):
            self._left.pop("final_response", None)
            return None, None
        recording = Recording(self._left, turns, self._spot, simulated=self._simulated)
        made = recording.made()
        self.found += recording.problems
        return made, recording.tools


def _said_by_user(messages: Iterable[Message]) -> list[str]:
    return [message.content for message in messages if message.role is Role.USER]
