"""People's labels, and how far they agree with the judge and with each other."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from howsure.wire.base import WireShape

OpinionName = Annotated[str, Meta(extra_json_schema={"enum": ["pass", "fail", "not_applicable", "cannot_tell"]})]
Share = Annotated[float, Meta(ge=0, le=1)]


class HumanLabel(WireShape, frozen=True, kw_only=True):
    """One person's word on one grade. `passed` is null where they cannot tell, or it does not apply."""

    label_id: str
    run_id: str
    result_id: str
    test_case_id: str
    candidate: str
    repeat: int
    grader: Annotated[str, Meta(examples=["rubric"])]
    criterion_id: Annotated[
        str | None, Meta(description="Null: on what the case got as a whole", examples=["BRIEF_RESPONSES"])
    ]
    labeler: Annotated[str, Meta(examples=["ana"])]
    opinion: OpinionName
    passed: bool | None
    why: str | None
    blind: bool
    agent_id: str | None
    created_at: datetime
    drawn: Annotated[
        float | None,
        Meta(
            description="How likely the answer was to be drawn, 1 being average; without it, it was chosen",
            examples=[0.75],
        ),
    ] = None


class LabelTask(WireShape, frozen=True, kw_only=True):
    """One question about a drawn answer: what to label next. Give `drawn` back with the label."""

    result_id: str
    test_case_id: str
    candidate: str
    repeat: int
    grader: str
    criterion_id: str | None
    question: str
    drawn: Annotated[float, Meta(description="How likely the answer was to be drawn, 1 being average")]


class ConfusionCounts(Struct, frozen=True, kw_only=True):
    """Verdicts that people and the judge both gave, and people's that the judge could not decide."""

    both_pass: int
    people_pass_judge_fail: int
    people_fail_judge_pass: int
    both_fail: int
    people_pass_judge_silent: int
    people_fail_judge_silent: int


class Agreement(Struct, frozen=True, kw_only=True):
    """Of `n` verdicts that both gave, `agreed` are the same. What cannot be said of so few is null. Intervals are of
    95 %; that of kappa is drawn from whole cases."""

    n: int
    agreed: int
    agreement: Share | None
    agreement_interval: tuple[float, float] | None
    kappa: Annotated[
        float | None, Meta(description="Cohen's: agreement beyond chance; null where chance leaves no room")
    ]
    kappa_interval: tuple[float, float] | None
    confusion: ConfusionCounts


class AnnotatorAgreement(Struct, frozen=True, kw_only=True):
    """What several people said of the same grades."""

    people: list[str]
    grades: int
    agreed: int
    alpha: Annotated[float | None, Meta(description="Krippendorff's; null if all labels are alike")]


class RunAgreement(WireShape, frozen=True, kw_only=True):
    """What the labels of a run come to."""

    run_id: str
    judge: str | None
    labels: int
    compared: Annotated[int, Meta(description="The newest so many were compared")]
    people: Annotated[dict[str, int], Meta(description="Labels, by who gave them")]
    opinions: Annotated[dict[str, int], Meta(description="Labels, by what they say")]
    overall: Agreement
    graders: dict[str, Agreement]
    together: Annotated[AnnotatorAgreement | None, Meta(description="Null where nothing was labelled by two people")]
