"""How the questions of one dataset are asked and judged: what the `policy_id` of a legal case stands for."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class CriterionStyle(Enum):
    """How a weighted criterion can be met: yes or no, or by degrees."""

    BINARY = "binary"
    GRADED = "graded"


class ReferenceStyle(Enum):
    """How an answer is compared with its reference: by meaning, or by an examiner's points."""

    PLAIN = "plain"
    LEXAM = "lexam"


class PassWinner(Enum):
    """What counts where a judge gives a score and says besides whether the answer passes."""

    JUDGE = "judge"
    SCORE = "score"


class DatasetPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One policy under `policies:`, by the `policy_id` that legal cases name. The three texts are for models under
    test; each may also be the name of a built-in one (`apex_system`, `lexam_open`, `choice_json` …)."""

    criteria: CriterionStyle = CriterionStyle.GRADED
    """How weighted criteria are judged: `binary` reads 0, 1, yes and no alone, `graded` any number from 0 to 1."""
    reference: ReferenceStyle = ReferenceStyle.PLAIN
    """How answers are compared with their reference: `plain` by meaning, `lexam` by an examiner's points."""
    all_must_hold: bool = False
    """An answer passes if it meets every criterion, and agrees with a reference answer that stands beside them.
    Otherwise criteria earn points, and the reference only helps their judge."""
    quantised: bool = False
    """Scores of reference answers are rounded to tenths, halves up."""
    attachments: bool = True
    """Models and judges are shown the documents of a case."""
    pass_wins: PassWinner | None = PassWinner.JUDGE
    """Where the judge of a reference answer says `pass` or fail beside its score: `judge` lets that decide, `score`
    lets the pass mark decide, and `null` makes a contradiction an error."""
    system: str = ""
    """The system prompt where the run brings no agent."""
    guidance: str = ""
    """What stands before the question."""
    form: str = "choice_line"
    """How to answer a choice; it stands after the options."""
