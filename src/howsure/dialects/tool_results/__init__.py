"""Readers of other tools' results. They are loaded when a file is imported, or stands where a run is expected."""

from __future__ import annotations

from howsure.dialects.tool_results import experiment_tables as tables
from howsure.dialects.tool_results.adk_histories import AdkHistoryReader
from howsure.dialects.tool_results.base import ResultsReader
from howsure.dialects.tool_results.deepeval_runs import DeepEvalRunReader
from howsure.dialects.tool_results.every_eval_ever_records import EveryEvalEverReader
from howsure.dialects.tool_results.helm_runs import HelmRunReader
from howsure.dialects.tool_results.inspect_logs import InspectLogReader
from howsure.dialects.tool_results.junit_reports import JUnitReportReader
from howsure.dialects.tool_results.lm_eval_results import LmEvalReader
from howsure.dialects.tool_results.openai_results import OaievalLogReader, OpenAIItemReader
from howsure.dialects.tool_results.promptfoo_results import PromptfooResultsReader


def results_readers() -> tuple[ResultsReader, ...]:
    """Every built-in reader of results, in the order in which they are asked; add new ones at the end."""
    known = (InspectLogReader(), PromptfooResultsReader(), LmEvalReader(), HelmRunReader(), DeepEvalRunReader())
    others = (OpenAIItemReader(), OaievalLogReader(), EveryEvalEverReader(), JUnitReportReader())
    experiments = (tables.LangSmithReader(), tables.MLflowTableReader(), tables.BraintrustReader())
    last = (tables.LangfuseRunReader(), AdkHistoryReader(), tables.AzureReader(), tables.PydanticReportReader())
    return (*known, *others, *experiments, *last)
