"""Reading custom evals: every eval, or every problem with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.errors import DatasetInvalid, Problem
from howsure.graders.custom_eval_file import EvalInput, EvalOutput, EvalSpec, read_evals
from howsure.graders.templates import MISSING
from howsure.judges.panels import PassMark
from howsure.model.score import LIKERT, Direction, Scale

WHOLE = """\
evals:
  - name: tone
    description: Whether the tone fits.
    instructions: Judge the tone by the policy.
    template: |
      Policy: {policy}
      Answer: {answer}
    inputs:
      policy: {source: metadata.policy, default: be kind}
      answer: answer
    scale: {min: 1, max: 5, integer: true}
    pass_mark: 2
    direction: lower
    worlds: [legal, golden]
    filters: {agent: [billing, 7], urgent: true}
    output: {score: Tone, reason: Why}
"""
PLAIN = """\
evals:
  - name: plain
    instructions: How good is it?
    inputs: {answer: answer}
    scale: {min: 0, max: 2.5}
"""


def read(tmp_path: Path, text: str, taken: tuple[str, ...] = ()) -> tuple[EvalSpec, ...]:
    path = tmp_path / "evals.yaml"
    path.write_text(text, encoding="utf-8")
    return read_evals(path, taken)


def problems(tmp_path: Path, text: str, taken: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    with pytest.raises(DatasetInvalid) as refused:
        read(tmp_path, text, taken)
    return refused.value.problems


def test_every_field_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE) == (
        EvalSpec(
            name="tone",
            description="Whether the tone fits.",
            template="Judge the tone by the policy.\n\nPolicy: {policy}\nAnswer: {answer}",
            inputs={
                "policy": EvalInput(source="metadata.policy", default="be kind"),
                "answer": EvalInput(source="answer"),
            },
            scale=LIKERT,
            whole=True,
            mark=PassMark(2, Direction.LOWER),
            worlds=("legal", "golden"),
            filters={"agent": ("billing", "7"), "urgent": ("true",)},
            output=EvalOutput(score="Tone", reason="Why"),
        ),
    )


def test_most_fields_may_be_left_out(tmp_path: Path) -> None:
    (spec,) = read(tmp_path, PLAIN)
    assert (spec.template, spec.scale, spec.whole, spec.mark) == (
        "How good is it?",
        Scale(0, 2.5),
        False,
        PassMark(None, Direction.HIGHER),
    )
    assert (spec.worlds, spec.filters, spec.output, spec.description) == ((), {}, EvalOutput(), "")
    assert spec.inputs["answer"].default is MISSING


def test_a_null_default_is_a_default(tmp_path: Path) -> None:
    (spec,) = read(tmp_path, PLAIN.replace("{answer: answer}", "{answer: {source: context, default: null}}"))
    assert spec.inputs["answer"].default is None


def changed(old: str, new: str) -> str:
    assert old in WHOLE
    return WHOLE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "code", "field", "line"),
    [
        (changed("description:", "descripton:"), "unknown-field", "evals[0].descripton", 3),
        (changed("name: tone", "name: ''"), "wrong-type", "evals[0].name", 2),
        (changed("name: tone", "name: 7"), "wrong-type", "evals[0].name", 2),
        (changed("{answer}", "{answer} {extra}"), "unknown-placeholder", "evals[0].template", 5),
        (changed("by the policy", "by {nothing}"), "unknown-placeholder", "evals[0].instructions", 4),
        (changed("Policy: {policy}", "Policy:"), "unused-input", "evals[0].inputs.policy", 9),
        (changed("metadata.policy", "metadata"), "unknown-source", "evals[0].inputs.policy.source", 9),
        (changed("answer: answer", "answer: anwser"), "unknown-source", "evals[0].inputs.answer", 10),
        (changed("answer: answer", "answer: 3"), "unknown-source", "evals[0].inputs.answer", 10),
        (changed("default: be", "defualt: be"), "unknown-field", "evals[0].inputs.policy.defualt", 9),
        (changed("{min: 1, max: 5, integer: true}", "1-5"), "wrong-type", "evals[0].scale", 11),
        (changed("min: 1", "min: 5"), "bad-scale", "evals[0].scale", 11),
        (changed("min: 1", "min: 1.5"), "bad-scale", "evals[0].scale", 11),
        (changed("min: 1", "min: .nan"), "wrong-type", "evals[0].scale.min", 11),
        (changed("min: 1", "min: true"), "wrong-type", "evals[0].scale.min", 11),
        (changed("max: 5, ", ""), "wrong-type", "evals[0].scale.max", 11),
        (changed("integer: true", "integer: 1"), "wrong-type", "evals[0].scale.integer", 11),
        (changed("integer: true", "whole: true"), "unknown-field", "evals[0].scale.whole", 11),
        (changed("pass_mark: 2", "pass_mark: 6"), "bad-mark", "evals[0].pass_mark", 12),
        (changed("pass_mark: 2", "pass_mark: high"), "wrong-type", "evals[0].pass_mark", 12),
        (changed("direction: lower", "direction: neither"), "bad-mark", "evals[0].pass_mark", 12),
        (changed("direction: lower", "direction: down"), "unknown-value", "evals[0].direction", 13),
        (changed("[legal, golden]", "[legal, gold]"), "unknown-value", "evals[0].worlds[1]", 14),
        (changed("[legal, golden]", "legal"), "wrong-type", "evals[0].worlds", 14),
        (changed("[billing, 7]", "[]"), "wrong-type", "evals[0].filters.agent", 15),
        (changed("[billing, 7]", "{a: b}"), "wrong-type", "evals[0].filters.agent", 15),
        (changed("score: Tone", "value: Tone"), "unknown-field", "evals[0].output.value", 16),
        (changed("score: Tone", "score: 5"), "wrong-type", "evals[0].output.score", 16),
        (changed("name: tone", "name: tone\n    name: other"), "duplicate-key", "evals[0].name", 2),
        (WHOLE + "other: 1\n", "unknown-field", "other", 17),
        ("evals: []\n", "missing-field", "evals", 1),
        ("- name: x\n", "missing-field", "evals", 1),
        ("", "missing-field", "evals", None),
        ("evals:\n- just text\n", "wrong-type", "evals[0]", 2),
    ],
)
def test_each_problem_has_its_place(tmp_path: Path, text: str, code: str, field: str, line: int | None) -> None:
    (problem,) = problems(tmp_path, text)
    assert (problem.code, problem.field, problem.line) == (code, field, line)
    assert problem.file.endswith("evals.yaml")


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    text = "evals:\n- {name: a}\n- {name: a, template: '{x}', inputs: {1x: answer}, scale: {min: 2, max: 1}}\n"
    assert [(problem.code, problem.field) for problem in problems(tmp_path, text)] == [
        ("missing-field", "evals[0].inputs"),
        ("missing-field", "evals[0].instructions"),
        ("missing-field", "evals[0].scale"),
        ("bad-name", "evals[1].inputs.1x"),
        ("unknown-placeholder", "evals[1].template"),
        ("unused-input", "evals[1].inputs.1x"),
        ("bad-scale", "evals[1].scale"),
        ("duplicate-name", "evals[1].name"),
    ]


def test_a_name_that_a_grader_has_is_refused(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, WHOLE.replace("name: tone", "name: criteria"), taken=("criteria", "rubric"))
    assert (problem.code, problem.message) == ("name-taken", "a grader is named 'criteria' already")


def test_a_slip_is_met_with_a_guess(tmp_path: Path) -> None:
    (placeholder,) = problems(tmp_path, changed("{answer}", "{anwser}"))[:1]
    assert (placeholder.hint, placeholder.expected, placeholder.found) == (
        "did you mean `answer`?",
        "policy, answer",
        "{anwser}",
    )
    (source,) = problems(tmp_path, changed("answer: answer", "answer: conversaton"))
    assert source.hint == "did you mean `conversation`?"


@pytest.mark.parametrize(
    ("text", "line"), [("evals:\n  - name: [", 2), ("evals: 'open\n", 2), ("a: b: c", 1), ("evals: !!python/x 1", 1)]
)
def test_a_file_that_is_no_yaml_is_a_problem_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    (problem,) = problems(tmp_path, text)
    assert (problem.code, problem.line) == ("yaml-syntax", line)


def test_a_file_that_is_not_there_or_no_utf8_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid):
        read_evals(tmp_path / "none.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"evals: \xff\xfe")
    with pytest.raises(DatasetInvalid) as refused:
        read_evals(path)
    assert refused.value.problems[0].code == "unreadable"
