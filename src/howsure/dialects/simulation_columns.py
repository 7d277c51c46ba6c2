"""The columns of simulation files: which are known, which hold JSON, and how a cell becomes a value and a value a cell.
What the values mean is for simulation_rows.py.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.problems import Spot, kind_of, shown, with_article
from howsure.dialects.strict_json import Json, parse_json
from howsure.errors import Level, Problem

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
"""Columns that hold JSON, and the kinds of value that each may hold; a text where `str` is one of them need not be
JSON."""
RECORDING = (
    "final_response",
    "final_session_state",
    "session_state",
    "custom_extract",
    "session_trace",
    "extracted_data",
    "sub_agent_trace",
    "trace_summary",
    "response",
)
"""A row that has something in one of these holds a conversation; another one is a question still to be joined."""
PLAIN = (
    "question_id",
    "eval_id",
    "session_id",
    "run_id",
    "eval_set_result_id",
    "agent_name",
    "app_name",
    "base_url",
    "user_id",
    "ADK_USER_ID",
    "USER",
    "timestamp",
    "interaction_datetime",
    "final_response",
    "system_instructions",
    "eval_results",
)
VERBATIM = ("question_id", "final_response")
"""Columns whose cell is the value: an agent may well answer in JSON."""
NUMBERED = ("score.", "metric.", "adk_score.")
"""Columns of these families hold measurements."""
DISTINCTIVE = {
    *("user_inputs", "final_response", "session_trace", "custom_extract", "extracted_data", "reference_data"),
    *("agents_evaluated", "session_state", "final_session_state", "trace_summary", "sub_agent_trace"),
    *("question_metadata", "missing_information", "latency_data", "request", "response"),
}
FOREIGN = {"explain_inputs", "required_evals", "topic_family", "threshold_profile", "task_type", "schema_version"}
"""Fields of other line formats."""


class Cells(Struct, frozen=True):
    """The values of one row, by column; empty cells are left out (but for an empty answer)."""

    values: Json
    problems: list[Problem]


_QUESTION = {"question_id", "user_inputs"}
"""What the rows that we write always have."""


def is_simulation(columns: set[str]) -> bool:
    return (len(columns & DISTINCTIVE) >= 2 or columns >= _QUESTION) and not columns & FOREIGN


def is_known(column: str) -> bool:
    return column in JSON_COLUMNS or column in PLAIN or column.startswith(NUMBERED)


def read_cells(row: Mapping[str, Any], spot: Spot, *, table: bool) -> Cells:
    """`table`: every value is the text of a cell."""
    cells = Cells({}, [])
    for column, given in row.items():
        if given is None or (given == "" and column != "final_response"):
            continue
        if type(given) in JSON_COLUMNS.get(column, ()) and type(given) is not str:
            cells.values[column] = given
        elif column in JSON_COLUMNS:
            _read_json(column, given, spot.below(column), cells)
        else:
            cells.values[column] = plain_value(column, given) if table else given
    _check_plain(cells, spot)
    for column, value in cells.values.pop("other_columns", {}).items():
        cells.values.setdefault(column, value)
    return cells


def _read_json(column: str, given: Any, spot: Spot, cells: Cells) -> None:
    kinds = JSON_COLUMNS[column]
    value = given
    if isinstance(given, str):
        value, problems = _loaded(given, spot, kinds)
        cells.problems.extend(problems)
        if any(problem.level is Level.ERROR for problem in problems):
            return
    if value is None:
        return
    if type(value) in kinds:
        cells.values[column] = value
        return
    wanted = " or ".join(kind_of(kind()) for kind in kinds)
    message = f"must hold {with_article(wanted)}, not {with_article(kind_of(value))}"
    cells.problems.append(spot.problem("wrong-type", message, expected=wanted, found=shown(value)))


def _loaded(text: str, spot: Spot, kinds: tuple[type, ...]) -> tuple[Any, list[Problem]]:
    """The value that a JSON text holds. Where a Python program printed its own values (`{'a': None}`), those are read,
    with a warning."""
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
    """A text inside the JSON text is what a program wrote that encoded twice; it is read where it holds more JSON."""
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
    """The object or list that Python printed; None where it is none, or holds what JSON cannot."""
    try:
        value = ast.literal_eval(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict | list) else None


def plain_value(column: str, text: str) -> Any:
    """A cell of a column that we only keep: the JSON it holds where it looks like some (numbers: only where
    measurements stand), else the text as it is."""
    if column in VERBATIM:
        return text
    if text.startswith(("{", "[", '"')) or column.startswith(NUMBERED):
        value, problems = parse_json(text.encode("utf-8", "surrogatepass"), file="", line=None)
        return text if problems else value
    return text


def _check_plain(cells: Cells, spot: Spot) -> None:
    answer = cells.values.get("final_response")
    if answer is not None and not isinstance(answer, str):
        message = f"must be a text, not {with_article(kind_of(answer))}"
        at = spot.below("final_response")
        cells.problems.append(at.problem("wrong-type", message, expected="string", found=shown(answer)))


def cells_of(row: Json, columns: Iterable[str] | None = None) -> dict[str, str]:
    """The cells of a row that was `table_row`, in these columns (by default its own)."""
    wanted = row if columns is None else columns
    return {column: _cell(column, row[column]) if column in row else "" for column in wanted}


def table_row(row: Json) -> Json:
    """The row as a table can hold it: a value that would not come back from a cell of its own column (a number among
    texts …) is kept in `other_columns`."""
    own: Json = {}
    others: Json = {}
    for column, value in row.items():
        safe = column in JSON_COLUMNS or column in VERBATIM or _comes_back(column, value)
        (own if safe else others)[column] = value
    return {**own, "other_columns": others} if others else own


def _comes_back(column: str, value: Any) -> bool:
    cell = _cell(column, value)
    back = plain_value(column, cell)
    return bool(cell) and type(back) is type(value) and bool(back == value)


def _cell(column: str, value: Any) -> str:
    if isinstance(value, str) and (column not in JSON_COLUMNS or str in JSON_COLUMNS[column]):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
