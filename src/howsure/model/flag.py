"""A Flag: something a reader must know about one result, which decides nothing by itself."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Flag(Struct, frozen=True):
    """`kind` is counted over a run, `text` is the sentence for this result.

    `Flag("cut_off", "the model stopped at its token limit")`
    """

    kind: str
    text: str


NO_ANSWER = "no_answer"
"""The kind of flag for an agent that ended its turn without an answer. Such a case fails: the agent is answerable."""


class UnreadableKind(Enum):
    """Why a judge's reply has no grade, in the words of reports."""

    EMPTY = "empty"
    REFUSED = "refused"
    NO_GRADE = "without a grade"
    SEVERAL_GRADES = "with several grades"
    OFF_SCALE = "off the scale"
    NOT_JSON = "broken JSON"
    CUT_OFF = "cut off"

    @property
    def flag(self) -> str:
        """`unreadable_off_scale`: the kind of flag of a result with such a reply."""
        return f"unreadable_{self.name.lower()}"
