"""What the tests with real evaluation tools share: our command, recorded replies, and Inspect with a model of its own
that answers from a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from howsure.main import program

MODEL = "mockllm/model"
USED = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)


def howsure(folder: Path, *words: str | Path, ends: int = 0) -> str:
    """What the command prints on stdout, in this folder."""
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        done = CliRunner(env={"COLUMNS": "120"}).invoke(program, [str(word) for word in words])
    assert done.exit_code == ends, done.output
    return done.stdout


def howsure_json(folder: Path, *words: str | Path, ends: int = 0) -> Any:
    return json.loads(howsure(folder, *words, "--json", ends=ends))


def verdicts(folder: Path, run: str | Path) -> dict[str, str]:
    """The verdict of each case by its name, else its id."""
    results = howsure_json(folder, "results", run)
    return {each["test_case_id"]: each["verdict"] for each in results}


def inspect_eval(
    folder: Path,
    samples: Sequence[Sample],
    answer: Callable[[str], str],
    *,
    scorer: Any,
    kind: str = "eval",
    **options: Any,
) -> EvalLog:
    """Inspect runs the samples; `answer` is given the last thing that was asked."""

    def reply(messages: Any, *_: Any) -> ModelOutput:
        # Without usage the mock counts tokens, and for that it loads a table from the network.
        return ModelOutput.from_content(MODEL, answer(messages[-1].text)).model_copy(update={"usage": USED})

    task = Task(dataset=list(samples), scorer=scorer, name=options.pop("name", "task"))
    (log,) = eval(
        task,
        model=get_model(MODEL, custom_outputs=reply, memoize=False),
        log_dir=str(folder),
        log_format=kind,
        log_realtime=False,
        display="none",
        **options,
    )
    return log
