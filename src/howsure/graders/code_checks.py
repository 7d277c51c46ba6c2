"""`code_check`: programs that stand in a dataset, or in files beside it, decide about answers. Each runs in a process
of its own with a time limit, and without the keys of the environment. The grader is no built-in: a run gets it only for
a file that somebody trusts."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from howsure.config import program_environment
from howsure.graders.expectations import ExpectationGrader, numbered
from howsure.model.case import Case, opening
from howsure.model.expectation import CodeCheck
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript

SECONDS = 30.0
LONGEST_ERROR = 300
_RUNNERS = {
    "python": (sys.executable, "-P", str(Path(__file__).with_name("code_runner.py"))),
    "javascript": ("node", str(Path(__file__).with_name("code_runner.mjs"))),
}


def runnable_languages() -> tuple[str, ...]:
    """The languages in which checks can run on this machine."""
    return tuple(language for language, (program, *_) in _RUNNERS.items() if shutil.which(program))


class CodeCheckGrader(ExpectationGrader[CodeCheck]):
    """Runs the checks of a dataset in its folder."""

    name = "code_check"
    only_with = (CodeCheck,)

    def __init__(self, folder: Path, seconds: float = SECONDS) -> None:
        self._folder = folder
        self._seconds = seconds

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        context = {"vars": case.state, "prompt": opening(case.input)}
        checks = (each for each in case.expectations if isinstance(each, CodeCheck))
        return numbered([await self._check(each, transcript.answer, context) for each in checks])

    async def _check(self, check: CodeCheck, output: str, context: dict[str, Any]) -> Grade:
        given = {"code": check.code, "file": check.file, "function": check.function, "output": output}
        request = msgspec.json.encode({**given, "context": {**context, "config": check.config}})
        process = await asyncio.create_subprocess_exec(
            *_RUNNERS[check.language],
            cwd=self._folder,
            env=program_environment(os.environ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        try:
            async with asyncio.timeout(self._seconds):
                printed, said = await process.communicate(request)
        except TimeoutError:
            return self.unknown(f"{_named(check)} took longer than {self._seconds:g} s and was ended")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            why = said.decode("utf-8", "replace").strip().splitlines() or [f"it ended with {process.returncode}"]
            thrown = next((line for line in reversed(why) if "Error" in line), why[-1])
            return self.unknown(f"{_named(check)} broke: {thrown.strip()[:LONGEST_ERROR]}")
        lines = printed.decode("utf-8", "replace").strip().splitlines()
        return self._score(check, msgspec.json.decode(lines[-1]) if lines else None)

    def _score(self, check: CodeCheck, returned: Any) -> Grade:
        """What the code returned: yes or no, a number, or an object with `pass`, `score` and `reason`."""
        if isinstance(returned, str) and (returned.lower() in ("true", "false") or returned.startswith("{")):
            try:
                returned = json.loads(returned.lower() if returned[0] != "{" else returned)
            except ValueError:
                return self.unknown(f"{_named(check)} returned no JSON: {returned[:LONGEST_ERROR]}")
        fields = returned if isinstance(returned, dict) else {}
        stated = fields.get("pass", fields.get("pass_"))
        value = fields.get("score", stated) if fields else returned
        if not isinstance(value, bool | int | float):
            return self.unknown(
                f"{_named(check)} returned neither yes or no nor a number: {json.dumps(returned)[:100]}"
            )
        limit = None if isinstance(value, bool) else check.threshold
        enough = value >= limit if limit is not None else stated is not None or value > 0
        passed = (enough and stated in (None, True)) is not check.negate
        shown = min(1.0, max(0.0, float(passed if isinstance(value, bool) else value)))
        reason = str(fields.get("reason") or f"{_named(check)} returned {json.dumps(value)}")
        mark = 1.0 if limit is None else limit
        return Score(name=self.name, value=shown, pass_mark=mark, stated_pass=passed, reason=reason)


def _named(check: CodeCheck) -> str:
    return check.file or f"the {check.language} code"
