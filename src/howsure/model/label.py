"""A human label: the opinion of one person on one criterion, rule or eval of one answer."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from uuid import UUID, uuid5

from msgspec import Struct, json

from howsure.model.result import result_id


class Opinion(Enum):
    """The possible opinions. `cannot_tell` is an opinion, never a fail."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    CANNOT_TELL = "cannot_tell"

    @property
    def passed(self) -> bool | None:
        """None: neither passed nor failed."""
        return True if self is Opinion.PASS else False if self is Opinion.FAIL else None


class HumanLabel(Struct, frozen=True, kw_only=True):
    """The opinion of one person. `part_id` "" is the grade of the whole case. `blind`: the person had not seen the
    judge's ruling. `drawn`: how likely the answer was to be drawn for labelling, 1 being as likely as the average one;
    None: unknown, it was chosen. The case has the same fields as in files of labels, so that a label outlives its
    run."""

    run_id: str
    position: int
    grader: str
    part_id: str
    labeler: str
    opinion: Opinion
    case_id: str
    candidate: str
    repeat: int
    created_at: datetime
    organization_id: str = ""
    agent_id: str = ""
    why: str = ""
    blind: bool = True
    drawn: float | None = None

    @property
    def id(self) -> str:
        """The same id for every opinion of the same person on the same grade."""
        return str(uuid5(UUID(self.run_id), json.encode((*self.about, self.labeler)).decode()))

    @property
    def result_id(self) -> str:
        return str(result_id(UUID(self.run_id), self.case_id, self.candidate, self.repeat))

    @property
    def about(self) -> tuple[int, str, str]:
        """The grade that it is about, within the run."""
        return self.position, self.grader, self.part_id
