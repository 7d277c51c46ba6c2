"""Rows of what issue 17 mended: verdicts that hold from the command to the page, in all worlds."""

from __future__ import annotations

import json
from typing import Any

from benchmark_files import lexam_choice
from dialect_rows import explain, mcq, reference_qa, rubric_qa
from net.rows import Row
from net.worlds import FIRST, answers, conversation, entry, rule, rulings

FIVE = [{"id": letter, "text": text} for letter, text in zip("ABCDV", "uwxvy", strict=True)]
PLAIN_RUBRIC = [{"id": "good", "title": "Names the Act", "weight": 8}, {"id": "bad", "title": "Errs", "weight": -5}]
TWICE = ({"attempt": 1}, {"attempt": 2})


def twice(grader: str, *rows: tuple[str, Any]) -> list[dict[str, Any]]:
    """The same replies at the first and at the second attempt."""
    return [line for about in TWICE for line in rulings(grader, *rows, **about)]


# Legal
LEGAL_FILES: dict[str, Any] = {
    "five.jsonl": [mcq(f"q{number}", choices=FIVE, correct_choice_ids=["D"]) for number in (1, 2, 3)],
    "right.jsonl": answers(("q1", "D"), ("q2", "D"), ("q3", "D")),
    "unclear.jsonl": answers(("q1", "D. v"), ("q2", "I cannot say."), ("q3", "A or D")),
    "crossed.jsonl": answers(("q1", "A. v"), ("q2", "D"), ("q3", "D")),
    "rub.jsonl": [rubric_qa("r1", rubric=PLAIN_RUBRIC)],
    "rub-binary.jsonl": [rubric_qa("r1", rubric=PLAIN_RUBRIC, metadata={"policy_id": "prbench_v1"})],
    "rub-house.jsonl": [rubric_qa("r1", rubric=PLAIN_RUBRIC, metadata={"policy_id": "house_v1"})],
    "advice.jsonl": answers(("r1", "See the Act.")),
    "half.jsonl": rulings("weighted_criteria", ("r1/good", {"score": 0.5}), ("r1/bad", {"score": 0})),
    "most.jsonl": twice("weighted_criteria", ("r1/good", {"score": 0.7}), ("r1/bad", {"score": 0})),
    "silent.jsonl": twice("weighted_criteria", ("r1/good", {"score": "N/A"}), ("r1/bad", {"score": 0})),
    "ref.jsonl": [reference_qa("x1")],
    "ref-lexam.jsonl": [reference_qa("x1", metadata={"policy_id": "lexam_oq_v1"})],
    "ref-house.jsonl": [reference_qa("x1", metadata={"policy_id": "house_v1"})],
    "ref-typo.jsonl": [reference_qa("x1", metadata={"policy_id": "prbench_v2"})],
    "ref-number.jsonl": [reference_qa("x1", metadata={"policy_id": 3})],
    "said.jsonl": answers(("x1", "So it is.")),
    "no.jsonl": rulings("reference_answer", ("x1", {"score": 0.9, "pass": False})),
    "yes.jsonl": twice("reference_answer", ("x1", {"score": 0.6, "pass": True})),
    "plain.jsonl": rulings("reference_answer", ("x1", {"score": 0.9})),
    "near.jsonl": rulings("reference_answer", ("x1", {"score": 0.65})),
    "cut.jsonl": [
        {**line, "details": {"finish_reason": "length"}}
        for line in twice("reference_answer", ("x1", '{"score": 0.9, "explanation": "The'))
    ],
    "torn.jsonl": twice("reference_answer", ("x1", '{"score": 0.9, "explanation": "The')),
}
RUB = "run rub.jsonl --responses advice.jsonl --json --judge recorded:"
REF = "run ref.jsonl --responses said.jsonl --json --judge recorded:"
HOUSE = "run ref-house.jsonl --responses said.jsonl --json --judge recorded:"


def legal(
    of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any
) -> Row:
    return Row(
        of, shows, given, run, expect, absent, world="nothing", **{"files": LEGAL_FILES, "guards": shows, **more}
    )


def house(**policy: Any) -> str:
    return f"policies: {json.dumps({'house_v1': policy})}"


LEGAL = [
    legal("run --normalization", "min_max: (8 · 0.5 + 5) / 13 = 0.6923", "--normalization min_max", RUB + "half.jsonl",
          {"failed": 1, "scores": {"r1 weighted_criteria": 0.6923}},
          {"failed": 1, "scores": {"r1 weighted_criteria": 0.5}}, guards="min_max"),
    legal("run --responses", "an answer that names no choice, or several, fails with a flag",
          "--responses unclear.jsonl", "run five.jsonl --json",
          {"passed": 1, "failed": 2, "errored": 0, "flags": {"q1": [], "q2": ["no_choice"], "q3": ["several_choices"]}},
          {"passed": 3, "flags": {"q2": []}}, other="--responses right.jsonl", guards="no choice"),
    legal("run --responses", "`A. v` where v is D's text contradicts itself", "--responses crossed.jsonl",
          "run five.jsonl --json", {"passed": 2, "failed": 1, "flags": {"q1": ["contradictory_choice"]}}, {"passed": 3},
          other="--responses right.jsonl", guards="no choice"),
    legal("run --judge", "weighted criteria: n/a is not offered, and errs", "--judge recorded:silent.jsonl",
          "run rub.jsonl --responses advice.jsonl --json", {"exit": 3, "errored": 1}, {"failed": 1},
          other="--judge recorded:half.jsonl", guards="n/a"),
    legal("validate PATHS", "a policy that nobody has is a problem", "ref-typo.jsonl", "validate --json",
          {"exit": 2, "files.0.problems.0.code": "unknown-policy", "out": "did you mean `prbench_v1`?"},
          {"valid": True}, other="rub-binary.jsonl", guards="policy_id"),
    legal("validate PATHS", "a policy that is no text is a problem", "ref-number.jsonl", "validate --json",
          {"exit": 2, "files.0.problems.0.code": "wrong-type"}, {"valid": True}, other="ref-lexam.jsonl",
          guards="policy_id"),
    legal("run DATASETS", "prbench_v1 is binary: 0.7 is unreadable", "rub-binary.jsonl",
          "run --responses advice.jsonl --json --judge recorded:most.jsonl", {"exit": 3, "errored": 1},
          {"passed": 1, "scores": {"r1 weighted_criteria": 0.7}}, other="rub.jsonl", guards="prbench_v1"),
    legal("run --judge", "the judge's own fail wins over its 0.9", "--judge recorded:no.jsonl",
          "run ref.jsonl --responses said.jsonl --json", {"failed": 1, "scores": {"x1 reference_answer": 0.9}},
          {"passed": 1}, other="--judge recorded:plain.jsonl", guards="pass wins"),
    legal("run DATASETS", "lexam_oq_v1: the score wins over the judge's own fail", "ref-lexam.jsonl",
          "run --responses said.jsonl --json --judge recorded:no.jsonl", {"passed": 1}, {"failed": 1},
          other="ref.jsonl", guards="pass wins"),
    legal("run --judge", "a reply that was cut off says so", "--judge recorded:cut.jsonl",
          "run ref.jsonl --responses said.jsonl --json", {"exit": 3, "out": "cut off at its token limit"},
          {"exit": 3, "no out": "cut off"}, other="--judge recorded:torn.jsonl", look="results --json",
          guards="cut off"),
    legal("policies", "a policy of one's own can be named", house(), HOUSE + "plain.jsonl", {"passed": 1}, {"exit": 2}),
    legal("policies", "a built-in one cannot be written anew", "policies: {prbench_v1: {}}", REF + "plain.jsonl",
          {"exit": 2, "out": "built in"}, {"passed": 1}),
    *(
        legal("policies.*.criteria", shows, house(criteria=given),
              "run rub-house.jsonl --responses advice.jsonl --json --judge recorded:most.jsonl", expect, absent,
              other=house(criteria=other))
        for given, other, shows, expect, absent in (
            ("binary", "graded", "binary: 0.7 is unreadable", {"exit": 3, "errored": 1}, {"passed": 1}),
            ("graded", "binary", "graded: 0.7 is read", {"passed": 1}, {"exit": 3, "errored": 1}),
        )
    ),
    legal("policies.*.quantised", "0.65 becomes 0.7", house(quantised=True), HOUSE + "near.jsonl",
          {"passed": 1, "scores": {"x1 reference_answer": 0.7}}, {"failed": 1, "scores": {"x1 reference_answer": 0.65}},
          other=house(quantised=False)),
    legal("policies.*.all_must_hold", "0.7 is not all of it", house(all_must_hold=True),
          "run rub-house.jsonl --responses advice.jsonl --json --judge recorded:most.jsonl",
          {"failed": 1}, {"passed": 1}, other=house(all_must_hold=False)),
    *(
        legal("policies.*.pass_wins", shows, house(pass_wins=given), HOUSE + "yes.jsonl", expect, absent,
              other=house(pass_wins=other))
        for given, other, shows, expect, absent in (
            ("judge", "score", "judge: 0.6 and pass is passed", {"passed": 1}, {"failed": 1}),
            ("score", "judge", "score: 0.6 and pass is failed", {"failed": 1}, {"passed": 1}),
            (None, "judge", "null: 0.6 and pass is an error", {"exit": 3, "errored": 1}, {"passed": 1}),
        )
    ),
    *(
        legal("policies.*.reference", f"{given}: how the judge is asked", house(reference=given),
              "run ref-house.jsonl --responses said.jsonl --judge openai-compatible:judge --trace calls.jsonl --json",
              {"file calls.jsonl": told}, {"no file calls.jsonl": told}, other=house(reference=other))
        for given, other, told in (("lexam", "plain", "how many of the points would an examiner"),
                                   ("plain", "lexam", "how far does the answer agree"))
    ),
]  # fmt: skip

# What targets are sent
BOT = """
def answer(text):
    return "Answer: A" if all(part in text for part in ("The facts.", "A. High", "The lease.")) else "Answer: B"


def wrong(text):
    return "Answer: B"


def told(text, candidate):
    return f"Answer: {candidate}"


def parts(text, prompt, context, choices, documents):
    whole = (prompt, context, len(choices)) == ("Which court?", "The facts.", 2) and "The lease." in documents
    return "Answer: A" if whole else "Answer: B"


def sent(text):
    return text
"""
COURT = mcq(
    "q1",
    prompt="Which court?",
    context="The facts.",
    choices=[{"id": "A", "text": "High"}, {"id": "B", "text": "County"}],
    attachments=[{"path": "lease.txt"}],
)
SENT_FILES: dict[str, Any] = {
    "q.jsonl": [COURT],
    "house.jsonl": [{**COURT, "metadata": {"policy_id": "house_v1"}}],
    "bare.jsonl": [mcq("q1", prompt="Which court?", choices=COURT["choices"])],
    "long.jsonl": [{**COURT, "attachments": [{"path": "long.txt"}]}],
    "lease.txt": "The lease.",
    "long.txt": "x" * 101,
    "bot.py": BOT,
}
ASKED = "run q.jsonl --json"


def sent(of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    return Row(of, shows, given, run, expect, absent, world="nothing", **{"files": SENT_FILES, "guards": shows, **more})


CHAT = "run house.jsonl --target chat:openai-compatible:plain --trace calls.jsonl --json"
CANDIDATES = "candidates: {fast: {model: 'openai-compatible:plain', %}, slow: {model: 'openai-compatible:wrong'}}"
CALLED = {
    "temperature": ("0.3", '"temperature":0.3'),
    "max_tokens": ("77", '"max_tokens":77'),
    "top_p": ("0.8", '"top_p":0.8'),
    "seed": ("7", '"seed":7'),
    "logprobs": ("3", '"top_logprobs":3'),
    "effort": ("low", '"reasoning_effort":"low"'),
    "stop": ("[END]", '"stop":["END"]'),
    "extra": ("{colour: red}", '"colour":"red"'),
    "system_prompt": ("Be terse.", "Be terse."),
}
TARGETS = [
    sent("run --target", "a function gets context, choices and documents", "--target function:bot.py:answer", ASKED,
         {"passed": 1}, {"failed": 1}, other="--target function:bot.py:wrong", guards="one rendering"),
    sent("run DATASETS", "what a function gets is the case: without context it answers otherwise", "q.jsonl",
         "run --target function:bot.py:answer --json", {"passed": 1}, {"failed": 1}, other="bare.jsonl",
         guards="one rendering"),
    sent("run --target", "a function gets the parts by name", "--target function:bot.py:parts", ASKED, {"passed": 1},
         {"failed": 1}, other="--target function:bot.py:wrong", guards="one rendering"),
    sent("targets.*[http].body", "choices, context and documents have placeholders of their own",
         "targets: {own: {kind: http, url: $BOT/echo,"
         " body: {q: '{message}', options: '{choices}', about: '{context}'}}}",
         "run q.jsonl --target own --json", {"has 0.output.answer": "County", "no has 0.output.answer": "A. High"},
         {"has 0.output.answer": "A. High"},
         other="targets: {own: {kind: http, url: $BOT/echo, body: {q: '{message}'}}}", look="results --json",
         guards="one rendering"),
    sent("run --target", "two are two candidates", "--target function:bot.py:answer --target function:bot.py:wrong",
         ASKED, {"total": 2, "verdicts": {"q1 function:bot.py:answer": "passed", "q1 function:bot.py:wrong": "failed"}},
         {"total": 1}, other="--target function:bot.py:answer", guards="two targets"),
    sent("run --candidate", "one of two targets", "--candidate function:bot.py:wrong",
         ASKED + " --target function:bot.py:answer --target function:bot.py:wrong", {"total": 1, "failed": 1},
         {"total": 2}, guards="two targets"),
    sent("run --candidate", "a target whose model is fixed refuses it", "--candidate good --candidate bad",
         ASKED + " --target good", {"exit": 2, "out": "only; write --target chat"}, {"passed": 1},
         settings="targets: {good: {kind: chat, model: 'openai-compatible:plain'}}", guards="fixed model"),
    sent("run --candidate", "a function that is not told refuses several", "--candidate v1 --candidate v2",
         ASKED + " --target function:bot.py:answer", {"exit": 2, "out": "never told"}, {"passed": 1},
         other="--candidate v1", guards="not asked, no result"),
    sent("run --candidate", "a function that is told gets its name", "--candidate A --candidate B",
         ASKED + " --target function:bot.py:told", {"verdicts": {"q1 A": "passed", "q1 B": "failed"}}, {"total": 1},
         other="--candidate A", guards="not asked, no result"),
    sent("candidates", "short names for models", CANDIDATES.replace("%", "seed: 1"), ASKED + " --target chat",
         {"verdicts": {"q1 fast": "passed", "q1 slow": "failed"}}, {"exit": 2}),
    sent("candidates.*.model", "which model it is", CANDIDATES.replace("%", "seed: 1"), ASKED + " --target chat",
         {"verdicts": {"q1 fast": "passed"}}, {"verdicts": {"q1 fast": "failed"}},
         other=CANDIDATES.replace("%", "seed: 1").replace("plain", "wrong")),
    *(
        sent(f"candidates.*.{name}", "it is in the request", CANDIDATES.replace("%", f"{name}: {value}"),
             ASKED + " --target chat --trace calls.jsonl", {"file calls.jsonl": told},
             {"no file calls.jsonl": told, "total": 2}, other=CANDIDATES.replace("%", "max_tokens: 99"))
        for name, (value, told) in CALLED.items()
    ),
    sent("candidates.*.schema_by_prompt", "is refused where it is no yes or no",
         CANDIDATES.replace("%", "schema_by_prompt: often"), ASKED + " --target chat", {"exit": 2}, {"total": 2},
         other=CANDIDATES.replace("%", "schema_by_prompt: true")),
    sent("run --candidate", "a short name", "--candidate slow", ASKED + " --target chat", {"total": 1, "failed": 1},
         {"total": 2}, settings=CANDIDATES.replace("%", "seed: 1"), guards="candidates"),
    sent("document_characters", "a longer document is cut, and said to be", "document_characters: 5",
         "run long.jsonl --target function:bot.py:sent --json", {"flags": {"q1": ["document_cut", "several_choices"]}},
         {"flags": {"q1": ["several_choices"]}}, guards="documents cut"),
    sent("run --target", "a reply that was cut off is flagged", "--target chat:openai-compatible:cut", ASKED,
         {"flags": {"q1": ["cut_off"]}}, {"flags": {"q1": []}}, other="--target chat:openai-compatible:plain",
         guards="cut off"),
    *(
        sent(f"policies.*.{name}", "what is sent", house(**{name: value}), CHAT, {"file calls.jsonl": told},
             {"no file calls.jsonl": told}, other=house())
        for name, value, told in (
            ("system", "You are a solicitor.", "You are a solicitor."),
            ("guidance", "Think of the tenant.", "Think of the tenant."),
            ("form", "Say one letter.", "Say one letter."),
        )
    ),
    sent("policies.*.attachments", "false: documents are not shown", house(attachments=False), CHAT,
         {"no file calls.jsonl": "The lease."}, {"file calls.jsonl": "The lease."}, other=house(attachments=True)),
]  # fmt: skip

# Explain
INPUTS: dict[str, Any] = {"explain_inputs": ...}
WEEKS = ['{"plan": "Study", "weeks": 8}', '{"plan": "Study", "weeks": 52}']
STUDIED: dict[str, Any] = {
    "task_goal": "Tell what to study",
    "model_answer": "Study the basics: first cloud concepts, then services, then pricing. Tell yourself what to study.",
    **INPUTS,
}
RELEVANT = {"required_evals": ["RelevanceExplain"], **INPUTS}
DATED = {"type": "object", "properties": {"due": {"type": "string", "format": "date"}}}
EXPLAIN_FILES: dict[str, Any] = {
    "weeks.jsonl": [explain(number, model_answer=text, **RELEVANT) for number, text in enumerate(WEEKS, 1)],
    "same.jsonl": [explain(number, model_answer=WEEKS[0], **RELEVANT) for number in (1, 2)],
    "unknown.jsonl": [explain(1, expected_contract="StudyPlan")],
    "none.jsonl": [explain(1, expected_contract="")],
    "judge.jsonl": rulings("CoherenceExplain", (FIRST, {"score": 4})),
    "silent.jsonl": twice("CoherenceExplain", (FIRST, {"score": "N/A"})),
    "crossed.jsonl": twice("CoherenceExplain", (FIRST, {"score": 3, "passed": True})),
    "february.jsonl": [explain(1, expected_contract="dated", model_answer='{"due": "2026-02-30"}', **INPUTS)],
    "january.jsonl": [explain(1, expected_contract="dated", model_answer='{"due": "2026-01-30"}', **INPUTS)],
    "double.jsonl": [explain(1, expected_contract="dated", model_answer='{"due": "x", "due": "2026-01-30"}', **INPUTS)],
    "gap.jsonl": [explain(1), explain(2, model_answer=..., **INPUTS)],
    "null.jsonl": [explain(1, required_evals=[None], **INPUTS)],
    "bare.jsonl": [explain(1, required_evals="CoherenceExplain", **INPUTS)],
    "warm.jsonl": [explain(1, required_evals=["TaskAdherenceExplain", "EmpathyExplain"], **STUDIED)],
    "task.jsonl": [explain(1, required_evals=["TaskAdherenceExplain"], **STUDIED)],
    "one.jsonl": [explain(1)],
}
DATES = f"contracts: {json.dumps({'dated': DATED})}"


def told(of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    return Row(
        of, shows, given, run, expect, absent, world="nothing", **{"files": EXPLAIN_FILES, "guards": shows, **more}
    )


EXPLAIN = [
    *(
        told("answer_rendering", f"{given}: eight weeks and fifty-two are {shows} to the judge",
             f"answer_rendering: {given}", "run weeks.jsonl --judge openai-compatible:judge --max-concurrency 1 --json",
             {"spent.calls": calls}, {"spent.calls": 3 - calls}, other=f"answer_rendering: {other}")
        for given, other, shows, calls in (("as_is", "readable", "two answers", 2), ("readable", "as_is", "one", 1))
    ),
    told("run DATASETS", "the judge sees the answer as it is: 8 weeks and 52 are two answers", "weeks.jsonl",
         "run --judge openai-compatible:judge --max-concurrency 1 --json", {"spent.calls": 2}, {"spent.calls": 1},
         other="same.jsonl", guards="the answer as it is"),
    told("require_contracts", "a contract that nobody has is refused", "require_contracts: true",
         "run unknown.jsonl --judge recorded:judge.jsonl --json", {"exit": 2, "out": "StudyPlan"}, {"passed": 1}),
    told("run DATASETS", "a contract that nobody has is said not to be checked", "unknown.jsonl",
         "run --judge recorded:judge.jsonl --json", {"flags": {FIRST: ["contract_not_checked"]}, "out": "did you mean"},
         {"flags": {FIRST: []}, "notes": []}, other="none.jsonl", guards="expected_contract"),
    told("run DATASETS", "30 February breaks a contract", "february.jsonl", "run --judge recorded:judge.jsonl --json",
         {"failed": 1, "scores": {f"{FIRST} output_contract": 0}}, {"passed": 1}, other="january.jsonl", settings=DATES,
         guards="formats"),
    told("run DATASETS", "a key that stands twice breaks a contract", "double.jsonl",
         "run --judge recorded:judge.jsonl --json", {"failed": 1}, {"passed": 1}, other="january.jsonl", settings=DATES,
         guards="duplicate keys"),
    told("run DATASETS", "a missing answer in a single file is said before anything is judged", "gap.jsonl",
         "run --judge recorded:judge.jsonl --json", {"exit": 2, "out": "1 answer is missing"}, {"passed": 1},
         other="one.jsonl", guards="coverage"),
    told("validate PATHS", "required_evals: [null] is one problem", "null.jsonl", "validate --json",
         {"exit": 2, "files.0.problems.#": 1, "files.0.problems.0.field": "required_evals[0]"}, {"valid": True},
         other="one.jsonl", guards="required_evals"),
    told("validate PATHS", "required_evals as a bare text is one problem", "bare.jsonl", "validate --json",
         {"exit": 2, "files.0.problems.#": 1, "files.0.warnings.#": 0}, {"valid": True}, other="one.jsonl",
         guards="required_evals"),
    told("run --judge", "n/a is not offered, and errs", "--judge recorded:silent.jsonl", "run one.jsonl --json",
         {"exit": 3, "errored": 1}, {"passed": 1}, other="--judge recorded:judge.jsonl", guards="n/a"),
    told("run --judge", "pass beside a value below the mark errs", "--judge recorded:crossed.jsonl",
         "run one.jsonl --json", {"exit": 3, "errored": 1}, {"passed": 1}, other="--judge recorded:judge.jsonl",
         guards="contradiction"),
    *(
        told(f"profiles.*.{group}", shows, f"profiles: {{p: {{{group}: {value}}}}}",
             "run one.jsonl --judge recorded:judge.jsonl --json", {"exit": 2, "out": words}, {"passed": 1},
             guards="profiles name what is there")
        for group, shows, value, words in (
            ("marks", "a name that no grader has is refused", "{TaskAdherance: 5}", "`TaskAdherenceExplain`"),
            ("marks", "a mark off the scale is refused", "{RelevanceExplain: 9}", "on its scale, 1 to 5, found 9"),
            ("weights", "a weight below 0 is refused", "{RelevanceExplain: -3}", "found -3"),
            ("composite_mark", "a mark off the scale is refused", "7", "composite_mark"),
            ("hard_fails", "a mark off the scale is refused", "{output_contract: 2}", "output_contract"),
        )
    ),
    told("run DATASETS", "what needs a model is said at planning", "warm.jsonl", "run --json",
         {"exit": 3, "errored": 1, "out": "EmpathyExplain needs a model"}, {"no out": "needs a model"},
         other="task.jsonl", guards="needs a model"),
    told("run --graders", "-NAME takes one away", "--graders -EmpathyExplain", "run warm.jsonl --json",
         {"errored": 0, "notes": []}, {"exit": 3, "errored": 1}, guards="--graders +name,-name"),
]  # fmt: skip

# Golden, simulation, test sets
USED = {"usage_metadata": {"prompt_token_count": 2000, "candidates_token_count": 200}}
ADK_MODEL = {"gen_ai.request.model": "gemini-2.5-flash"}
RESPONSE = "gcp.vertex.agent.llm_response"


def session(**fields: Any) -> dict[str, Any]:
    return {"question_id": "q1", "user_inputs": ["Hi"], "final_response": "Done.", "reference_data": {}, **fields}


PLACEHOLDER = {"name": "call_llm", "span_id": "1", "attributes": {"gen_ai.request.model": "None"}}
TOOL_SPAN = {"name": "execute_tool a", "span_id": "2", "attributes": {**ADK_MODEL, RESPONSE: json.dumps(USED)}}
LESS = {"usage_metadata": {"prompt_token_count": 1000, "candidates_token_count": 100}}
CALL_SPAN = {"name": "call_llm", "span_id": "3", "attributes": {**ADK_MODEL, RESPONSE: json.dumps(LESS)}}


def golden(reference: dict[str, Any], *turns: str) -> dict[str, Any]:
    question = {"id": "g1", "user_inputs": list(turns or ("Hi",)), "agents_evaluated": [], "reference_data": reference}
    return {"golden_questions": [question]}


def expected(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"tool_name": name, "input_arguments": {}, **fields} for name in names]


def made(*groups: tuple[str, ...]) -> list[dict[str, Any]]:
    """A conversation in which each group of calls stands in one message."""
    said = [
        {"role": "assistant", "content": "", "agent": "shop",
         "tool_calls": [{"name": name, "arguments": {}, "id": f"{place}{name}"} for name in group]}
        for place, group in enumerate(groups)
    ]  # fmt: skip
    line = conversation("g1", "Hi", "Done.")
    messages = [line["messages"][0], *said, line["messages"][-1]]
    return [{**line, "messages": messages}]


LOOKED = {"name": "lookup", "arguments": {}, "id": "c1"}
TWO_TURNS = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "", "agent": "shop", "tool_calls": [LOOKED]},
    {"role": "assistant", "content": "x", "agent": "shop"},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": "", "agent": "shop", "tool_calls": [{**LOOKED, "id": "c2"}]},
    {"role": "assistant", "content": "y", "agent": "shop"},
]
PATH = ["shop", "lookup", "shop", "lookup"]
EXACT = {"tool_match": {"mode": "exact"}}
GOLDEN_FILES: dict[str, Any] = {
    "spans.jsonl": [session(session_trace=[PLACEHOLDER, TOOL_SPAN, CALL_SPAN])],
    "fewer.jsonl": [session(session_trace=[PLACEHOLDER, CALL_SPAN])],
    "mute.jsonl": [session(session_trace=[TOOL_SPAN], final_response=None)],
    "two_golden.json": golden({"reference_trajectory": PATH}, "Hi", "And?"),
    "one_golden.json": golden({"reference_trajectory": ["desk", "lookup"]}, "Hi", "And?"),
    "turns.jsonl": [{"case_id": "g1", "response_text": "y", "messages": TWO_TURNS}],
    "exact_golden.json": golden({"reference_tool_interactions": expected("a", "b"), **EXACT}),
    "grouped_golden.json": golden({"reference_tool_interactions": expected("a", "b", message=1), **EXACT}),
    "ab.jsonl": made(("a", "b")),
    "ba.jsonl": made(("b", "a")),
    "apart.jsonl": made(("a",), ("b",)),
    "typo_golden.json": golden({"reference_tool_interaction": []}),
    "own_golden.json": golden({"my_key": 1}),
    "mixed.json": json.dumps([{"query": "Hi"}, {"query": "Thanks", "expected_tool_use": []}]),
    "known.json": json.dumps([{"query": "Thanks", "expected_tool_use": []}]),
    "expects_golden.json": golden({"expected_response": "Done.", "reference_state_variables": {}}),
    "nothing_golden.json": golden({"reference_state_variables": {}}),
    "done.jsonl": [conversation("g1", "Hi", "Done.", state={})],
}


def work(of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    return Row(
        of, shows, given, run, expect, absent, world="nothing", **{"files": GOLDEN_FILES, "guards": shows, **more}
    )


GOLDEN = [
    work("run DATASETS", "a placeholder is no call, a response on a tool span is one", "spans.jsonl", "run --json",
         {"scores": {"q1 token_usage": 0.00165}}, {"scores": {"q1 token_usage": 0.00055}}, other="fewer.jsonl",
         guards="calls are counted once"),
    work("run DATASETS", "measures need no final answer", "mute.jsonl", "run --json",
         {"exit": 3, "errored": 1, "scores": {"q1 token_usage": 0.0011}}, {"skipped": 1}, other="fewer.jsonl",
         guards="measures without an answer"),
    work("run DATASETS", "[shop, lookup, shop, lookup] over two turns is judged as it was", "two_golden.json",
         "run --responses turns.jsonl --json", {"passed": 1, "scores": {"g1 trajectory_accuracy": 1}}, {"failed": 1},
         other="one_golden.json", guards="trajectory over turns"),
    work("run --responses", "exact without `message`: calls in order, however they were grouped",
         "--responses ab.jsonl", "run exact_golden.json --json", {"passed": 1}, {"failed": 1},
         other="--responses ba.jsonl", guards="exact"),
    work("run --responses", "exact with `message`: calls in one are unordered", "--responses ba.jsonl",
         "run grouped_golden.json --json", {"passed": 1}, {"failed": 1}, other="--responses apart.jsonl",
         guards="exact"),
    work("validate PATHS", "a misspelt reference key is warned about", "typo_golden.json", "validate --json",
         {"files.0.warnings.#": 1, "out": "did you mean `reference_tool_interactions`?"}, {"files.0.warnings.#": 0},
         other="own_golden.json", guards="misspelt reference key"),
    work("convert PATHS", "mixed raw logs: unknown is not `no call expected`", "mixed.json", "convert -o x_golden.json",
         {"no file x_golden.json": "reference_tool_interactions"},
         {"file x_golden.json": "reference_tool_interactions"}, other="known.json", guards="mixed raw logs"),
    work("run --graders", "what is expected and checked by nobody is said, unless a grader is added",
         "--graders +response_correctness --judge openai-compatible:judge",
         "run expects_golden.json --responses done.jsonl --json", {"notes": [], "flags": {"g1": []}},
         {"flags": {"g1": ["not_checked"]}, "out": "is checked by no grader"}, guards="expected and not checked"),
    work("run DATASETS", "an expected response that nobody checks is said", "expects_golden.json",
         "run --responses done.jsonl --json", {"flags": {"g1": ["not_checked"]}}, {"flags": {"g1": []}},
         other="nothing_golden.json", guards="expected and not checked"),
]  # fmt: skip
GREETER = "def answer(text):\n    return 'Hello! How can I help you?'\n"
LEAVER = """
from howsure.users.base import Ending, UserExit, UserMessage


class Leaver:
    name = "leaver"
    version = "1"

    def open(self, case, attempt=1):
        return self

    async def next(self, messages):
        if not messages:
            return UserMessage(text=OPENING)
        return UserExit(ending=Ending.GOAL_REACHED)


OPENING = "I want my money back."


def register(kit):
    kit.users.add(Leaver())
"""
SCENARIO = {
    "item_id": "s1",
    "type": "scenario",
    "name": "Refund",
    "inputs": {"persona": "A customer.", "initial_message": "I want my money back.", "max_turns": 3},
    "expected": {"success_criteria": ['The agent says "Hello"']},
}
STATEFUL = entry(1, "Hi", reference_data={"reference_state_variables": {"refund": "no"}})
SCENARIO_FILES: dict[str, Any] = {
    "talk.json": {"name": "Talk", "items": [SCENARIO]},
    "state.json": {"name": "State", "items": [STATEFUL]},
    "plain.json": {"name": "Plain", "items": [entry(1, "Hi")]},
    "greeter.py": GREETER,
    "leaver.py": LEAVER,
    "bot.py": "def answer(text, state):\n    return {'answer': 'Hello', 'state': {'refund': 'yes'}}\n",
    "judge.jsonl": [*rulings("criteria", ("s1/1", {"passed": True}), ("t1/1", {"passed": True}))],
    "rules.json": {"name": "House rules", "rules": [rule("KIND", "high", "general")]},
    "maybe.jsonl": [
        *rulings("criteria", ("t1/1", {"passed": True})),
        *rulings("rubric", ("t1/KIND", {"passed": "n/a"})),
    ],
}
SETS = [
    Row("run --simulator", "a conversation that the simulated user spoiled is errored", "--simulator leaver",
        "run talk.json --target function:greeter.py:answer --plugin leaver.py --judge recorded:judge.jsonl --json",
        {"exit": 3, "errored": 1, "faults.simulator": 1}, {"exit": 0, "passed": 1}, world="nothing",
        files=SCENARIO_FILES, guards="spoiled is errored"),
    Row("run DATASETS", "state is checked on test sets, too", "state.json",
        "run --target function:bot.py:answer --judge recorded:judge.jsonl --json", {"failed": 1}, {"passed": 1},
        other="plain.json", world="nothing", files=SCENARIO_FILES, guards="state on test sets"),
    Row("run --rubric", "n/a is read where a rule may not apply", "--rubric rules.json",
        "run plain.json --target function:bot.py:answer --judge recorded:maybe.jsonl --json",
        {"passed": 1, "rubric_rules.skipped": 1}, {"passed": 1, "rubric_rules": None}, world="nothing",
        files=SCENARIO_FILES, guards="n/a where it is offered"),
]  # fmt: skip
# Every world: what a run says
TEN = [mcq(f"q{number}") for number in range(10)]
BRAVE = [
    {
        "case_id": f"q{number}",
        "candidate_name": "brave",
        **({"response_text": "A"} if number < 3 else {"error": "gone"}),
    }
    for number in range(10)
]
STEADY = [
    {"case_id": f"q{number}", "candidate_name": "steady", "response_text": "A" if number < 8 else "B"}
    for number in range(10)
]
HOUSES = [mcq(f"q{number}", dataset="old" if number % 2 else "new") for number in (1, 2, 3, 4)]
WEIGHED = rubric_qa("w1", context="The tenant left.", rubric=[{"id": "c1", "title": "Names the Act", "weight": 8}])
SHOP = {
    "golden_questions": [
        {
            "id": "g1",
            "user_inputs": ["Hi"],
            "agents_evaluated": ["shop"],
            "reference_data": {"expected_response": "Done."},
        }
    ]
}
REPORT_FILES: dict[str, Any] = {
    "ten.jsonl": TEN,
    "brave.jsonl": [*BRAVE, *STEADY],
    "steady.jsonl": STEADY,
    "cases.jsonl": HOUSES,
    "more.jsonl": [mcq("q5", dataset="old")],
    "said.jsonl": answers(("q1", "A"), ("q2", "B"), ("q3", "A"), ("q4", "A"), ("q5", "B")),
    "why.jsonl": [reference_qa("q1")],
    "essay.jsonl": [WEIGHED],
    "advice.jsonl": answers(("w1", "See the Act.")),
    "judge.jsonl": [
        *rulings("reference_answer", ("q1", {"score": 1})),
        *rulings("weighted_criteria", ("w1/c1", {"score": 1})),
    ],
    "shop_golden.json": SHOP,
    "done.jsonl": [conversation("g1", "Hi", "Done.")],
    "lexam.jsonl": [lexam_choice()],
}
SAID = "run cases.jsonl --responses said.jsonl"
SHOPPED = "run shop_golden.json --responses done.jsonl --judge openai-compatible:strict --json"


def seen(of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    return Row(
        of, shows, given, run, expect, absent, world="nothing", **{"files": REPORT_FILES, "guards": shows, **more}
    )


REPORTS = [
    seen("run --graders", "+NAME adds one and -NAME takes one away", "--graders +response_correctness,-output_density",
         SHOPPED, {"scores": {"g1 response_correctness": 0, "g1 output_density": "no score", "g1 agent_routing": 1}},
         {"scores": {"g1 response_correctness": "no score", "g1 output_density": None}},
         guards="--graders +name,-name"),
    seen("run --graders", "plain names and signs do not go together", "--graders choice,+rubric", SAID + " --json",
         {"exit": 2, "out": "plain names mean only these"}, {"total": 4}, guards="--graders +name,-name"),
    seen("profiles.*.marks", "a mark makes a judged grader run", "profiles: {p: {marks: {response_correctness: 4.5}}}",
         SHOPPED + " --profile p", {"failed": 1, "scores": {"g1 response_correctness": 0}},
         {"passed": 1, "scores": {"g1 response_correctness": "no score"}}, other="profiles: {p: {}}",
         guards="marks reach their grader"),
    seen("run --judge", "one that is never asked is said", "--judge recorded:judge.jsonl", SAID + " --json",
         {"has notes": "was never asked"}, {"notes": []}, guards="judge never asked"),
    seen("run DATASETS", "`Judged offline` only where something was", "why.jsonl", "run --responses said.jsonl",
         {"out": "Judged offline"}, {"no out": "Judged offline"}, other="cases.jsonl", guards="judged offline"),
    seen("run --filter", "the file's case count and the run's are two numbers", "--filter dataset:old",
         SAID + " --json", {"datasets.0.cases": 4, "datasets.0.selected": 2, "filters.dataset": ["old"]},
         {"datasets.0.selected": 4}, guards="two numbers"),
    seen("run --limit", "it is said on the run", "--limit 3", SAID, {"out": "3 of 4 cases"}, {"no out": "of 4 cases"},
         guards="two numbers"),
    seen("judge_settings", "they are on the run", "judge_settings: {temperature: 0.5}", SAID + " --json",
         {"settings.judge_settings.temperature": 0.5}, {"settings": {}}, guards="settings on the run"),
    seen("run --responses", "where cases errored, the rate says of how many", "--responses brave.jsonl",
         "run ten.jsonl --json",
         {"exit": 3, "candidates.brave.pass_rate_if_decided": [0.3, 1.0], "candidates.steady.pass_rate": 0.8},
         {"candidates.steady.pass_rate": 0.8}, other="--responses steady.jsonl", guards="of how many"),
    seen("run --responses", "candidates are ordered by what is certain", "--responses brave.jsonl", "run ten.jsonl",
         {"exit": 3, "out": "30–100 % of all 10"}, {"no out": "of all 10"}, other="--responses steady.jsonl",
         guards="ordered by what is certain"),
    seen("run --responses", "a breakdown by label", "--responses said.jsonl", "run cases.jsonl --json",
         {"breakdown.#": 2}, {"exit": 2}, other="--responses advice.jsonl", guards="breakdown"),
    seen("run DATASETS", "a breakdown by file where there are several", "cases.jsonl more.jsonl",
         "run --responses said.jsonl --json", {"has breakdown": "more.jsonl"}, {"no has breakdown": "cases.jsonl"},
         other="cases.jsonl", guards="breakdown"),
    seen("show --by", "a label that no case has is refused", "--by colour", "show latest",
         {"exit": 2, "err": "'colour'"}, {"out": "by dataset"}, before=(SAID + " --quiet",), guards="breakdown"),
    seen("compare --cluster", "a label that no case has is refused", "--cluster nonsense", "compare a b --json",
         {"exit": 2, "out": "'nonsense'"}, {"cluster": None},
         before=(SAID + " --quiet --name a", SAID + " --quiet --name b"), guards="compare --by nonsense"),
    seen("show CASE", "in full: context and weights", "w1", "show latest", {"out": ["The tenant left.", "weight 8"]},
         {"no out": "weight 8"},
         before=("run essay.jsonl --responses advice.jsonl --judge recorded:judge.jsonl --quiet",),
         guards="show in full"),
    seen("run DATASETS", "a file that convert could read says so", "lexam.jsonl", "run --responses said.jsonl",
         {"exit": 2, "err": "howsure convert"}, {}, other="cases.jsonl", guards="convert could read it"),
    seen("split --output", "the folder is made", "-o parts/by-age", "split cases.jsonl --by dataset",
         {"file parts/by-age/cases.old.jsonl": ""}, {"file cases.old.jsonl": ""}, guards="split makes its folder"),
]  # fmt: skip
ROWS = [*LEGAL, *TARGETS, *EXPLAIN, *GOLDEN, *SETS, *REPORTS]
