"""What a plan foresees of its results: expectations that no grader checks, contracts that nobody has, evals that need a
model where the judge is offline, profiles that do not exist, and documents that cannot be shown or are cut. Its notes
are printed before the run and pinned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from howsure.config import FILE
from howsure.dialects.problems import did_you_mean
from howsure.engine.candidates import CandidateRepeat, Rules, may_want
from howsure.engine.unchecked import FieldCheck, verified_kinds, verifies
from howsure.errors import CaseFailure, PlanRefused
from howsure.graders.judged_grader import JudgedGrader
from howsure.judges.base import Question
from howsure.judges.documents import CUT, UNREAD
from howsure.judges.offline.judge import OfflineJudge
from howsure.kit import Kit
from howsure.model.case import Case
from howsure.model.expectation import Contract, ToolCalls
from howsure.model.run_request import OFFLINE
from howsure.model.score import UnscoredReason
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.targets.recordings import RecordedTarget

FORESEEN = 100
"""How many answers are shown to the offline judge before the run: the first ones."""
LISTED = 5
"""How many documents a note names."""
DOCUMENTS = {
    UNREAD: "documents that cannot be shown ({}; texts in UTF-8 and PDFs can be)",
    CUT: f"documents that are cut ({{}}; `document_characters` in {FILE} sets the limit)",
}


class PlanNotes:
    """Looks at every case of the preflight."""

    def __init__(self, candidates: Sequence[CandidateRepeat], rules: Rules, kit: Kit, judge: str) -> None:
        self._candidates = candidates
        self._rules = rules
        self._kit = kit
        self._judge = judge
        judged = any(isinstance(each, JudgedGrader) for each in candidates[0].graders)
        self._offline = OfflineJudge() if judge == OFFLINE and judged else None
        self._profiles: Counter[str] = Counter()
        self._contracts: Counter[str] = Counter()
        self._unchecked: Counter[str] = Counter()
        self._examples: dict[str, tuple[FieldCheck, Case]] = {}
        self._untold: Counter[str] = Counter()
        self._foreseen = 0
        self._documents: defaultdict[str, set[str]] = defaultdict(set)
        self._with_documents: Counter[str] = Counter()

    @property
    def may_glance(self) -> bool:
        """Whether it need not see an Explain case that brings its answer and names no contract."""
        return self._offline is None and any(verifies(grader, ToolCalls) for grader in self._candidates[0].graders)

    def __call__(self, case: Case) -> None:
        flags = {flag for candidate in self._candidates for flag in candidate.case_flags(case)}
        self._with_documents.update({flag.kind for flag in flags})
        for flag in flags:
            self._documents[flag.kind].add(flag.text)
        try:
            self._look(case)
        except CaseFailure as failure:
            raise PlanRefused(f"{failure} (in planning: nothing was run)") from failure

    def _look(self, case: Case) -> None:
        if case.profile and self._rules.profile is None and case.profile not in self._rules.profiles:
            self._profiles[case.profile] += 1
            return
        names = [each.name for each in case.expectations if isinstance(each, Contract)]
        unknown = [name for name in names if name not in self._kit.contracts]
        self._contracts.update(unknown)
        for check in self._candidates[0].selection.choose(case)[1]:
            if check.kind is not Contract or not unknown:
                self._unchecked[check.field] += 1
                self._examples.setdefault(check.field, (check, case))
        if self._offline is not None:
            for candidate in self._candidates:
                self._foresee(case, candidate, self._offline)

    def _foresee(self, case: Case, candidate: CandidateRepeat, judge: OfflineJudge) -> None:
        """Counts the graders whose questions about a recorded answer the offline judge cannot answer, where the case is
        errored without."""
        transcript = candidate.target.find(case) if isinstance(candidate.target, RecordedTarget) else None
        if self._foreseen == FORESEEN or not isinstance(transcript, Transcript):
            return
        self._foreseen += 1
        for grader in candidate.selection.select(case):
            if not isinstance(grader, JudgedGrader):
                continue
            for part in grader.asks_about(case):
                missing = grader.unscored(UnscoredReason.ERROR, "", part)
                asked = Question(
                    grader=grader.name, case=case, transcript=transcript, part=part, rubric=grader.context.rubric
                )
                if not judge.can_tell(asked) and self._rules.decide(case, [missing]).verdict is Verdict.ERRORED:
                    self._untold[grader.name] += 1
                    break

    def refuse(self, *, require_contracts: bool) -> None:
        """PlanRefused for what would break in the middle of the run."""
        reasons = [*self._unknown("profile", self._profiles, self._rules.profiles)]
        reasons += self._unknown("contract", self._contracts, self._kit.contracts) if require_contracts else ()
        if reasons:
            raise PlanRefused("; ".join(reasons))

    def notes(self) -> tuple[str, ...]:
        contracts = self._unknown("contract", self._contracts, self._kit.contracts)
        not_checked = (f"{note}, and is not checked" for note in contracts)
        unchecked = map(self._unchecked_note, self._unchecked)
        return (*not_checked, *unchecked, *self._offline_notes(), *self._document_notes())

    def _unknown(self, what: str, found: Counter[str], known: Collection[str]) -> Iterator[str]:
        for name, number in found.items():
            hint = f"known: {', '.join(sorted(known))}; {did_you_mean(name, known)}".rstrip("; ")
            yield f"the {what} {name!r} of {_cases(number)} is not known ({hint})"

    def _unchecked_note(self, field: str) -> str:
        check, case = self._examples[field]
        graders: Iterable[Any] = self._kit.graders
        able = [
            each
            for each in graders
            if check.kind in (verified_kinds(each) or ())
            and may_want(each, case)
            and (getattr(each, "optional", False) or each.wants(case))
        ]
        advice = f": use --graders {' or '.join(f'+{each.name}' for each in able)}" if able else ""
        if able and self._judge in ("", OFFLINE) and all(isinstance(each, JudgedGrader) for each in able):
            advice += " and --judge MODEL"
        return f"{field} of {_cases(self._unchecked[field])} is checked by no grader of this run{advice}"

    def _offline_notes(self) -> Iterator[str]:
        first = f" of the first {FORESEEN}" if self._foreseen == FORESEEN else ""
        noun = "case" if len(self._candidates) == 1 else "result"
        for name, number in self._untold.items():
            yield (
                f"{name} needs a model: {number}{first} {noun}{'' if number == 1 else 's'} will be errored, unless"
                f" something else fails them; use --judge MODEL or --graders -{name}"
            )

    def _document_notes(self) -> Iterator[str]:
        for kind, sentence in DOCUMENTS.items():
            if documents := sorted(self._documents[kind]):
                number = f"{len(documents):,}, in {_cases(self._with_documents[kind])}"
                more = f"; and {len(documents) - LISTED:,} more" if len(documents) > LISTED else ""
                yield f"{sentence.format(number)}: {'; '.join(documents[:LISTED])}{more}"


def _cases(number: int) -> str:
    return f"{number:,} case{'' if number == 1 else 's'}"
