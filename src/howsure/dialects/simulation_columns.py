"""The columns of simulation files: which are known, which hold JSON, and how cells become values and values cells. What
the values mean is in simulation_rows.py.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import Json, parse_json
from howsure.errors import Level, Problem
from howsure.model.plain_values import is_storable

JSON_COLUMNS: dict[str, tuple[type, ...]] = {
    "user_inputs": (list,),
    "agents_evaluated": (list,),
    "question_metadata": (dict,),
    "reference_data": (dict,),
    "status": (dict, str, bool),
    "missing_information": (dict, str, bool),
    "final_session_state": (dict,),
    "session_state": (dict,),
    "session_trace": (list,),
    "custom_extract": (list,),
    "extracted_data": (dict,),
    "sub_agent_trace": (list,),
    "trace_summary": (list, str),
    "latency_data": (list, dict),
    "request": (dict,),
    "response": (dict,),
    "other_columns": (dict,),
    "howsure_case": (dict,),
}
"""Columns that hold JSON, and the types that each may hold; where `str` is one of them, a text need not be JSON."""
RECORDING = (
    *("final_response", "final_session_state", "session_state", "custom_extract", "session_trace"),
    *("extracted_data", "sub_agent_trace", "trace_summary", "response"),
)
"""A row with a value in one of these holds a conversation; any other row is a question without an answer yet."""
PLAIN = (
    *("question_id", "eval_id", "session_id", "run_id", "eval_set_result_id", "agent_name", "app_name", "base_url"),
    *("user_id", "ADK_USER_ID", "USER", "timestamp", "interaction_datetime", "final_response"),
    *("system_instructions", "eval_results"),
)
VERBATIM = ("question_id", "final_response")
"""Columns whose cell is taken as it is: an agent may well answer in JSON."""
NUMBERED = ("score.", "metric.", "adk_score.")
"""Columns of these families hold measurements."""
DISTINCTIVE = {
    *("user_inputs", "final_response", "session_trace", "custom_extract", "extracted_data", "reference_data"),
    *("agents_evaluated", "session_state", "final_session_state", "trace_summary", "sub_agent_trace"),
    *("question_metadata", "missing_information", "latency_data"),
}
GENERIC = {"request", "response"}
"""Columns that count beside one of these: other people's tables have them, too."""
FOREIGN = {"explain_inputs", "required_evals", "topic_family", "threshold_profile", "task_type", "schema_version"}
"""Fields of other line formats."""


QUESTION_COLUMNS = {"question_id", "user_inputs"}
"""Columns that the rows we write always have."""


def is_known(column: str) -> bool:
    return column in JSON_COLUMNS or column in PLAIN or column.startswith(NUMBERED)


def read_cells(row: Mapping[str, Any], spot: Spot, *, table: bool) -> tuple[Json, list[Problem]]:
    """The values of a row by column, without empty cells (but with an empty answer), and the problems. With `table`,
    every value is the text of a cell."""
    values: Json = {}
    problems: list[Problem] = []
    for column, raw in row.items():
        if raw is None or (raw == "" and column != "final_response"):
            continue
        if type(raw) in JSON_COLUMNS.get(column, ()) and type(raw) is not str:
            values[column] = raw
        elif column in JSON_COLUMNS:
            value, faults = _read_json(column, raw, spot.below(column))
            problems += faults
            if value is not None:
                values[column] = value
        else:
            values[column] = plain_value(column, raw) if table else raw
    answer = values.get("final_response")
    if answer is not None and not isinstance(answer, str):
        message, at = f"must be a text, not {with_article(kind_of(answer))}", spot.below("final_response")
        problems.append(at.problem("wrong-type", message, expected="string", found=shown(answer)))
    for column, value in values.pop("other_columns", {}).items():
        values.setdefault(column, value)
    return values, problems


def _read_json(column: str, raw: Any, spot: Spot) -> tuple[Any, list[Problem]]:
    """The value of a column that holds JSON; None where there is none, or one of a wrong type."""
    kinds = JSON_COLUMNS[column]
    value, problems = _loaded(raw, spot, kinds) if isinstance(raw, str) else (raw, [])
    if any(problem.level is Level.ERROR for problem in problems) or value is None or type(value) in kinds:
        return value, problems
    expected = " or ".join(kind_of(kind()) for kind in kinds)
    message = f"must hold {with_article(expected)}, not {with_article(kind_of(value))}"
    return None, [*problems, spot.problem("wrong-type", message, expected=expected, found=shown(value))]


def _loaded(text: str, spot: Spot, kinds: tuple[type, ...]) -> tuple[Any, list[Problem]]:
    """The value of a JSON text. Values that a Python program printed (`{'a': None}`) are read too, with a warning."""
    stripped = text.strip()
    if not stripped:
        return None, []
    if str in kinds and not stripped.startswith(("{", '"') if dict in kinds else ('["', "[]")):
        return (_WORDS.get(stripped.lower(), text) if bool in kinds else text), []
    value, problems = parse_json(stripped.encode("utf-8", "surrogatepass"), file=spot.file, line=None)
    if not problems:
        return _unwrapped(value, spot, kinds)
    printed = _printed(stripped) if problems[0].code == "json-syntax" else None
    if printed is None:
        return None, [structs.replace(problem, line=spot.line, field=spot.prefix) for problem in problems]
    message = "the cell holds what Python prints, not JSON; it was read as that"
    return printed, [spot.warning("python-literal", message, found=shown(text), hint="write cells with json.dumps")]


def _unwrapped(value: Any, spot: Spot, kinds: tuple[type, ...]) -> tuple[Any, list[Problem]]:
    """The value of a text that was encoded twice: a JSON text that holds JSON."""
    if not isinstance(value, str) or (str in kinds and not value.strip().startswith("{")):
        return value, []
    if not value.strip().startswith(("{", "[")):
        return value, []
    inner, problems = _loaded(value, spot, kinds)
    if any(problem.level is Level.ERROR for problem in problems):
        return None, problems
    message = "the cell holds JSON that was encoded twice; it was read as that"
    return inner, [*problems, spot.warning("encoded-twice", message, found=shown(value), hint="encode cells once")]


_WORDS = {"true": True, "false": False}


def _printed(text: str) -> Any:
    """The object or list that Python printed; None where the text is not one, or holds what JSON cannot."""
    try:
        value = ast.literal_eval(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict | list) and is_storable(value) else None


def plain_value(column: str, text: str) -> Any:
    """The value of a cell that we only keep: its JSON where it looks like JSON (numbers only in columns of
    measurements), else its text."""
    if column in VERBATIM:
        return text
    if text.startswith(("{", "[", '"')) or column.startswith(NUMBERED):
        value, problems = parse_json(text.encode("utf-8", "surrogatepass"), file="", line=None)
        return text if problems else value
    return text


def cells_of(row: Json, columns: Iterable[str] | None = None) -> dict[str, str]:
    """The cells of a `table_row`, in these columns (by default its own)."""
    names = row if columns is None else columns
    return {column: _cell(column, row[column]) if column in row else "" for column in names}


def table_row(row: Json) -> Json:
    """The row as a table can hold it: a value that its own column could not give back (a number among texts …) goes
    into `other_columns`."""
    own: Json = {}
    others: Json = {}
    for column, value in row.items():
        safe = column in JSON_COLUMNS or column in VERBATIM
        if not safe:
            cell = _cell(column, value)
            back = plain_value(column, cell)
            safe = bool(cell) and type(back) is type(value) and bool(back == value)
        (own if safe else others)[column] = value
    return {**own, "other_columns": others} if others else own


def _cell(column: str, value: Any) -> str:
    if isinstance(value, str) and (column not in JSON_COLUMNS or str in JSON_COLUMNS[column]):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
