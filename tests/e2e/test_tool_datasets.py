"""Files of other tools, as a user runs, checks and converts them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases
from howsure.dialects.tool_datasets.promptfoo import PromptfooDialect
from howsure.model.case import SingleTurn
from howsure.model.expectation import Criteria, ExactText, IncludedText, JsonOutput, ReferenceAnswer, TextPattern

Howsure = Callable[..., Any]
FIXTURES = Path(__file__).parents[1] / "data" / "tools"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURES, tmp_path, dirs_exist_ok=True)
    return tmp_path


def verdicts(howsure: Howsure) -> dict[tuple[str, str], str]:
    found = howsure("results", "latest", "--json").json
    return {(each["candidate"], each["output"]["messages"][0]["content"]): each["verdict"] for each in found}


def test_prompts_and_providers_of_promptfoo_are_candidates(
    howsure: Howsure, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWSURE_TRUST", "")
    done = howsure("run", "promptfooconfig.yaml", "--json", "--name", "greetings")
    assert done.code == 0
    assert (done.json["total"], done.json["passed"], done.json["failed"]) == (6, 4, 2)
    assert "2 × assertion `javascript`: is code, which runs only where the file is trusted" in done.err
    # With the threshold, `contains` (1 of 3) is not enough where `starts-with` (weight 2) fails.
    assert verdicts(howsure) == {
        ("prompt 1", "Say hello to Ada in French."): "passed",
        ("short", "Greet Ada in French, in one word."): "passed",
        ("prompt 1", "Say hello to Bo in Spanish."): "passed",
        ("short", "Greet Bo in Spanish, in one word."): "failed",
        ("prompt 1", "Say hello to Cy in Spanish."): "passed",
        ("short", "Greet Cy in Spanish, in one word."): "failed",
    }
    flags = [each["flags"] for each in howsure("results", "latest", "--json").json if each["flags"]]
    assert flags[0] == [{"kind": "not_checked", "text": "javascript: output.length > 3"}]
    assert howsure("run", "promptfooconfig.yaml", "--candidate", "short", "--json").json["total"] == 3


PROMPTS = [
    ("[1, 2]", "[1, 2]", ()),
    ('[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{v}}?"}]', "x?", ("Be brief.",)),
]


@pytest.mark.parametrize(("prompt", "message", "before"), PROMPTS)
def test_a_prompt_is_a_text_or_messages(prompt: str, message: str, before: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": [prompt], "providers": ["echo"], "tests": [{"vars": {"v": "x"}}]}))
    (case,) = read_cases(path, PromptfooDialect())
    assert isinstance(case.input, SingleTurn)
    assert (case.input.message, tuple(each.content for each in case.input.history)) == (message, before)


BOT = """def call_api(prompt, options, context):
    if "Bo" in prompt:
        return {"error": "no Bo here"}
    return {"output": f"{options['config']['tone']} {prompt} {context['vars']['name']}"}
"""
CODE = """prompts: ['Greet {{name}}']
providers:
  - id: file://bot.py
    label: bot
    config: {tone: kindly}
  - 'exec: sh say.sh'
tests:
  - vars: {name: Ada}
    assert: [{type: equals, value: kindly Greet Ada Ada}]
  - vars: {name: Bo}
    assert: [{type: equals, value: said Greet Bo}]
"""


def test_providers_that_are_code_run_only_where_they_are_trusted(
    howsure: Howsure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(CODE)
    (tmp_path / "bot.py").write_text(BOT)
    (tmp_path / "say.sh").write_text('touch ran\necho "said $1"\n')
    monkeypatch.setenv("HOWSURE_TRUST", "")
    monkeypatch.setenv("HOWSURE_TRUST_FILE", str(tmp_path / "trusted.json"))
    refused = howsure("run", "promptfooconfig.yaml")
    assert refused.code == 2
    assert "runs code (function): howsure.targets.promptfoo:call_program sh say.sh" in refused.err
    assert not (tmp_path / "ran").exists()
    assert howsure("trust", "promptfooconfig.yaml", "--yes").code == 0
    done = howsure("run", "promptfooconfig.yaml", "--json")
    assert done.code == 3
    found = {(each["candidate"], each["item_name"]): each for each in howsure("results", "latest", "--json").json}
    assert {key: each["verdict"] for key, each in found.items()} == {
        ("bot", "Greet Ada"): "passed",
        ("bot", "Greet Bo"): "errored",
        ("exec: sh say.sh", "Greet Ada"): "failed",
        ("exec: sh say.sh", "Greet Bo"): "passed",
    }
    assert "no Bo here" in found["bot", "Greet Bo"]["error"]
    assert howsure("retry", "latest", "--errors", "--json").code == 3
    (tmp_path / "say.sh").write_text("echo changed\n")
    assert "changed since you trusted it: say.sh" in howsure("run", "promptfooconfig.yaml").err


CHECKED = """prompts: ['{{v}}']
providers: [echo]
tests:
  - description: python
    vars: {v: hello}
    assert: [{type: python, value: "context['vars']['v'] in output"}, {type: not-python, value: len(output) > 9}]
  - description: wrong
    vars: {v: hello}
    assert: [{type: python, value: "if len(output) < 9:\\n  return {'pass': False, 'score': 0.2, 'reason': 'short'}"}]
  - description: file
    vars: {v: hello}
    assert: [{type: python, value: 'file://checks.py:shout', threshold: 0.6, config: {share: 0.7}}]
  - description: broken
    vars: {v: hello}
    assert: [{type: python, value: 1 / 0}]
  - description: javascript
    vars: {v: hello}
    assert: [{type: javascript, value: 'const n = output.length; n === 5'}, {type: javascript, value: 'file://c.js'}]
"""
CHECKS = """from pathlib import Path


def shout(output, context):
    Path("ran").touch()
    print("noise")
    return context["config"]["share"]
"""


def test_assertions_that_are_code_run_only_where_they_are_trusted(
    howsure: Howsure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(CHECKED)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "c.js").write_text("module.exports = (output, context) => output === context.vars.v;\n")
    monkeypatch.setenv("HOWSURE_TRUST", "")
    monkeypatch.setenv("HOWSURE_TRUST_FILE", str(tmp_path / "trusted.json"))
    done = howsure("run", "promptfooconfig.yaml", "--json")
    assert (done.code, done.json["skipped"], done.json["flags"]) == (0, 5, {"not_checked": 5})
    assert "assertion `python`: is code, which runs only where the file is trusted" in done.err
    assert not (tmp_path / "ran").exists()
    shown = howsure("trust", "promptfooconfig.yaml", "--yes").out
    assert "runs code (assertions): javascript" in shown and "python checks.py" in shown
    assert howsure("run", "promptfooconfig.yaml", "--json").code == 3
    found = {each["item_name"]: each for each in howsure("results", "latest", "--json").json}
    node = shutil.which("node") is not None
    assert {name: each["verdict"] for name, each in found.items()} == {
        "python": "passed",
        "wrong": "failed",
        "file": "passed",
        "broken": "errored",
        "javascript": "passed" if node else "skipped",
    }
    assert "short" in str(found["wrong"]["reasons"])
    assert "the python code broke: ZeroDivisionError: division by zero" in str(found["broken"])
    assert (tmp_path / "ran").exists()
    (tmp_path / "checks.py").write_text("changed = 1\n")
    assert howsure("run", "promptfooconfig.yaml", "--json").json["skipped"] == 5


MOODY = """import pathlib


def call_api(prompt, options, context):
    if pathlib.Path("better").exists() or "Insult" not in prompt:
        return {"output": prompt}
    raise RuntimeError("never")
"""


def test_a_run_of_several_prompts_is_retried_with_the_same_ones(howsure: Howsure, tmp_path: Path) -> None:
    config = {
        "prompts": ["Greet {{name}}", {"label": "rude", "raw": "Insult {{name}}"}],
        "providers": ["file://moody.py"],
        "tests": [{"vars": {"name": "Ada"}, "assert": [{"type": "contains", "value": "Ada"}]}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    (tmp_path / "moody.py").write_text(MOODY)
    words = ("run", "promptfooconfig.json", "--trust", "--json")
    first = howsure(*words)
    assert (first.code, first.json["passed"], first.json["errored"]) == (3, 1, 1)
    (tmp_path / "better").touch()
    again = howsure("retry", "latest", "--errors", "--trust", "--json")
    assert (again.code, again.json["total"], again.json["passed"]) == (0, 2, 2)
    assert verdicts(howsure) == {("prompt 1", "Greet Ada"): "passed", ("rude", "Insult Ada"): "passed"}


class _Shop(BaseHTTPRequestHandler):
    """Answers in the shape of a chat interface, and keeps what it was sent."""

    bodies: list[Any] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        answer = json.dumps({"choices": [{"message": {"content": f"about {body['prompt']}"}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


def test_an_http_provider_gets_the_prompt_and_the_variables(howsure: Howsure, tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Shop)
    Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "prompts": ["Write about {{topic}}"],
        "providers": [
            {
                "id": f"http://127.0.0.1:{server.server_port}/chat",
                "config": {
                    "method": "POST",
                    "body": {"prompt": "{{prompt}}", "model": "{{model}}"},
                    "transformResponse": "json.choices[0].message.content",
                },
            }
        ],
        "tests": [{"vars": {"topic": "tea", "model": "m1"}, "assert": [{"type": "icontains", "value": "ABOUT write"}]}],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    done = howsure("run", "promptfooconfig.json", "--json")
    server.shutdown()
    server.server_close()
    assert (done.code, done.json["passed"]) == (0, 1)
    assert _Shop.bodies == [{"prompt": "Write about tea", "model": "m1"}]


ASSERTIONS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "equals", "value": "{{v}}"}, ExactText),
    ({"type": "equals", "value": {"a": 1}}, JsonOutput),
    ({"type": "contains-all", "value": 'a, "b, c"'}, ("a", "b, c")),
    ({"type": "not-icontains", "value": "x"}, IncludedText),
    ({"type": "regex", "value": "a+"}, TextPattern),
    ({"type": "is-json", "value": "type: object"}, JsonOutput),
    ({"type": "llm-rubric", "value": "Is it {{v}}?"}, Criteria),
    ({"type": "factuality", "value": "Paris"}, ReferenceAnswer),
]


@pytest.mark.parametrize(("given", "expected"), ASSERTIONS, ids=lambda each: str(each)[:40])
def test_assertions_become_expectations(given: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    config = {"prompts": ["{{v}}"], "providers": ["echo"], "tests": [{"vars": {"v": "yes"}, "assert": [given]}]}
    path.write_text(json.dumps(config))
    (case,) = read_cases(path, PromptfooDialect())
    (found,) = case.expectations
    if isinstance(expected, tuple):
        assert isinstance(found, IncludedText) and (found.values, found.every) == (expected, True)
        return
    assert isinstance(found, expected)
    assert getattr(found, "negate", False) is given["type"].startswith("not-")
    if isinstance(found, ExactText):
        assert found.values == ("yes",)
    if isinstance(found, Criteria):
        assert found.criteria[0].text == "Is it yes?"


HOSTILE = {
    "file:///etc/passwd": "outside the folder",
    "file://../secret.txt": "outside the folder",
    "{{ ''.__class__.__mro__ }}": "unsafe",
    "{% for i in range(10**9) %}x{% endfor %}": "may become too large",
    "{{ 'x' * 99999999 }}": "may become too large",
    "{{ x": "cannot be filled",
}


@pytest.mark.parametrize("prompt", HOSTILE)
def test_a_strangers_configuration_reads_no_other_files_and_runs_nothing(
    howsure: Howsure, tmp_path: Path, prompt: str
) -> None:
    test = {"vars": {"v": prompt}} if prompt.startswith("file") else {"vars": {"v": "x"}}
    config = {"prompts": ["{{v}}" if prompt.startswith("file") else prompt], "providers": ["echo"], "tests": [test]}
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "inner" / "promptfooconfig.json").write_text(json.dumps(config))
    (report,) = howsure("validate", "inner/promptfooconfig.json", "--json").json["files"]
    assert HOSTILE[prompt] in report["problems"][0]["message"]


@pytest.mark.parametrize(
    ("file", "passed"),
    [("openai_registry.yaml", 0), ("inspect.jsonl", 1), ("pydantic_evals.yaml", 0), ("lm_eval_task.yaml", 1)],
)
def test_datasets_run_with_answers_from_elsewhere(howsure: Howsure, folder: Path, file: str, passed: int) -> None:
    """The bot always says B: right where the letter is, and nowhere else."""
    (folder / "bot.py").write_text("def answer(text):\n    return 'Answer: B'\n")
    limit = ("--limit", "1")
    done = howsure("run", file, "--target", "function:bot.py:answer", "--judge", "none", *limit, "--json").json
    assert (done["total"], done["passed"]) == (1, passed)


def test_a_table_without_expected_answers_says_that_nothing_is_decided(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "chats.jsonl").write_text('{"prompt": "Hi", "completion": "Hello"}\n')
    done = howsure("run", "chats.jsonl", "--json")
    assert done.json["notes"] == ["1 case without `expected`, `criteria` or the like: nothing to decide there"]
    assert done.json["skipped"] == 1


def test_match_compares_the_tables_of_tools_by_program(howsure: Howsure, folder: Path) -> None:
    (folder / "bot.py").write_text("def answer(text):\n    return 'It is the day.'\n")
    words = ("run", "openai_samples.jsonl", "--target", "function:bot.py:answer", "--match", "includes", "--json")
    done = howsure(*words).json
    assert (done["total"], done["passed"], done["failed"]) == (2, 1, 1)


@pytest.mark.parametrize("kind", ["inspect", "openai-evals", "langsmith", "braintrust", "ragas", "deepeval"])
def test_one_tools_dataset_becomes_anothers(howsure: Howsure, folder: Path, kind: str) -> None:
    (folder / "plain.jsonl").write_text('{"id": "p1", "question": "Who?", "answer": "Ada"}\n')
    report = howsure("convert", "plain.jsonl", "--to", kind, "-o", "out.jsonl", "--json").json
    assert (report["read"], report["written"]) == (1, 1)
    row = json.loads((folder / "out.jsonl").read_text())
    assert (
        row
        == {
            "inspect": {"id": "p1", "input": "Who?", "target": "Ada"},
            "openai-evals": {"id": "p1", "input": "Who?", "ideal": "Ada"},
            "langsmith": {"id": "p1", "inputs": {"question": "Who?"}, "outputs": {"answer": "Ada"}},
            "braintrust": {"id": "p1", "input": "Who?", "expected": "Ada"},
            "ragas": {"id": "p1", "user_input": "Who?", "reference": "Ada"},
            "deepeval": {"id": "p1", "input": "Who?", "expected_output": "Ada"},
        }[kind]
    )


CONFIGS: dict[str, tuple[dict[str, str], int, str]] = {
    # the files, how many cases they give, and the first problem or warning
    "a text that begins with True": ({"c.yaml": "prompts: ['{{v}}']\ntests: [{vars: {v: True story}}]\n"}, 1, ""),
    "prompts alone": ({"c.yaml": "prompts: [Say hi]\nproviders: [echo]\n"}, 1, ""),
    "patterns and lists in files": (
        {"c.yaml": "prompts: ['{{v}}{{w}}']\ntests: [file://t/*.yaml, {vars: file://t/v/x.yaml}]\n",
         "t/a.yaml": "- vars: v/x.yaml\n", "t/b.yaml": "- vars: {v: file://n/*.txt}\n", "t/v/x.yaml": "v: 1\nw: 2\n",
         "n/1.txt": "one", "n/2.txt": "two"}, 4, ""),
    "scenarios in a file": (
        {"c.yaml": "prompts: ['{{v}}']\nscenarios: [file://s.yaml]\n",
         "s.yaml": "- config: [{vars: {v: a}}, {vars: {v: b}}]\n  tests: [{description: x}]\n"}, 2, ""),
    "a list that is no list of texts": (
        {"c.yaml": "prompts: ['{% for k, v in talk[1] %}{{k}}: {{v}}{% endfor %}']\n"
                   "tests: [{vars: {talk: [{user: a}, {bot: b}]}}]\n"}, 1, ""),
    "a variable of the environment": (
        {"c.yaml": "prompts: ['Hi {{env.USER}}']\ntests: [{vars: {}}]\n"}, 1,
        "1 × prompt with a variable of the environment: which is empty here"),
    "what a test has beyond what is read": (
        {"c.yaml": "prompts: ['{{v}}']\ntests: [{vars: {v: a}, options: {rubricPrompt: x}}]\n"}, 1,
        "1 × `rubricPrompt` of a test: has no counterpart here and is not used"),
    "red teaming": (
        {"c.yaml": "targets: [echo]\nredteam: {plugins: [pii]}\n"}, 0,
        "there are no tests here: promptfoo makes those of `redteam` before it runs"),
    "tests that code makes": (
        {"c.yaml": "prompts: [x]\ntests: file://t.py:make\n"}, 0,
        "tests that are made by code are not read: file://t.py:make"),
    "tests in a workbook": (
        {"c.yaml": "prompts: [x]\ntests: file://t.xlsx\n"}, 0,
        "tests that are in a workbook are not read: file://t.xlsx"),
    "an image": (
        {"c.yaml": "prompts: ['{{v}}']\ntests: [{vars: {v: file://cat.jpg}}]\n", "cat.jpg": ""}, 0,
        "this variable is an image, a sound or a PDF: cat.jpg; only texts are asked here"),
    "a task of lm-eval that includes another": (
        {"c.yaml": '"include": base.yaml\n"task": sub\n',
         "base.yaml": "dataset_path: cais/mmlu\ndoc_to_text: q\ndoc_to_target: a\n"}, 0,
        "the data of this task is not here: cais/mmlu is on the Hugging Face Hub"),
    "a group of lm-eval": (
        {"c.yaml": "group: mmlu\ntask: [a, b]\n"}, 0, "this is a group of tasks, with no data of its own"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_of_many_shapes_are_read_or_give_one_reason(howsure: Howsure, tmp_path: Path, name: str) -> None:
    files, count, said = CONFIGS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (report,) = howsure("validate", "c.yaml", "--json").json["files"]
    assert (report["cases"], len(report["problems"])) == (count, 0 if count else 1)
    assert [each["message"] for each in (*report["problems"], *report["warnings"])][:1] == ([said] if said else [])


def test_a_dataset_of_several_files_runs_with_its_warnings(
    howsure: Howsure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWSURE_TRUST", "")
    config = "prompts: ['{{v}}']\nproviders: [echo, 'openai:gpt-x']\ntests: file://t.csv\nextensions: [x]\n"
    (tmp_path / "c.yaml").write_text(config)
    (tmp_path / "t.csv").write_text("v,__expected,__expected2\nhi,contains: hi,javascript: output.length > 1\n")
    done = howsure("run", "c.yaml", "--candidate", "echo", "--json")
    assert (done.code, done.json["passed"]) == (0, 1)
    assert "1 × assertion `javascript`: is code, which runs only where the file is trusted" in done.err


def test_goldens_without_answers_wait_for_somebody_to_answer(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("input,actual_output,expected_output,retrieval_context\n2+2?,,4,\n")
    assert "Name a file with --responses, or a live --target" in howsure("run", "g.csv").err


def test_outputs_of_a_dataset_are_the_reference(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"inputs": {"input": "2+2?"}, "outputs": {"output": "4"}, "split": "test"}\n')
    (report,) = howsure("validate", "d.jsonl", "--json").json["files"]
    assert report["columns"] == "inputs.input → input, outputs.output → expected; labels: split"


def test_only_the_chosen_candidate_is_the_target(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['Say: {{q}}']\nproviders: [echo, {id: 'openai:gpt-4o-mini', label: mini}]\n"
        "tests: [{vars: {q: hello}, assert: [{type: contains, value: hello}]}]\n",
        encoding="utf-8",
    )
    done = howsure("run", "promptfooconfig.yaml", "--candidate", "echo")
    assert done.code == 0
    assert "mini" not in done.out + done.err
