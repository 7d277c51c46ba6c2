"""Why a case has its verdict, in sentences; names of graders in words; which grades decide."""

from __future__ import annotations

import pytest

from howsure.model.case import World
from howsure.model.result import Failure, Result
from howsure.model.rubric import Severity
from howsure.model.score import LIKERT, Direction, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import deciding_grades
from howsure.reports.headlines import grader_name, headline, sentences
from howsure.testing import a_case

LATE = Score(
    name="reference_answer", value=0.2, pass_mark=0.7, judge="m", reason="The answer misses the deadline. It says May."
)
MEETS = Part(id="c1", text="Names the deadline")
RULE = Part(id="R1", text="No invented amounts", severity=Severity.HIGH)


def result(verdict: Verdict, *grades: Grade, world: str = World.PLAIN, reasons: tuple[str, ...] = ()) -> Result:
    return Result(case=a_case(world=world), verdict=verdict, grades=grades, reasons=reasons)


@pytest.mark.parametrize(
    ("grade", "sentence"),
    [
        (LATE, "The answer misses the deadline: the judge gave 0.20, 0.70 is needed."),
        (
            Score(name="reference_answer", value=0.6999, pass_mark=0.7, reason="half of it"),
            "Reference answer is 0.6999, 0.7000 is needed: half of it.",
        ),
        (
            Score(name="tool_usage_accuracy", value=0.0, pass_mark=1.0, reason="refund was never called"),
            "Tool usage accuracy: refund was never called.",
        ),
        (
            Score(name="includes", value=0.0, pass_mark=1.0, reason="the answer does not include 'No.'"),
            "Includes: the answer does not include 'No.'",
        ),
        (
            Score(name="criteria", value=0.0, pass_mark=1.0, part=MEETS, judge="m", reason="No date is given."),
            "It does not meet “Names the deadline”: No date is given.",
        ),
        (
            Score(name="rubric", value=0.0, pass_mark=1.0, part=RULE, judge="m", reason="18 is in no result"),
            "It breaks the rule “No invented amounts”: 18 is in no result.",
        ),
        (
            Score(name="wordiness", value=0.9, pass_mark=0.5, direction=Direction.LOWER),
            "Wordiness is 0.90, at most 0.50 is allowed.",
        ),
    ],
    ids=[
        "judged",
        "nearly",
        "a check that does not hold",
        "a reason that ends in a quote",
        "criterion",
        "rule",
        "less is better",
    ],
)
def test_a_failure_is_a_sentence(grade: Score, sentence: str) -> None:
    assert sentences(result(Verdict.FAILED, grade)) == (sentence,)


def test_other_verdicts_are_sentences_too() -> None:
    broken = Unscored(name="RelevanceExplain", why=UnscoredReason.ERROR, reason="no verdict in 2 tries")
    unjudged = result(Verdict.SKIPPED, reasons=("needs a judge: RelevanceExplain, tool_use_quality",))
    passed = Score(name="reference_answer", value=0.8, pass_mark=0.7)
    assert sentences(result(Verdict.ERRORED, broken)) == ("Relevance could not be judged: no verdict in 2 tries.",)
    assert sentences(unjudged) == ("It needs a judge: relevance, tool use quality could not be decided without one.",)
    assert sentences(
        result(Verdict.PASSED, passed, reasons=("reference_answer 0.80 ≥ 0.70", "all 2 criteria met"))
    ) == (
        "Reference answer is 0.80, 0.70 is needed.",
        "all 2 criteria met",
    )


def test_what_no_sentence_is_known_for_is_said_as_it_was() -> None:
    dead = Result(
        case=a_case(),
        verdict=Verdict.ERRORED,
        reasons=("target 'x': refused",),
        failures=(Failure(kind="TargetFailed", message="refused"),),
    )
    assert sentences(dead) == ("target 'x': refused",)


def test_a_headline_is_the_first_sentence_and_how_many_more() -> None:
    failed = result(Verdict.FAILED, LATE, Score(name="tone", value=0.0, pass_mark=1.0, reason="rude"))
    assert headline(failed, 200) == (
        "The answer misses the deadline: the judge gave 0.20, 0.70 is needed. And 1 more reason."
    )
    assert len(headline(failed, 60)) <= 60
    assert headline(result(Verdict.PASSED, reasons=("all 9 evals reached their marks", "b")), 200) == (
        "all 9 evals reached their marks. And 1 more reason."
    )


@pytest.mark.parametrize(
    ("grades", "reasons", "told"),
    [
        ((), ("as imported: junit says passed",), ("junit says that it passed.",)),
        ((), ("as imported: junit says failed", "no refund"), ("no refund", "junit says that it failed.")),
        (
            (Score(name="exact_match@5", value=0.0, pass_mark=1.0, judge="helm"),),
            ("as imported", "exact_match@5 0.00 < 1.00"),
            ("Exact match@5: helm gave 0.00, 1.00 is needed.",),
        ),
    ],
    ids=["a verdict", "a verdict with its reason", "a score"],
)
def test_what_was_imported_is_said_by_its_tool_and_never_by_a_judge(
    grades: tuple[Grade, ...], reasons: tuple[str, ...], told: tuple[str, ...]
) -> None:
    assert sentences(result(Verdict.FAILED, *grades, reasons=reasons)) == told


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tool_usage_accuracy", "tool usage accuracy"),
        ("trajectory_accuracy_judged", "trajectory accuracy, judged"),
        ("TaskAdherenceExplain", "task adherence"),
        ("TargetFailed", "target failed"),
        ("My own check", "My own check"),
        ("quasi_exact_match@5", "quasi exact match@5"),
        ("BLEU", "BLEU"),
        ("composite", "weighted total"),
    ],
)
def test_a_grader_is_named_in_words(name: str, words: str) -> None:
    assert grader_name(name) == words


@pytest.mark.parametrize(
    ("grade", "world", "reasons", "decides"),
    [
        (Score(name="latency_metrics", value=0.5, pass_mark=1.0), World.PLAIN, (), False),
        (Score(name="token_usage", value=0.5), World.PLAIN, (), False),
        (Score(name="expected_outcome", value=0.0, pass_mark=1.0), World.GOLDEN, (), False),
        (
            Score(name="expected_outcome", value=0.0, pass_mark=1.0),
            World.GOLDEN,
            ("expected_outcome 0.00 < 1.00",),
            True,
        ),
        (Score(name="RelevanceExplain", value=2.0, scale=LIKERT, pass_mark=3.6), World.EXPLAIN, (), True),
        (LATE, World.LEGAL, (), True),
    ],
    ids=["a measure", "no mark", "free in its world", "named by a profile", "an eval", "a reference answer"],
)
def test_what_decides_is_told_from_what_is_only_measured(
    grade: Score, world: str, reasons: tuple[str, ...], decides: bool
) -> None:
    found = deciding_grades(result(Verdict.FAILED, grade, world=world, reasons=reasons))
    assert found == ([grade] if decides else [])
