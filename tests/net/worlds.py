"""The small files that rows of the net share, by world."""

from __future__ import annotations

from typing import Any

from dialect_rows import explain, mcq, reference_qa, rubric_qa
from simulation_files import span

Json = dict[str, Any]
CHOICES = [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]


def question(number: int, **fields: Any) -> Json:
    """A multiple-choice question of which A is right."""
    area, dataset = ("civil", "house") if number < 3 else ("criminal", "crown")
    fields = {
        "dataset": dataset,
        "prompt": f"Question {number}?",
        "choices": CHOICES,
        "metadata": {"area": area},
    } | fields
    return mcq(f"q{number}", **fields)


def answers(*rows: tuple[str, str], **fields: Any) -> list[Json]:
    return [{"case_id": case, "response_text": text, **fields} for case, text in rows]


def rulings(grader: str, *rows: tuple[str, Any], **fields: Any) -> list[Json]:
    """Lines of a recording of a judge: `case` or `case/criterion`, and the reply."""
    found = []
    for place, reply in rows:
        case, _, criterion = place.partition("/")
        about = {"criterion_id": criterion} if criterion else {}
        found.append({"case_id": case, "grader": grader, **about, "reply": reply, **fields})
    return found


ESSAY = [
    {"id": "c1", "title": "Names the Act", "weight": 9},
    {"id": "c2", "title": "Invents a case", "weight": -3},
]
LETTER_BOT = """
def answer(text, state):
    return {"answer": "Answer: " + state.get("letter", "A"), "state": state}
"""
PROGRAM = """
import json
import sys

for line in sys.stdin:
    print(json.dumps({"answer": "Answer: A"}), flush=True)
"""
LEGAL: Json = {
    # q1, q3 and q4 are answered rightly, q2 wrongly.
    "cases.jsonl": [question(number) for number in (1, 2, 3, 4)],
    "answers.jsonl": answers(("q1", "A"), ("q2", "B"), ("q3", "Answer: A"), ("q4", "(a)")),
    # juno is always right, orchid never.
    "both.jsonl": [
        {"example_id": f"q{number}", "candidate_name": name, "response_text": text}
        for number in (1, 2, 3, 4)
        for name, text in (("juno", "A"), ("orchid", "B"))
    ],
    # Points: (9 - 3) / 9 = 0.667, below the mark of 0.7; min–max: (9 - 3 + 3) / 12 = 0.75, above it.
    "essay.jsonl": [rubric_qa("w1", rubric=ESSAY)],
    "essay-answers.jsonl": answers(("w1", "The Act of 1990 says so, see Miller v. Jones.")),
    "essay-judge.jsonl": rulings("weighted_criteria", ("w1/c1", {"score": 1}), ("w1/c2", {"score": 1})),
    "why.jsonl": [reference_qa("a1")],
    "why-answers.jsonl": answers(("a1", "Since it is so.")),
    "why-judge.jsonl": rulings("reference_answer", ("a1", {"score": 0.8})),
    "bot.py": LETTER_BOT,
}


def explained(number: int, **fields: Any) -> Json:
    answer, asked = "Start with the basics.", "What should I study?"
    inputs = {
        "CoherenceExplain": {"input": answer, "question": asked},
        "RelevanceExplain": {"input": answer, "question": asked, "context": ""},
    }
    fields = {"required_evals": list(inputs), "explain_inputs": ..., **fields}
    return explain(number, **fields)


FIRST, SECOND = "learning-path-curator-001", "learning-path-curator-002"
EXPLAIN: Json = {
    # The first has 4 and 4, the second 4 and 3: Relevance 3 is below its mark of 3.6.
    "cases.jsonl": [explained(1), explained(2, difficulty="hard", quality_band="poor")],
    "judge.jsonl": [
        *rulings("CoherenceExplain", (FIRST, {"score": 4}), (SECOND, {"score": 4})),
        *rulings("RelevanceExplain", (FIRST, {"score": 4}), (SECOND, {"score": 3})),
    ],
}


def call(order: str) -> Json:
    return {"tool_name": "look_up", "input_arguments": {"order": order}}


def conversation(case: str, said: str, answer: str, *calls: Json, **fields: Any) -> Json:
    """A whole transcript as `--responses` takes it."""
    used = [{"role": "assistant", "content": "", "agent": "shop", "tool_calls": list(calls)}] if calls else []
    last = {"role": "assistant", "content": answer, "agent": "shop"}
    messages = [{"role": "user", "content": said}, *used, last]
    return {"case_id": case, "response_text": answer, "messages": messages, **fields}


LOOK_UP: Json = {"name": "look_up", "arguments": {"order": "42"}, "id": "c1", "result": {"status": "shipped"}}
# Two seconds, one call of a model.
SPANS = [
    span("invocation", 0, 2, 1),
    span(
        "call_llm",
        0.5,
        1,
        2,
        1,
        **{
            "gen_ai.request.model": "gemini-2.5-flash",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
        },
    ),
]
GOLDEN: Json = {
    # g1 looks the order up as expected; g2 should have and did not.
    "shop_golden.json": {
        "golden_questions": [
            {
                "id": "g1",
                "user_inputs": ["Where is order 42?"],
                "agents_evaluated": ["shop"],
                "metadata": {"topic": "delivery"},
                "reference_data": {"reference_tool_interactions": [call("42")]},
            },
            {
                "id": "g2",
                "user_inputs": ["Where is order 43?"],
                "agents_evaluated": ["shop"],
                "metadata": {"topic": "returns"},
                "reference_data": {"reference_tool_interactions": [call("43")]},
            },
        ]
    },
    "answers.jsonl": [
        conversation("g1", "Where is order 42?", "It is on its way.", LOOK_UP, state={"order": "42"}, spans=SPANS),
        conversation("g2", "Where is order 43?", "No idea.", state={}),
    ],
}


def entry(number: int, message: str, **expected: Any) -> Json:
    expected = {"success_criteria": [f"Criterion {number}"], **expected}
    tags = ["money"] if number == 1 else ["other"]
    return {
        "item_id": f"t{number}",
        "type": "single_turn",
        "name": f"Item {number}",
        "inputs": {"message": message},
        "expected": expected,
        "tags": tags,
    }


def rule(id: str, severity: str, scope: str, *ids: str) -> Json:
    return {
        "id": id,
        "name": f"Rule {id}",
        "severity": severity,
        "description": f"What {id} says",
        "component_scope": scope,
        "component_ids": list(ids),
    }


TEST_SET: Json = {
    # t1 meets its criterion, t2 does not; the high rule holds for both, the low one for neither.
    "set.json": {"name": "Desk", "agent_id": "desk", "items": [entry(1, "I want my money back"), entry(2, "Hello")]},
    "rubric.json": {
        "name": "House rules",
        "agent_id": "desk",
        "rules": [rule("KIND", "high", "prompt"), rule("BRIEF", "low", "function", "tool-1")],
    },
    "agent.json": {
        "bot_id": "desk",
        "bot_name": "Refund desk",
        "system_prompt": "Be kind.",
        "tools": [{"id": "tool-1", "name": "Refund", "tool_name": "refund", "description": "Pays back"}],
        "knowledge_bases": [],
    },
    "answers.jsonl": answers(("t1", "You get it back."), ("t2", "Go away.")),
    "judge.jsonl": [
        *rulings("criteria", ("t1/1", {"passed": True}), ("t2/1", {"passed": False})),
        *rulings("rubric", *((f"t{number}/KIND", {"passed": True}) for number in (1, 2))),
        *rulings("rubric", *((f"t{number}/BRIEF", {"passed": False}) for number in (1, 2))),
    ],
    "talk.json": {
        "name": "Talks",
        "items": [
            {
                "item_id": "s1",
                "type": "scenario",
                "name": "Broken lamp",
                "inputs": {
                    "persona": "A customer in a hurry. Polite.",
                    "initial_message": "My lamp arrived broken, I want my money back.",
                    "goal": "Get the money back",
                    "facts": {"order number": "L-5512"},
                    "max_turns": 4,
                },
                "expected": {"success_criteria": ["The agent refunds the order"]},
            }
        ],
    },
    "talk-judge.jsonl": rulings("criteria", ("s1/1", {"passed": True})),
    "bot.py": """
def answer(text, state, history):
    if len(history) == 0:
        return {"answer": "I am sorry! What is your order number?", "state": state}
    return {"answer": "Thank you. I have refunded order L-5512: your money is on its way back.", "state": state}
""",
}
SIMULATION: Json = {
    "talks.jsonl": [
        {
            "question_id": "m1",
            "user_inputs": ["Where is order 42?"],
            "question_metadata": {"topic": "delivery"},
            "app_name": "shop",
            "reference_data": {"reference_state_variables": {"order": "42"}},
            "final_response": "It is on its way.",
            "extracted_data": {"state_variables": {"order": "42"}},
        },
        {
            "question_id": "m2",
            "user_inputs": ["Where is order 43?"],
            "question_metadata": {"topic": "returns"},
            "app_name": "shop",
            "reference_data": {"reference_state_variables": {"order": "43"}},
            "final_response": "No idea.",
            "extracted_data": {"state_variables": {"order": "none"}},
        },
    ],
}
WORLDS: dict[str, Json] = {
    "legal": LEGAL,
    "explain": EXPLAIN,
    "golden": GOLDEN,
    "test-set": TEST_SET,
    "simulation": SIMULATION,
    "nothing": {},
}
