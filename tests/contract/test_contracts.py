"""What every registered dialect, target and grader must hold to, whoever wrote it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from howsure.dialects.base import Dialect, HasSchema
from howsure.dialects.datasets import read_cases, validate
from howsure.errors import CaseFailure, Level, Problem
from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.model.score import Score, Unscored
from howsure.model.transcript import Transcript
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import DEMOS, demo_folder
from howsure.targets.base import FinishedSession
from howsure.testing import a_transcript

KIT: Kit = builtin_kit(builtin_profiles())
DIALECTS = list(KIT.dialects)
FILES = {demo.dialect: demo_folder() / demo.dataset for demo in DEMOS}
FILES["plain"] = Path(__file__).parents[1] / "data" / "plain" / "questions.jsonl"
TOOLS = {
    "promptfoo": "promptfooconfig.yaml", "inspect": "inspect.jsonl", "deepeval": "deepeval.jsonl",
    "openai-evals": "openai_samples.jsonl", "langsmith": "langsmith.jsonl", "ragas": "ragas.jsonl",
    "braintrust": "braintrust.jsonl", "deepeval-conversations": "deepeval_conversations.csv",
    "openai-evals-items": "openai_items.jsonl",
    "ragas-annotations": "ragas_annotations.json", "azure-evaluation": "azure_evaluation.json",
    "openai-evals-registry": "openai_registry.yaml", "pydantic-evals": "pydantic_evals.yaml",
    "lm-eval": "lm_eval_task.yaml",
}  # fmt: skip
FILES |= {name: Path(__file__).parents[1] / "data" / "tools" / file for name, file in TOOLS.items()}


def demo_cases() -> list[Case]:
    return [case for name, path in FILES.items() for case in read_cases(path, KIT.dialects[name])]


CASES = demo_cases()


def grader(name: str) -> Grader:
    found = KIT.graders[name]
    return found.bind(GraderContext(contracts=KIT.contracts)) if isinstance(found, BindableGrader) else found


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_knows_its_own_files_and_no_other_ones(dialect: Dialect) -> None:
    known = [name for name, path in FILES.items() if dialect.detect(path, path.read_bytes()[:65536])]
    # The fallback is asked when nobody else knows a file.
    assert dialect.name in known if getattr(dialect, "fallback", False) else known == [dialect.name]


WRITING = [each for each in DIALECTS if hasattr(each, "write")]


@pytest.mark.parametrize("dialect", WRITING, ids=lambda dialect: dialect.name)
def test_what_a_dialect_writes_it_reads_back(dialect: Dialect, tmp_path: Path) -> None:
    source = FILES[dialect.name]
    # Attachments are looked for beside the file.
    for extra in source.parent.iterdir():
        if extra.is_dir():
            shutil.copytree(extra, tmp_path / extra.name)
    cases = list(read_cases(source, dialect))
    copy = tmp_path / source.name
    dialect.write(cases, copy)
    assert list(read_cases(copy, dialect)) == cases


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each.name not in TOOLS], ids=lambda each: each.name)
def test_a_dialect_describes_itself_by_a_valid_schema(dialect: Dialect) -> None:
    assert isinstance(dialect, HasSchema)
    Draft202012Validator.check_schema(dialect.schema())


HOSTILE = {
    "empty": b"",
    "blank": b"\n \r\n\t\n",
    "binary": bytes(range(256)) * 8,
    "not utf-8": b'{"id": "\xff\xfe"}\n',
    "deep": b"[" * 100_000,
    "a number": b"42\n",
    "null": b"null\n",
    "a list": b"[[], {}, 3]\n",
    "an empty object": b"{}\n",
    "nan": b'{"id": NaN}\n',
    "lone surrogate": b'{"id": "\\ud800"}\n',
    "twice": b'{"id": 1, "id": 2}\n',
    "unfinished": b'{"id": "x", "items": [{"item_id": ',
    "zero byte": b'{"id": "a\x00b"}\n',
    "a long line": b'{"id": "' + b"x" * 3_000_000 + b'"}\n',
    "a csv header alone": b"user_inputs,final_response,session_trace\n",
    "a broken csv": b'user_inputs,final_response\n"[unclosed,1\n',
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_no_content_makes_a_dialect_raise(dialect: Dialect, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / FILES[dialect.name].name
    path.write_bytes(content)
    assert isinstance(dialect.detect(path, content[:65536]), bool)
    report = validate(path, dialect)
    assert report.problems
    for problem in report.problems:
        assert problem.code
        assert problem.message
        assert problem.level is Level.ERROR
        assert "Traceback" not in problem.message


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_dialect_yields_cases_and_problems_only(dialect: Dialect) -> None:
    assert {type(found) for found in dialect.read(FILES[dialect.name])} <= {Case, Problem}


@pytest.mark.parametrize("name", KIT.graders.names())
async def test_a_grader_gives_grades_of_its_own_name_or_fails_aloud(name: str) -> None:
    under_test = grader(name)
    assert under_test.name == name
    for case in CASES:
        if under_test.wants(case) is not True:
            assert under_test.wants(case) is False
            continue
        said = case.recorded if isinstance(case.recorded, Transcript) else a_transcript("An answer.")
        for transcript in (said, Transcript(answer="")):
            try:
                grades = await under_test.grade(case, transcript)
            except CaseFailure:
                continue
            assert grades
            for grade in grades:
                assert isinstance(grade, Score | Unscored)
                assert grade.name == name
                assert isinstance(grade, Score) or grade.reason


@pytest.mark.parametrize("name", KIT.targets.names())
async def test_a_target_opens_a_session_or_fails_as_a_case_does(name: str) -> None:
    target = KIT.targets[name]
    opened = 0
    for case in CASES:
        try:
            session = await target.open(case)
        except CaseFailure:
            continue
        assert isinstance(session, FinishedSession) or hasattr(session, "send")
        opened += 1
    assert opened


def test_every_grader_of_the_design_is_registered() -> None:
    explain = ["Relevance", "Coherence", "PerceivedIntelligence", "Fluency", "Empathy", "Helpfulness",
               "IntentResolution", "ToolCallAccuracy", "TaskAdherence"]  # fmt: skip
    programmatic = ["tool_calls", "output_contract", "tool_usage_accuracy", "trajectory_accuracy",
                    "state_management_fidelity", "agent_routing", "tools_used", "choice"]  # fmt: skip
    judged = ["tool_usage_accuracy_judged", "trajectory_accuracy_judged", "state_management_fidelity_judged",
              "response_correctness", "capability_honesty", "pipeline_integrity", "general_quality", "text_quality",
              "instruction_following", "grounding", "hallucination", "safety", "final_response_quality",
              "tool_use_quality", "multi_turn_general_quality", "multi_turn_text_quality", "criteria", "rubric",
              "expected_outcome", "weighted_criteria", "reference_answer"]  # fmt: skip
    measures = ["token_usage", "latency_metrics", "cache_efficiency", "thinking_metrics", "tool_utilization",
                "tool_success_rate", "grounding_utilization", "context_saturation", "agent_handoffs", "output_density",
                "sandbox_usage"]  # fmt: skip
    wanted = {*(f"{name}Explain" for name in explain), *programmatic, *judged, *measures}
    assert wanted <= set(KIT.graders.names())
