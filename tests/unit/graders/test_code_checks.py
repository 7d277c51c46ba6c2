"""Programs of a dataset that check answers: what they may return, and what becomes of those that break or hang."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from howsure.graders.code_checks import CodeCheckGrader
from howsure.model.expectation import CodeCheck
from howsure.model.score import Score, Unscored, UnscoredReason
from howsure.testing import a_case, a_transcript

RETURNED: list[tuple[dict[str, Any], float, bool]] = [
    ({"code": "output == 'Paris'"}, 1.0, True),
    ({"code": "output == 'Paris'", "negate": True}, 0.0, False),
    ({"code": "0.4"}, 0.4, True),
    ({"code": "0"}, 0.0, False),
    ({"code": "0.4", "threshold": 0.5}, 0.4, False),
    ({"code": "7", "threshold": 5.0}, 1.0, True),
    ({"code": "'true'"}, 1.0, True),
    ({"code": '\'{"pass": false, "score": 0.9}\''}, 0.9, False),
    ({"code": "{'pass': True, 'score': 0}"}, 0.0, True),
    ({"code": "{'pass': True, 'score': 0.3}", "threshold": 0.5}, 0.3, False),
    ({"code": "print('noise')\nreturn context['config']['n']", "config": {"n": 1}}, 1.0, True),
    ({"code": "async def ask():\n    return True\nreturn ask()"}, 1.0, True),
]


async def graded(folder: Path, seconds: float = 20, **check: Any) -> Score | Unscored:
    case = a_case(CodeCheck(**{"language": "python", **check}))
    (found,) = await CodeCheckGrader(folder, seconds).grade(case, a_transcript("Paris"))
    return found


@pytest.mark.parametrize(("check", "value", "passed"), RETURNED)
async def test_code_says_yes_no_a_number_or_an_object(
    check: dict[str, Any], value: float, passed: bool, tmp_path: Path
) -> None:
    found = await graded(tmp_path, **check)
    assert isinstance(found, Score), found
    assert (found.value, found.passed) == (value, passed)


BROKEN = {
    "output.nothing": "the python code broke: AttributeError: 'str' object has no attribute 'nothing'",
    "(": "the python code broke: SyntaxError",
    "None": "the python code returned neither yes or no nor a number: null",
    "'perhaps'": "the python code returned neither yes or no nor a number",
    "__import__('time').sleep(60)": "the python code took longer than 1 s and was ended",
    "__import__('os')._exit(3)": "the python code broke: it ended with 3",
}


@pytest.mark.parametrize("code", BROKEN)
async def test_code_that_breaks_or_hangs_is_an_error_and_no_failure(code: str, tmp_path: Path) -> None:
    found = await graded(tmp_path, seconds=1 if "sleep" in code else 20, code=code)
    assert isinstance(found, Unscored) and found.why is UnscoredReason.ERROR
    assert BROKEN[code] in found.reason


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
async def test_javascript_is_an_expression_a_body_or_a_function_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "check.mjs").write_text("export default async (output) => output.length / 10;\n")
    (tmp_path / "named.js").write_text("exports.loud = (output) => output === output.toUpperCase();\n")
    checks: list[dict[str, Any]] = [
        {"code": "output.length > 3"},
        {"code": "let n = 5;\nreturn output.length < n;"},
        {"file": "check.mjs", "threshold": 0.5},
        {"file": "named.js", "function": "loud"},
    ]
    found = [await graded(tmp_path, language="javascript", **each) for each in checks]
    assert [each.passed for each in found if isinstance(each, Score)] == [True, False, True, False]
