"""Answers against their contracts: the six of the Explain world, and a run's own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from howsure.errors import ConfigInvalid
from howsure.graders.base import GraderContext
from howsure.graders.output_contract import OutputContractGrader, builtin_contracts, json_in
from howsure.model.expectation import Contract
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.testing import a_case, a_transcript

Json = dict[str, Any]

CURATION: Json = {
    "rationale": "r",
    "learningPaths": [{"title": "t", "url": "https://x", "estimatedHours": 4, "relevance": "high"}],
    "modules": [{"id": "m1", "title": "t", "url": "https://x", "skillFocus": "s", "moduleUnitIds": ["u1"]}],
    "targets": [{"title": "AZ-900", "type": "exam", "url": "https://x"}],
}
SESSION: Json = {"day": "Mon", "durationMinutes": 60, "tasks": ["read"], "urls": []}
PLAN: Json = {
    "rationale": "r",
    "planTitle": "p",
    "durationWeeks": 1,
    "weeklyHours": 6,
    "weeklyMilestones": [{"weekNumber": 1, "objective": "o", "sessions": [SESSION], "checkpoint": "c"}],
    "briefMessageToUser": "b",
}
ENGAGEMENT: Json = {
    "rationale": "r",
    "recipientEmail": "a@example.org",
    "reminders": [{"scheduleTime": "2026-03-01T08:00:00+01:00", "subject": "s", "body": "b"}],
    "motivationMessages": [{"scheduleTime": "2026-03-02T08:00:00Z", "body": "b"}],
    "briefMessageToUser": None,
}
QUESTION: Json = {
    "questionId": "q",
    "prompt": "p",
    "options": [{"optionId": letter, "text": "t"} for letter in "ABCD"],
    "correctOptionId": "C",
    "explanation": "e",
}
ASSESSMENT: Json = {"introMessage": "i", "questions": [{**QUESTION, "questionId": f"q{n}"} for n in range(10)]}
WORKFLOW: Json = {
    "curatedLearningPathStructured": CURATION,
    "studyPlanStructured": PLAN,
    "engagementPlanStructured": ENGAGEMENT,
    "studentEmail": "a@example.org",
    "preparationCompletedAtUtc": "2026-02-22T10:00:00Z",
    "workflowTranscript": "text",
}
GOOD = {
    "LearningPathCurationOutput": CURATION,
    "StudyPlanOutput": PLAN,
    "EngagementPlanOutput": ENGAGEMENT,
    "AssessmentQuestionSetOutput": ASSESSMENT,
    "PreparationWorkflowResult": WORKFLOW,
}


async def graded(name: str, answer: Any, grader: OutputContractGrader | None = None) -> Grade:
    text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
    (grade,) = await (grader or OutputContractGrader()).grade(a_case(Contract(name=name)), a_transcript(text))
    return grade


def test_the_contracts_of_the_explain_world_are_built_in_and_are_schemas() -> None:
    contracts = builtin_contracts()
    assert sorted(contracts) == sorted(GOOD)
    for name, schema in contracts.items():
        Draft202012Validator.check_schema(schema)
        assert schema["title"] == name


@pytest.mark.parametrize("name", GOOD)
async def test_a_good_answer_fulfils_its_contract(name: str) -> None:
    grade = await graded(name, GOOD[name])
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed, grade.reason) == (1.0, True, f"the answer fulfils {name}")


@pytest.mark.parametrize("name", GOOD)
async def test_unknown_fields_are_free_and_every_required_one_is_needed(name: str) -> None:
    assert getattr(await graded(name, {**GOOD[name], "extra": 1}), "value", None) == 1.0
    for field in builtin_contracts()[name]["required"]:
        left = {key: value for key, value in GOOD[name].items() if key != field}
        grade = await graded(name, left)
        assert isinstance(grade, Score)
        assert grade.value == 0.0
        assert grade.reason == f'`the answer`: "{field}" is a required property'


def changed(name: str, change: Callable[[Json], object]) -> Json:
    answer = copy.deepcopy(GOOD[name])
    change(answer)
    return answer


@pytest.mark.parametrize(
    ("name", "change", "value"),
    [
        ("LearningPathCurationOutput", lambda a: a["learningPaths"][0].update(estimatedHours="4"), 0.0),
        ("LearningPathCurationOutput", lambda a: a["learningPaths"][0].update(estimatedHours=4.5), 0.0),
        ("LearningPathCurationOutput", lambda a: a["learningPaths"][0].update(estimatedHours=4.0), 1.0),
        ("LearningPathCurationOutput", lambda a: a["modules"][0].pop("moduleUnitIds"), 0.0),
        ("LearningPathCurationOutput", lambda a: a.update(targets=[]), 1.0),
        ("StudyPlanOutput", lambda a: a["weeklyMilestones"][0]["sessions"][0].update(tasks="read"), 0.0),
        ("StudyPlanOutput", lambda a: a.update(briefMessageToUser=None), 0.0),
        ("EngagementPlanOutput", lambda a: a.pop("briefMessageToUser"), 1.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(link="https://x"), 1.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(scheduleTime="2026-03-01T08:00:00"), 0.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(scheduleTime="2026-03-01T08:00-0500"), 1.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(scheduleTime="2026-13-01T08:00:00Z"), 0.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(scheduleTime="2026-02-30T08:00:00Z"), 0.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(schedule="2026-02-29T08:00:00"), 0.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(scheduleTime="tomorrow at 8"), 0.0),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].pop("scheduleTime"), 0.0),
        (
            "EngagementPlanOutput",
            lambda a: a["reminders"][0].update(schedule=a["reminders"][0].pop("scheduleTime")[:19]),
            1.0,
        ),
        ("EngagementPlanOutput", lambda a: a["reminders"][0].update(schedule="soon"), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"].pop(), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"].append(QUESTION), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"][3]["options"].pop(), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"][3]["options"].reverse(), 1.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"][3]["options"][0].update(optionId="B"), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"][3]["options"][0].update(optionId="E"), 0.0),
        ("AssessmentQuestionSetOutput", lambda a: a["questions"][3].update(correctOptionId="E"), 0.0),
        ("PreparationWorkflowResult", lambda a: a["engagementPlanStructured"].pop("reminders"), 0.0),
        ("PreparationWorkflowResult", lambda a: a.update(studyPlanStructured=None), 0.0),
        ("PreparationWorkflowResult", lambda a: a.update(workflowTranscript=[{"role": "user"}]), 1.0),
    ],
)
async def test_contracts_hold_their_answers_to_their_words(
    name: str, change: Callable[[Json], object], value: float
) -> None:
    grade = await graded(name, changed(name, change))
    assert isinstance(grade, Score)
    assert grade.value == value, grade.reason


async def test_engagement_is_one_object_not_a_list() -> None:
    grade = await graded("EngagementPlanOutput", [ENGAGEMENT])
    assert isinstance(grade, Score)
    assert grade.value == 0.0
    assert grade.reason == '`the answer`: this is not of type "object"'


PLAIN = '{"a": [1, 2]}'


@pytest.mark.parametrize(
    "answer",
    [
        PLAIN,
        f"  {PLAIN}\n",
        f"\ufeff{PLAIN}",
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```",
        f"~~~\n{PLAIN}\n~~~",
        f"Here it is:\n\n```json\n{PLAIN}\n```\nGood luck!",
    ],
)
def test_json_may_be_plain_or_fenced(answer: str) -> None:
    assert json_in(answer) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "the answer is empty, not JSON"),
        ("   ", "the answer is empty, not JSON"),
        ("I cannot do that.", "the answer is not JSON: "),
        (f"Here it is: {PLAIN}", "the answer is not JSON: "),
        (PLAIN[:-1], "the answer is not JSON: "),
        ('{"a": NaN}', "the answer is not JSON: "),
        (f"```json\n{PLAIN}\n```\n```json\n{PLAIN}\n```", "the answer has 2 fenced blocks, not one"),
        ("[" * 100_000, "the answer is not JSON: "),
        ('"\ud800"', "the answer is not JSON: "),
    ],
)
async def test_what_is_not_json_is_a_violation(answer: str, said: str) -> None:
    grade = await graded("StudyPlanOutput", answer)
    assert isinstance(grade, Score)
    assert grade.value == 0.0
    assert grade.reason.startswith(said)


async def test_the_first_violations_are_listed_and_all_are_counted() -> None:
    grade = await graded("StudyPlanOutput", {})
    assert isinstance(grade, Score)
    assert grade.details["contract"] == "StudyPlanOutput"
    assert grade.details["violation_count"] == 6
    assert len(grade.details["violations"]) == 5
    assert grade.reason.endswith("; and 1 more")


async def test_a_violation_of_a_long_answer_is_short() -> None:
    grade = await graded("StudyPlanOutput", [{"text": "x" * 10_000}])
    assert isinstance(grade, Score)
    assert len(grade.reason) < 300


OWN: Json = {
    "type": "object",
    "properties": {
        "due": {"format": "date"},
        "at": {"format": "date-time"},
        "mail": {"format": "email"},
        "level": {"enum": ["easy", "hard", 3]},
        "weeks": {"type": ["integer", "null"], "minimum": 1},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$", "description": "Two letters, a hyphen, a number."},
        "tags": {"uniqueItems": True, "maxItems": 2},
        "who": {"anyOf": [{"type": "string"}, {"type": "array"}]},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"due": "2026-02-30"}, '`due` ("2026-02-30"): this is not a "date"'),
        ({"due": "2028-02-29"}, ""),
        ({"at": "2026-02-30T10:00:00Z"}, '`at` ("2026-02-30T10:00:00Z"): this is not a "date-time"'),
        ({"mail": "nobody"}, '`mail` ("nobody"): this is not a "email"'),
        ({"level": "Easy"}, '`level` ("Easy"): this is none of "easy", "hard", 3'),
        ({"weeks": "8"}, '`weeks` ("8"): this is not of types "null", "integer"'),
        ({"weeks": 0}, "`weeks` (0): this is less than the minimum of 1"),
        (
            {"code": "x"},
            '`code` ("x"): this does not have the form that the contract asks for: Two letters, a hyphen, a number',
        ),
        ({"tags": [1, 1]}, "`tags` ([1, 1]): this has non-unique elements"),
        ({"tags": ["x" * 40, "y" * 40, "z"]}, "`tags`: this has more than 2 items"),
        ({"who": 1}, '`who` (1): this is not of type "string" or this is not of type "array"'),
        ('{"weeks": 8, "weeks": 52}', "the key `weeks` stands 2 times in one object"),
        ('{"who": [{"a": 1, "a": 1}]}', "the key `a` stands 2 times in one object"),
    ],
)
async def test_a_violation_is_told_in_words(answer: Any, said: str) -> None:
    grade = await graded("Own", answer, OutputContractGrader().bind(GraderContext(contracts={"Own": OWN})))
    assert isinstance(grade, Score)
    assert grade.reason == (said or "the answer fulfils Own")


def test_only_cases_with_a_known_contract_are_checked() -> None:
    grader = OutputContractGrader()
    known, unknown = Contract(name="StudyPlanOutput"), Contract(name="StudyPlan")
    assert [grader.wants(a_case(*each)) for each in ([known], [unknown], [unknown, known], [])] == [
        *(True, False, True, False)
    ]


async def test_an_unknown_contract_is_an_error_that_names_the_known_ones() -> None:
    grade = await graded("StudyPlan", "{}")
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR
    assert grade.reason.startswith("no contract is named 'StudyPlan'; known: AssessmentQuestionSetOutput, ")


async def test_a_run_brings_its_own_contracts_and_may_replace_a_built_in_one() -> None:
    own: dict[str, Json] = {
        "Letter": {"enum": ["B"]},
        "StudyPlanOutput": {"type": "array", "items": {"$ref": "Letter"}},
    }
    grader = OutputContractGrader().bind(GraderContext(contracts=own))
    assert getattr(await graded("Letter", '"B"', grader), "value", None) == 1.0
    assert getattr(await graded("Letter", '"C"', grader), "value", None) == 0.0
    assert getattr(await graded("StudyPlanOutput", '["B"]', grader), "value", None) == 1.0
    assert getattr(await graded("EngagementPlanOutput", ENGAGEMENT, grader), "value", None) == 1.0


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ({"type": "strin"}, r"the contract 'Letter' is not usable as JSON Schema: .* \(at type\)"),
        ({"properties": {"a": 3}}, r"the contract 'Letter' is not usable as JSON Schema: .* \(at properties.a\)"),
        ({"$ref": "Nowhere"}, "the contracts are not usable as JSON Schema: Resource 'Nowhere' is not present"),
        ({"$ref": "http://localhost/x"}, "no contract has the name 'http://localhost/x'"),
    ],
    ids=["a type", "a property", "a name that nobody has", "an address"],
)
def test_a_contract_that_is_no_schema_is_refused_when_the_run_is_planned(contract: Json, said: str) -> None:
    with pytest.raises(ConfigInvalid, match=said):
        OutputContractGrader().bind(GraderContext(contracts={"Letter": contract}))
