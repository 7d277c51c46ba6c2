"""The providers of promptfoo that are code, as functions for the function target: `echo`, a Python file with
`call_api(prompt, options, context)`, and a program that gets prompt, options and context as its arguments. Whether they
may run is decided before (services/trust.py)."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howsure.config import program_environment
from howsure.errors import TargetFailed
from howsure.targets.objects import load_object

LONGEST_ERROR = 500
_VARIABLE = re.compile(r"\{\{\s?env\.(\w+)\s?\}\}")


def echo(prompt: str) -> str:
    """The provider `echo`: the prompt itself."""
    return prompt


async def call_python(
    prompt: str, state: Mapping[str, Any], file: str, name: str, config: Mapping[str, Any], folder: str
) -> Any:
    """The answer of a Python function: a text, or an object with `output` or `error`."""
    function = load_object(f"{file}:{name}", Path(folder))
    given: tuple[Any, ...] = (prompt, {"id": file, "config": dict(config)}, {"vars": dict(state)})
    answer = (
        await function(*given) if inspect.iscoroutinefunction(function) else await asyncio.to_thread(function, *given)
    )
    if isinstance(answer, Mapping) and answer.get("error"):
        raise TargetFailed(f"{file}: {answer['error']}")
    output = answer.get("output") if isinstance(answer, Mapping) else answer
    if output is None:
        raise TargetFailed(f"{file}: {name} gave no `output`")
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


async def call_program(
    prompt: str, state: Mapping[str, Any], command: str, config: Mapping[str, Any], env: Mapping[str, Any], folder: str
) -> str:
    """What a program prints that is started with the prompt, its options and the context. `env` are the variables that
    its provider lists, `{{env.NAME}}` being one of ours."""
    if not (words := shlex.split(command)):
        raise TargetFailed("the provider names no program")
    listed = {name: _VARIABLE.sub(lambda mark: os.environ.get(mark[1], ""), str(value)) for name, value in env.items()}
    context = [json.dumps({"config": dict(config)}), json.dumps({"vars": dict(state)})]
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            prompt,
            *context,
            cwd=folder,
            env={**program_environment(os.environ), **listed},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        raise TargetFailed(f"{command}: cannot be started: {error}") from error
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    printed, said = (text.decode("utf-8", "replace").strip() for text in (output, errors))
    if process.returncode or (said and not printed):
        raise TargetFailed(f"{command}: ended with {process.returncode}: {said[-LONGEST_ERROR:]}")
    return printed
