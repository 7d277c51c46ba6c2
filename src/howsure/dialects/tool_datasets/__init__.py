"""Dialects of other tools: their datasets and configurations, read strictly, on shared readers."""

from __future__ import annotations

from typing import Any

from howsure.dialects.plain import PlainDialect
from howsure.dialects.tool_datasets import inner_rows
from howsure.dialects.tool_datasets.lm_eval import LmEvalDialect
from howsure.dialects.tool_datasets.promptfoo import PromptfooDialect
from howsure.dialects.tool_datasets.pydantic_evals import PydanticEvalsDialect
from howsure.dialects.tool_datasets.tables import tool_tables


def tool_dialects() -> tuple[Any, ...]:
    """Every one of them, and plain tables, which are asked last. Those that only read have no `write`."""
    return (
        PromptfooDialect(),
        *tool_tables(),
        inner_rows.ConversationGoldens(),
        *inner_rows.INNER_ROWS,
        inner_rows.OpenAiRegistry(),
        PydanticEvalsDialect(),
        LmEvalDialect(),
        PlainDialect(),
    )
