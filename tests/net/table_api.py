"""Rows of the API: the fields of a run's body, each with the option of `howsure run` that it is. Sent with and without
it, like the rows of the command line."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from net.table_run import COUNTING_BOT
from net.worlds import FIRST, SECOND, TEST_SET, WORLDS, conversation, rulings

SETTINGS = """
profiles: {strict: {extends: prep_default, marks: {CoherenceExplain: 5}}}
targets:
  letters: {kind: function, function: "letters.py:answer"}
  counting: {kind: function, function: "counting.py:answer"}
  wrong: {kind: function, function: "letters.py:wrong"}
  desk: {kind: function, function: "desk.py:answer"}
service:
  target: letters
  judges: ["recorded:judge.jsonl", "openai-compatible:judge", "openai-compatible:strict"]
"""
LETTERS = """
def answer(text, state):
    return {"answer": "Answer: " + state.get("letter", "A"), "state": state}


def wrong(text):
    return "Answer: B"
"""
FILES: dict[str, Any] = {
    "howsure.yaml": SETTINGS,
    "letters.py": LETTERS,
    "counting.py": COUNTING_BOT,
    "desk.py": TEST_SET["bot.py"],
    "judge.jsonl": [
        *TEST_SET["judge.jsonl"],
        *WORLDS["explain"]["judge.jsonl"],
        *rulings("criteria", ("s1/1", {"passed": True})),
    ],
}
"""In the folder of the service."""
JUDGE = "recorded:judge.jsonl"
LEGAL = {"dataset_id": "@legal"}
TABLE = '{"id": "t1", "question": "A letter?", "answer": "Answer: A", "other": "Answer: B"}\n'
"""A plain table: the bot of the service says "Answer: A"."""
EXPLAIN = {"dataset_id": "@explain", "eval_model": JUDGE}
SET = {"test_set_id": "@set", "eval_model": JUDGE}
TALK = {"test_set_id": "@talk", "eval_model": JUDGE, "target": "desk"}


class ApiRow(Struct, frozen=True):
    """One field of a body. `body` is sent to `path` with it and without it (or with `other`); `expect` and `absent` are
    of the finished run, or of the answer where no run is made, in the words of `net.rows`."""

    of: str
    option: str
    shows: str
    given: Any
    body: dict[str, Any]
    expect: dict[str, Any]
    absent: dict[str, Any]
    other: Any = ...
    path: str = "/runs"


ALL_RULES = {"rubric_id": "@rubric"}
MESSAGES = conversation("x", "I want my money back", "You get it back.")["messages"]
SAID = [{"role": each["role"], "content": each["content"]} for each in MESSAGES]
ROWS = [
    ApiRow("RunGiven.dataset_id", "run DATASET", "the cases of a dataset", "@explain", {"eval_model": JUDGE},
        {"total": 2, "verdicts": {FIRST: "passed", SECOND: "failed"}}, {"total": 4}, other="@legal"),
    ApiRow("RunGiven.question_set_id", "run DATASET", "the questions of a set", "@questions", {"eval_model": JUDGE},
        {"total": 1}, {"status": 422}),
    ApiRow("RunGiven.test_set_id", "run DATASET", "the items of a test set", "@set", {"eval_model": JUDGE},
        {"total": 2, "passed": 1, "failed": 1}, {"status": 422}),
    ApiRow("RunGiven.agent_id", "run --agent", "whose run it is", "desk", LEGAL, {"agent_id": "desk"},
        {"agent_id": None}),
    ApiRow("RunGiven.limit", "run --limit", "only the first two cases run", 2, LEGAL, {"total": 2}, {"total": 4}),
    ApiRow("RunGiven.item_ids", "run --filter", "only these cases", ["q3"], LEGAL,
        {"total": 1, "verdicts": {"q3": "passed"}}, {"total": 4}),
    ApiRow("RunGiven.repeat", "run --repeat", "every case is tried three times", 3, LEGAL, {"total": 12}, {"total": 4}),
    ApiRow("RunGiven.name", "run --name", "what it is called", "monday", LEGAL, {"name": "monday"},
        {"name": "cases.jsonl"}),
    ApiRow("RunGiven.tags", "", "what it is found by", ["nightly"], LEGAL, {"tags": ["nightly"]}, {"tags": []}),
    ApiRow("RunGiven.concurrency", "run --max-concurrency", "one case at a time", 1, {**LEGAL, "target": "counting"},
        {"passed": 4, "concurrency": 1}, {"concurrency": 8}),
    ApiRow("RunGiven.initial_payload", "run --state", "conversations start with it", {"letter": "B"}, LEGAL,
        {"passed": 0, "failed": 4}, {"passed": 4}),
    ApiRow("RunGiven.target", "run --target", "who answers", "wrong", LEGAL, {"failed": 4}, {"passed": 4}),
    ApiRow("RunGiven.eval_model", "run --judge", "who judges", JUDGE, {"dataset_id": "@explain"},
        {"passed": 1, "failed": 1}, {"passed": 2}, other="openai-compatible:judge"),
    ApiRow("RunGiven.profile", "run --profile", "its marks in place of the cases' own", "strict", EXPLAIN,
        {"passed": 0, "failed": 2}, {"passed": 1, "failed": 1}),
    ApiRow("RunGiven.gates", "run --gate", "what it is held to", ["pass_rate >= 99%"], {**LEGAL, "target": "wrong"},
        {"gates.0.outcome": "failed"}, {"gates": []}),
    ApiRow("RunGiven.until_sure", "run --until-sure", "it stops when it is sure", "pass_rate >= 0.9",
        {**LEGAL, "target": "wrong", "concurrency": 1},
        {"gates.0.outcome": "failed", "gates.0.looks": [2, 4], "stopped_early": True, "skipped": 2},
        {"gates": [], "failed": 4}),
    ApiRow("RunGiven.budget", "run --budget", "what is over it is not asked", "1tok",
        {"dataset_id": "@explain", "eval_model": "openai-compatible:strict", "concurrency": 1},
        {"state": "out_of_budget"}, {"state": "completed"}),
    ApiRow("RunGiven.rubric_id", "run --rubric", "the standing rules are judged", "@rubric", SET,
        {"rubric_rules_total": 4, "rubric_rules_passed": 2}, {"rubric_rules_total": None}),
    ApiRow("RunGiven.rubric_version", "run --rubric", "an older version of them", 1,
        {**SET, "rubric_id": "@newer-rubric"}, {"rubric_rules_total": 4}, {"rubric_rules_total": 2}, other=2),
    ApiRow("RunGiven.rubric_ids", "run --rubric", "further rubrics", ["@rubric"], SET,
        {"rubric_rules_total": 4, "rubric_rules_passed": 2}, {"rubric_rules_total": None}),
    ApiRow("RunGiven.test_set_version", "run DATASET", "an older version of it", 1,
        {"test_set_id": "@newer-set", "eval_model": JUDGE}, {"total": 2}, {"total": 1}, other=2),
    ApiRow("RunGiven.question_set_version", "run DATASET", "a version that there is", 1,
        {"question_set_id": "@questions", "eval_model": JUDGE}, {"total": 1}, {"status": 404}, other=2),
    ApiRow("RunGiven.component_scope", "run --component-scope", "only the rules of this scope", "prompt",
        {**SET, **ALL_RULES}, {"rubric_rules_total": 2}, {"rubric_rules_total": 4}),
    ApiRow("RunGiven.component_ids", "run --component-id", "only the rules of this component, or of none",
        ["elsewhere"], {**SET, **ALL_RULES}, {"rubric_rules_total": 2, "rubric_rules_passed": 2},
        {"rubric_rules_total": 4}),
    ApiRow("RunGiven.config_id", "run --graders", "which graders", "@config", EXPLAIN, {"passed": 2},
        {"passed": 1, "failed": 1}),
    ApiRow("RunGiven.simulator", "run --simulator", "who plays the user", "openai-compatible:judge", TALK,
        {"simulator": "openai-compatible:judge"}, {"simulator": "offline"}),
    ApiRow("RunGiven.match", "run --match", "a program compares the answers of a plain table", "exact",
        {"dataset_id": "@table"}, {"passed": 1, "graders.0.name": "exact_match"},
        {"graders.0.name": "reference_answer"}),
    ApiRow("RunGiven.map", "run --map", "which column of a plain table is what", {"expected": "other"},
        {"dataset_id": "@table", "match": "exact"}, {"failed": 1}, {"passed": 1}),
    ApiRow("RunGiven.engine", "run --engine", "ray: needs the extra", "ray", LEGAL, {"status": 422},
        {"status": "completed"}),
    ApiRow("EvaluationGiven.bot_id", "run --agent", "whose run it is", "desk", {"test_set_id": "@set"},
        {"agent_id": "desk"}, {"status": 422}, path="/evaluations"),
    ApiRow("EvaluationGiven.test_set_id", "run DATASET", "the items of a test set", "@set", {"bot_id": "desk"},
        {"total": 2}, {"total": 1}, other="@talk", path="/evaluations"),
    ApiRow("EvaluationGiven.keep", "", "false: the cases are not kept as a dataset", False,
        {"bot_id": "desk", "test_set_id": "@lone-set"}, {"kept": False}, {"kept": True}, path="/evaluations"),
    ApiRow("EvaluationGiven.mode", "run --criteria-from", "transcript: finished conversations are graded", "transcript",
        {"bot_id": "desk", "test_set_id": "@set", "conversation_ids": ["@result"], "eval_model": JUDGE},
        {"total": 1}, {"status": 400}, path="/evaluations"),
    ApiRow("EvaluationGiven.conversation_ids", "run --criteria-from", "which conversations", ["@result"],
        {"bot_id": "desk", "test_set_id": "@set", "mode": "transcript", "eval_model": JUDGE},
        {"total": 1}, {"status": 400}, path="/evaluations"),
    ApiRow("RegradeGiven.name", "run --name", "what the new run is called", "again", {}, {"name": "again"},
        {"name": ...}, path="/runs/@run/regrade"),
    ApiRow("RegradeGiven.profile", "run --profile", "other marks", "strict", {"eval_model": JUDGE}, {"passed": 0},
        {"passed": 1}, path="/runs/@explained/regrade"),
    ApiRow("RegradeGiven.eval_model", "run --judge", "another judge", "openai-compatible:judge", {}, {"passed": 2},
        {"passed": 1}, path="/runs/@explained/regrade"),
    ApiRow("RegradeGiven.rubric_id", "run --rubric", "other rules", "@rubric", {"eval_model": JUDGE},
        {"rubric_rules_total": 4}, {"rubric_rules_total": None}, path="/runs/@run/regrade"),
    ApiRow("RegradeGiven.rubric_version", "run --rubric", "an older version of them", 1,
        {"rubric_id": "@newer-rubric", "eval_model": JUDGE}, {"rubric_rules_total": 4}, {"rubric_rules_total": 2},
        other=2, path="/runs/@run/regrade"),
    ApiRow("RegradeGiven.test_set_version", "run DATASET", "a version that there is", 1, {"eval_model": JUDGE},
        {"total": 2, "test_set_version": 1}, {"status": 404}, other=2, path="/runs/@run/regrade"),
    ApiRow("TranscriptGiven.state", "run --responses", "the state at its end", {"paid": True},
        {"messages": SAID, "success_criteria": ["One"], "eval_model": "openai-compatible:judge"},
        {"output.state": {"paid": True}}, {"output.state": None}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.messages", "run --responses", "what was said", SAID,
        {"success_criteria": ["Says that the money comes back"], "eval_model": "openai-compatible:judge"},
        {"criteria_passed": True}, {"status": 422}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.tool_calls", "run --responses", "what was done", [{"name": "refund", "arguments": {}}],
        {"messages": SAID, "success_criteria": ["It is polite"], "eval_model": "openai-compatible:judge"},
        {"output.tool_calls.#": 1}, {"output.tool_calls.#": 0}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.success_criteria", "run --criteria-from", "what it is held against", ["One", "Two"],
        {"messages": SAID, "eval_model": "openai-compatible:judge"}, {"criteria_scores.#": 2},
        {"criteria_scores.#": 1}, other=["One"], path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.test_set_id", "run --criteria-from", "the criteria of a test set", "@set",
        {"messages": SAID, "eval_model": "openai-compatible:judge"}, {"criteria_scores.#": 2}, {"status": 422},
        path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.rubric_id", "run --rubric", "the standing rules", "@rubric",
        {"messages": SAID, "success_criteria": ["One"], "eval_model": "openai-compatible:judge"},
        {"rubric_scores.#": 2}, {"rubric_scores": []}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.bot_id", "run --agent", "whose description judges are shown", "desk",
        {"messages": SAID, "rubric_id": "@rubric", "success_criteria": ["One"],
         "eval_model": "openai-compatible:judge"},
        {"rubric_scores.0.reasoning": "the agent was told to be kind"},
        {"rubric_scores.0.reasoning": "because it says so"}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.eval_model", "run --judge", "who judges", "openai-compatible:strict",
        {"messages": SAID, "success_criteria": ["One"]}, {"criteria_passed": False}, {"criteria_passed": True},
        other="openai-compatible:judge", path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.component_scope", "run --component-scope", "only the rules of this scope", "function",
        {"messages": SAID, "success_criteria": ["One"], "rubric_id": "@rubric",
         "eval_model": "openai-compatible:judge"},
        {"rubric_scores.#": 1}, {"rubric_scores.#": 2}, path="/evaluate-transcript"),
    ApiRow("TranscriptGiven.component_ids", "run --component-id", "only the rules of this component", ["elsewhere"],
        {"messages": SAID, "success_criteria": ["One"], "rubric_id": "@rubric",
         "eval_model": "openai-compatible:judge"},
        {"rubric_scores.#": 1}, {"rubric_scores.#": 2}, path="/evaluate-transcript"),
]  # fmt: skip
