"""Triage: why the results of a run did not pass, sorted by cause. Every statement names the results that support it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.model.simulation import Party
from howsure.model.verdict import Verdict


class Confidence(Enum):
    """How sure an attribution is. `certain`: the record says so. `likely`: the record points to it. `possible`: a
    person should look."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Priority(Enum):
    """What to do first. Until P1 is done, the numbers say nothing about the agent."""

    EVALUATION = "P1"
    AGENT = "P2"
    RETRIEVAL = "P3"


PRIORITY = dict.fromkeys(Party, Priority.EVALUATION) | {
    Party.AGENT: Priority.AGENT,
    Party.RETRIEVAL: Priority.RETRIEVAL,
}


class Cause(Enum):
    """What went wrong, in the order in which causes are looked for."""

    SIMULATOR_SPOILED = "simulator_spoiled"
    NOT_REACHED = "not_reached"
    TOOL_BROKE = "tool_broke"
    AGENT_BROKE = "agent_broke"
    JUDGE_UNREADABLE = "judge_unreadable"
    GRADER_BROKE = "grader_broke"
    NO_CHOICE = "no_choice"
    TOOL_LACKING = "tool_lacking"
    PLACEHOLDER = "placeholder"
    EMPTY_ANSWER = "empty_answer"
    KEY_DOUBTFUL = "key_doubtful"
    CRITERIA_STRICT = "criteria_strict"
    NEEDS_EARLIER_TALK = "needs_earlier_talk"
    CUT_OFF = "cut_off"
    NOTHING_FOUND = "nothing_found"
    SEARCH_MISSING = "search_missing"
    SEARCH_WRONG = "search_wrong"
    POOR_RETRIEVAL = "poor_retrieval"
    CONTRACT_BROKEN = "contract_broken"
    WRONG_AGENT = "wrong_agent"
    TOOL_NOT_CALLED = "tool_not_called"
    WRONG_ARGUMENTS = "wrong_arguments"
    FORBIDDEN_TOOL = "forbidden_tool"
    WRONG_STATE = "wrong_state"
    WRONG_PATH = "wrong_path"
    RULE_BROKEN = "rule_broken"
    POOR_ANSWER = "poor_answer"
    CRITERION_UNMET = "criterion_unmet"
    PARTLY_RIGHT = "partly_right"
    WRONG_CHOICE = "wrong_choice"
    PENALISED = "penalised"
    POINTS_MISSED = "points_missed"
    NOT_THE_REFERENCE = "not_the_reference"
    BELOW_MARK = "below_mark"


class Finding(Struct, frozen=True, kw_only=True):
    """What triage says about one result: who is responsible, for what, how sure that is, and the evidence."""

    case_id: str
    verdict: Verdict
    party: Party
    cause: Cause
    confidence: Confidence
    why: str
    evidence: str = ""
    case_name: str = ""
    candidate: str = ""
    repeat: int = 1
    position: int = 0

    @property
    def result(self) -> str:
        return result_label(self.case_id, self.candidate, self.repeat)


def result_label(case: str, candidate: str = "", repeat: int = 1) -> str:
    """`case [candidate] #2`: the short name of a result."""
    return case + (f" [{candidate}]" if candidate else "") + (f" #{repeat}" if repeat > 1 else "")


class CauseGroup(Struct, frozen=True, kw_only=True):
    """The results that share a cause. Each result that did not pass is in exactly one of these."""

    cause: Cause
    party: Party
    priority: Priority
    title: str
    advice: str
    confidence: dict[str, int]
    results: tuple[str, ...]
    cases: tuple[str, ...]


class GroupKind(Enum):
    """What else the results that did not pass can have in common."""

    RULE = "rule"
    CRITERION = "criterion"
    GRADER = "grader"
    COMPONENT = "component"
    TOOL = "tool"
    TAG = "tag"
    CANDIDATE = "candidate"
    REASON = "reason"


class TriageGroup(Struct, frozen=True, kw_only=True):
    """Results with something in common. `of`: how many results of the run have it, including passed ones (None:
    unknown). `parties` counts who is responsible for them."""

    kind: GroupKind
    name: str
    results: int
    of: int | None
    cases: tuple[str, ...]
    parties: dict[str, int]


class DivergenceKind(Enum):
    """How criteria and standing rules can disagree about one result."""

    CRITERIA_FAIL = "criteria_fail_rubric_pass"
    RUBRIC_FAIL = "criteria_pass_rubric_fail"


class Divergence(Struct, frozen=True, kw_only=True):
    """One result on which criteria and rules disagree, with the failed checks and who is responsible."""

    split: DivergenceKind
    case_id: str
    party: Party
    failed: tuple[str, ...]
    passed: int
    case_name: str = ""
    candidate: str = ""
    repeat: int = 1

    @property
    def result(self) -> str:
        return result_label(self.case_id, self.candidate, self.repeat)


class RootCause(Struct, frozen=True, kw_only=True):
    """One root cause in the words of a judge model. All `cases` are in the run."""

    title: str
    party: Party
    explanation: str
    fix: str
    cases: tuple[str, ...]


class RootCauseReport(Struct, frozen=True, kw_only=True):
    """The report that a judge model wrote. `judge` empty: no model was asked, and `note` says why. `dropped` counts the
    claims that cited no case, or a case that passed or does not exist; `unknown` are the ids they cited."""

    judge: str = ""
    summary: str = ""
    claims: tuple[RootCause, ...] = ()
    dropped: int = 0
    unknown: tuple[str, ...] = ()
    prompt: str = ""
    cost_usd: float | None = None
    note: str = ""


class Triage(Struct, frozen=True, kw_only=True):
    """The triage of one run."""

    run_id: str
    run_name: str
    judge: str
    total: int
    passed: int
    failed: int
    errored: int
    skipped: int
    causes: tuple[CauseGroup, ...]
    divergences: tuple[Divergence, ...]
    groups: tuple[TriageGroup, ...]
    findings: tuple[Finding, ...]
    written: RootCauseReport
