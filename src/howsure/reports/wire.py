"""The shapes of the evaluation API that a run is read by: one door to both."""

from __future__ import annotations

from howsure.reports.result_wire import error, evaluation_result
from howsure.reports.run_wire import evaluation_run

__all__ = ["error", "evaluation_result", "evaluation_run"]
