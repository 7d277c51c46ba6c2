"""Howsure tells whether an AI agent, bot or model does its job, and how sure it is of that.

    import howsure
    run = howsure.evaluate([{"input": "What is 2 + 2?", "expected": "4"}], my_bot)
    print(run, run.passed)

The command line is `howsure`; `docs/python.md` tells what can be done from Python. What stands here is loaded when it
is asked for: `import howsure` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from howsure.version import __version__

if TYPE_CHECKING:
    from howsure.client.async_client import AsyncClient as AsyncClient
    from howsure.client.blocking_client import Client as Client
    from howsure.errors import HowsureError as HowsureError
    from howsure.errors import InputError as InputError
    from howsure.model.case import Case as Case
    from howsure.model.result import Result as Result
    from howsure.services.python.evaluate import evaluate as evaluate
    from howsure.services.python.evaluate import evaluate_async as evaluate_async
    from howsure.services.python.evaluate import load_run as load_run
    from howsure.services.python.finished_run import FinishedRun as Run

PLACES = {
    "HowsureError": "howsure.errors:HowsureError",
    "AsyncClient": "howsure.client.async_client:AsyncClient",
    "Client": "howsure.client.blocking_client:Client",
    "InputError": "howsure.errors:InputError",
    "Case": "howsure.model.case:Case",
    "Result": "howsure.model.result:Result",
    "Run": "howsure.services.python.finished_run:FinishedRun",
    "evaluate": "howsure.services.python.evaluate:evaluate",
    "evaluate_async": "howsure.services.python.evaluate:evaluate_async",
    "load_run": "howsure.services.python.evaluate:load_run",
}
"""Where each name really lives."""

__all__ = [
    "AsyncClient",
    "Case",
    "Client",
    "HowsureError",
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
        raise AttributeError(f"module 'howsure' has no attribute {name!r}; it has {', '.join(PLACES)}")
    module, _, own = PLACES[name].partition(":")
    return getattr(import_module(module), own)


def __dir__() -> list[str]:
    return __all__
