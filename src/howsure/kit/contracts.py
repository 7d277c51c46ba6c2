"""The contracts of the extension points on one page, taken from the code: `python -m howsure.kit.contracts FILE`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType

from howsure.dialects import base as dialects
from howsure.dialects.tool_results import base as tool_results
from howsure.graders import base as graders
from howsure.kit import report_formats
from howsure.llm import base as llm
from howsure.targets import base as targets
from howsure.users import base as users

CONTRACTS: dict[str, tuple[str, ModuleType, tuple[str, ...]]] = {
    "Dialect": ("kit.dialects", dialects, ("Importer", "Dialect")),
    "Results reader": ("kit.results_readers", tool_results, ("ResultsReader", "SampleResult", "UnreadableRecord")),
    "Target": ("kit.targets", targets, ("Target", "Session", "Reply", "Closing")),
    "Target kind": ("kit.kinds", targets, ("TargetKind", "TargetRequest")),
    "Simulated user": ("kit.users", users, ("UserSimulator", "User", "UserMessage", "UserExit")),
    "Grader": ("kit.graders", graders, ("Grader", "BindableGrader", "GraderContext")),
    "Model provider": ("kit.providers", llm, ("Provider", "ModelRequest", "ModelReply")),
    "Report format": ("kit.report_formats", report_formats, ("ReportFormat",)),
}
"""What can be added from outside: the registry, the module of the contract, and the names that make it up."""
HEAD = """# Contracts

What can be added to Howsure from outside, and what each addition has to be. No base class is inherited and nothing
happens on import: a plug-in is a function `register(kit)` (see [extending](extending.md), with an example of each).
This page is made from the code by `make contracts-docs`.
"""


def contracts_page() -> str:
    parts = [HEAD]
    for title, (registry, module, names) in CONTRACTS.items():
        source = "\n\n\n".join(inspect.getsource(getattr(module, name)).rstrip() for name in names)
        path = module.__name__.replace(".", "/")
        parts.append(f"## {title}\n\n`{registry}.add(…)`, from `src/{path}.py`:\n\n```python\n{source}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(contracts_page(), encoding="utf-8")
