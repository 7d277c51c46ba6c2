"""Labels, and what they come to."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from howsure.client.wire.base import Shape


class Label(Shape, frozen=True, kw_only=True):
    """One person's word on one grade. `criterion_id` None: on what the case got as a whole."""

    label_id: str
    run_id: str
    result_id: str
    test_case_id: str
    candidate: str
    repeat: int
    grader: str
    criterion_id: str | None
    labeler: str
    opinion: str
    passed: bool | None
    why: str
    blind: bool
    agent_id: str | None
    created_at: datetime


class Confusion(Struct, frozen=True, kw_only=True):
    """Verdicts that people and the judge both gave, and people's that the judge could not decide."""

    both_pass: int
    people_pass_judge_fail: int
    people_fail_judge_pass: int
    both_fail: int
    people_pass_judge_silent: int
    people_fail_judge_silent: int


class Agreement(Struct, frozen=True, kw_only=True):
    """Of `n` verdicts that both gave, `agreed` are the same; what cannot be said of so few is None."""

    n: int
    agreed: int
    agreement: float | None
    agreement_interval: tuple[float, float] | None
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    confusion: Confusion


class Together(Struct, frozen=True, kw_only=True):
    """What several people said of the same grades."""

    people: list[str]
    grades: int
    agreed: int
    alpha: float | None


class Concord(Shape, frozen=True, kw_only=True):
    """What the labels of a run come to; `together` is None where nothing was labelled by two people."""

    run_id: str
    judge: str | None
    labels: int
    compared: int
    people: dict[str, int]
    opinions: dict[str, int]
    overall: Agreement
    graders: dict[str, Agreement]
    together: Together | None
