"""The process in which one check of a dataset's own Python code runs. It is started by code_checks.py, with the request
on stdin; the last line of stdout is what the code returned. What the code prints goes to stderr."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import os
import sys
import textwrap
from typing import Any


def load_function(given: dict[str, Any]) -> Any:
    """The function of a file; or the code: an expression, or the body of a function with more lines."""
    if given["file"]:
        path = os.path.abspath(given["file"])
        sys.path.insert(0, os.path.dirname(path))
        spec = importlib.util.spec_from_file_location("checked_file", path)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, given["function"] or "get_assert")
    code = given["code"].strip("\n")
    body = textwrap.indent(code, "    ") if "\n" in code else f"    return {code.strip()}"
    names: dict[str, Any] = {"json": json}
    exec(compile(f"def main(output, context):\n{body}\n", "the code of the assertion", "exec"), names)
    return names["main"]


def main() -> None:
    given = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr
    returned = load_function(given)(given["output"], given["context"])
    print(json.dumps(asyncio.run(returned) if inspect.iscoroutine(returned) else returned), file=answer)


if __name__ == "__main__":
    main()
