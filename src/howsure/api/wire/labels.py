"""People's labels, and how far they agree with the judge and with each other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from howsure.api.wire.base import NO_NUL, Given, Label, Moment, Shape

OpinionName = Literal["pass", "fail", "not_applicable", "cannot_tell"]
Share = Annotated[float, Field(ge=0, le=1)]
SAID: dict[str, Any] = {
    "result_id": "6ba7b810-9dad-51d1-80b4-00c04fd430c8",
    "grader": "rubric",
    "criterion_id": "BRIEF_RESPONSES",
    "opinion": "fail",
    "why": "It repeats the question before it answers.",
}


class LabelGiven(Given):
    """What somebody says of one criterion, one rule or one eval of one answer."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), json_schema_extra={"examples": [SAID]})

    result_id: Label = Field(description="The result's id, or its case's where that names only one")
    grader: Label = Field(description="Whose grade it is about: a name in the result's `scores`")
    criterion_id: Label | None = Field(
        default=None, description="`criterion_id` or `rule_id`, or the exact text; null: what the case got as a whole"
    )
    opinion: OpinionName
    why: Annotated[str, StringConstraints(pattern=NO_NUL, max_length=2000)] | None = None
    blind: bool = Field(default=True, description="Whether they had not seen the judge's word")
    labeler: Label | None = Field(default=None, description="Whose word it is: one's own, unless an admin brings it in")


class LabelShape(Shape):
    """One person's word on one grade. `passed` is null where they cannot tell, or it does not apply."""

    label_id: str
    run_id: str
    result_id: str
    test_case_id: str
    candidate: str
    repeat: int
    grader: str = Field(examples=["rubric"])
    criterion_id: str | None = Field(description="Null: on what the case got as a whole", examples=["BRIEF_RESPONSES"])
    labeler: str = Field(examples=["ana"])
    opinion: OpinionName
    passed: bool | None
    why: str
    blind: bool
    agent_id: str | None
    created_at: Moment


class ConfusionShape(Shape):
    """Verdicts that people and the judge both gave, and people's that the judge could not decide."""

    both_pass: int
    people_pass_judge_fail: int
    people_fail_judge_pass: int
    both_fail: int
    people_pass_judge_silent: int
    people_fail_judge_silent: int


class AgreementShape(Shape):
    """Of `n` verdicts that both gave, `agreed` are the same. What cannot be said of so few is null. Intervals are of
    95 %; that of kappa is drawn from whole cases."""

    n: int
    agreed: int
    agreement: Share | None
    agreement_interval: list[float] | None
    kappa: float | None = Field(description="Cohen's: agreement beyond chance; null where chance leaves no room")
    kappa_interval: list[float] | None
    confusion: ConfusionShape


class TogetherShape(Shape):
    """What several people said of the same grades."""

    people: list[str]
    grades: int
    agreed: int
    alpha: float | None = Field(description="Krippendorff's; null where nobody ever said anything else")


class ConcordShape(Shape):
    """What the labels of a run come to."""

    run_id: str
    judge: str | None
    labels: int
    compared: int = Field(description="The newest so many were compared")
    people: dict[str, int] = Field(description="Labels, by who gave them")
    opinions: dict[str, int] = Field(description="Labels, by what they say")
    overall: AgreementShape
    graders: dict[str, AgreementShape]
    together: TogetherShape | None = Field(description="Null where nothing was labelled by two people")
