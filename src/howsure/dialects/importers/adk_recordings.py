"""ADK conversations as rows of a simulation file, and so as Cases: events, state, spans, tool declarations. Everything
that reads such rows (simulation_rows.py) is used, so a converted file and a case read directly are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from howsure.dialects.documents import Json
from howsure.dialects.importers.adk_shapes import public, told
from howsure.dialects.importers.adk_spans import spans_of
from howsure.dialects.importers.base import Options
from howsure.dialects.json_places import Spot
from howsure.dialects.simulation import Numbers
from howsure.dialects.simulation_columns import Cells
from howsure.dialects.simulation_recording import AGENT_DECLARES
from howsure.dialects.simulation_rows import SIMULATED, read_row
from howsure.errors import Level, Problem
from howsure.model.case import Case


class Conversation(Struct, frozen=True, kw_only=True):
    """One recorded conversation, before it is a case. `question` is the id of what was asked, where there is one."""

    events: list[Json]
    question: str = ""
    session: str = ""
    app: str = ""
    user: str = ""
    state: Json | None = None
    run: str = ""
    at: float | None = None
    answer: str | None = None
    declared: list[Json] = field(default_factory=list)
    instruction: str = ""
    reference: Json | None = None
    columns: Json = field(default_factory=dict)


class Recordings:
    """Makes cases of conversations; those of the same question are numbered."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._numbers = Numbers()

    def read(self, talk: Conversation, spot: Spot) -> Iterator[Case | Problem]:
        case, problems = read_row(Cells(self._row(talk), []), spot)
        yield from problems
        if case is None or any(problem.level is Level.ERROR for problem in problems):
            return
        numbered = self._numbers.following(case)
        self._numbers.count(case.id)
        yield numbered

    def _row(self, talk: Conversation) -> Json:
        options, app = self._options, self._options.agent or talk.app
        question = f"{options.prefix}_{talk.question}" if options.prefix and talk.question else talk.question
        row: Json = {
            **({"question_id": question} if question else {}),
            "session_id": talk.session,
            "base_url": SIMULATED,
            "app_name": app,
            "ADK_USER_ID": talk.user,
            "run_id": talk.run,
            "interaction_datetime": moment(talk.at),
            "agents_evaluated": [app] if app else [],
            "question_metadata": dict(options.metadata),
            "final_session_state": _session(talk, app),
            "session_trace": spans_of(talk.events, talk.session or talk.question),
            "extracted_data": _extracted(talk),
            **talk.columns,
        }
        if talk.reference is not None:
            row["reference_data"] = talk.reference
        if talk.answer is not None:
            row["final_response"] = talk.answer
        return {name: value for name, value in row.items() if value not in ("", None, {}, [])}


def _session(talk: Conversation, app: str) -> Json:
    session: Json = {"id": talk.session, "appName": app, "userId": talk.user, "events": public(talk.events)}
    return session if talk.state is None else {**session, "state": public(talk.state)}


def _extracted(talk: Conversation) -> Json:
    """Declarations that the agent itself made, and not such as were gathered from the tools it used."""
    extracted: Json = {}
    if talk.declared:
        extracted |= {"tool_declarations": talk.declared, AGENT_DECLARES: True}
    if talk.instruction:
        extracted["system_instruction"] = talk.instruction
    return extracted


def moment(seconds: Any) -> str:
    """A time of the epoch as ISO text; "" where there is none."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < 4e9:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def declarations(details: Sequence[Any]) -> list[Json]:
    """The function declarations in these, each tool once."""
    found: dict[str, Json] = {}
    for declared in details:
        for holder in declared if isinstance(declared, list) else ():
            for function in told(holder, "function_declarations") or ():
                if isinstance(function, dict) and isinstance(function.get("name"), str):
                    found.setdefault(function["name"], function)
    return [{"function_declarations": list(found.values())}] if found else []
