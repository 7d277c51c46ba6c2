"""Assay tells whether an AI agent, bot or model does its job, and how sure it is of that.

    import assay
    run = assay.evaluate([{"input": "What is 2 + 2?", "expected": "4"}], my_bot)
    print(run, run.passed)

The command line is `assay`; `docs/python.md` tells what can be done from Python. What stands here is loaded when it is
asked for: `import assay` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.version import __version__

if TYPE_CHECKING:
    from assay.client.asking import AsyncClient as AsyncClient
    from assay.client.blocking import Client as Client
    from assay.errors import AssayError as AssayError
    from assay.errors import InputError as InputError
    from assay.model.case import Case as Case
    from assay.model.result import Result as Result
    from assay.services.evaluating import evaluate as evaluate
    from assay.services.evaluating import evaluate_async as evaluate_async
    from assay.services.evaluating import load_run as load_run
    from assay.services.finished import FinishedRun as Run

PLACES = {
    "AssayError": "assay.errors:AssayError",
    "AsyncClient": "assay.client.asking:AsyncClient",
    "Client": "assay.client.blocking:Client",
    "InputError": "assay.errors:InputError",
    "Case": "assay.model.case:Case",
    "Result": "assay.model.result:Result",
    "Run": "assay.services.finished:FinishedRun",
    "evaluate": "assay.services.evaluating:evaluate",
    "evaluate_async": "assay.services.evaluating:evaluate_async",
    "load_run": "assay.services.evaluating:load_run",
}
"""Where each name really lives."""

__all__ = [
    "AssayError",
    "AsyncClient",
    "Case",
    "Client",
    "InputError",
    "Result",
    "Run",
    "__version__",
    "evaluate",
    "evaluate_async",
    "load_run",
]


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}; it has {', '.join(PLACES)}")
    module, _, own = PLACES[name].partition(":")
    return getattr(import_module(module), own)


def __dir__() -> list[str]:
    return __all__
