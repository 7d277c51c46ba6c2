"""The root causes in the words of a judge model. The prompt is judges/prompts/reports/triage.md around the findings of
triage, all of them quoted as data; it holds no run id and no time, so the same findings give the same question. A claim
must cite cases: one that cites none, or one that is not in the run, is dropped, and the report says how many were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import CaseFailure, ConfigInvalid
from howsure.judges.base import Judge, Question
from howsure.judges.judge_prompts import PlainPrompt, fill_placeholders, read_plain_prompt
from howsure.judges.panels import PANEL as PANEL
from howsure.judges.quotations import quote_blocks
from howsure.judges.recordings import RecordingJudge
from howsure.judges.replies import ask_until_readable, split_json_and_prose
from howsure.judges.rulings import NoValue, UnparsableReply
from howsure.model.case import Case, SingleTurn
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.model.simulation import Party
from howsure.model.transcript import Transcript
from howsure.model.triage import (
    CauseGroup,
    Divergence,
    DivergenceKind,
    Finding,
    GroupKind,
    RootCause,
    RootCauseReport,
    Triage,
    TriageGroup,
)
from howsure.services.run.judges import NONE, open_models
from howsure.services.run.start import open_reply_log
from howsure.services.triage.triage import triage_run
from howsure.services.workspace import Workspace

GRADER = "triage"
MOST_FINDINGS = 12
"""Results of one cause that are shown in full; of the others, only the ids."""
MOST_IDS = 200
MOST_GROUPS = 40
SHOWN = 300


def _object_schema(**properties: Any) -> dict[str, Any]:
    """An object with all of these properties and no other."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_TEXT = {"type": "string"}
_CLAIM = _object_schema(
    title=_TEXT,
    party={"type": "string", "enum": [party.value for party in Party]},
    explanation=_TEXT,
    fix=_TEXT,
    cases={"type": "array", "items": _TEXT},
)
SCHEMA = _object_schema(summary=_TEXT, claims={"type": "array", "items": _CLAIM})


@cache
def report_prompt() -> PlainPrompt:
    return read_plain_prompt(files("howsure.judges") / "prompts" / "reports" / f"{GRADER}.md")


def report_question(found: Triage) -> Question:
    """The question to the judge. Its case id is a hash of the findings, so that a recording answers only for the same
    findings."""
    prompt = fill_placeholders(report_prompt().body, quote_blocks(report_inputs(found)))
    name = f"{GRADER}-{sha256(prompt.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    case = Case(id=name, input=SingleTurn(message=name))
    return Question(grader=GRADER, case=case, transcript=Transcript(answer=""), prompt=prompt, schema=SCHEMA)


def report_inputs(found: Triage) -> Mapping[str, str]:
    """The findings as the inputs of the prompt."""
    by_result = {finding.result: finding for finding in found.findings}
    large = sorted((group for group in found.groups if group.results > 1), key=lambda group: -group.results)
    return {
        "overview": (
            f"{found.total} results: {found.passed} passed, {found.failed} failed, {found.errored} errored, "
            f"{found.skipped} skipped"
        ),
        "causes": "\n\n".join(_cause(group, by_result) for group in found.causes),
        "divergence": "\n".join(map(_divergence, found.divergences[:MOST_IDS])),
        "shared": "\n".join(map(_shared, large[:MOST_GROUPS])),
    }


def _cause(group: CauseGroup, by_result: Mapping[str, Finding]) -> str:
    sure = ", ".join(f"{word} {number}" for word, number in group.confidence.items())
    lines = [f"{group.title} (answerable: {group.party.value}; {sure})"]
    for finding in (by_result[result] for result in group.results[:MOST_FINDINGS]):
        by = f" by {finding.candidate}" if finding.candidate else ""
        by += f" ({finding.case_name})" if finding.case_name else ""
        shown = f" | evidence: {_short(finding.evidence)}" if finding.evidence else ""
        lines.append(f"- case {_line(finding.case_id + by)}: {finding.confidence.value}: {_short(finding.why)}{shown}")
    if len(group.results) > MOST_FINDINGS:
        lines.append(f"- also case {_listed(group.cases)}")
    return "\n".join(lines)


def _divergence(each: Divergence) -> str:
    failed, held = ("criteria", "rules") if each.split is DivergenceKind.CRITERIA_FAIL else ("rules", "criteria")
    unmet = _short("; ".join(each.failed))
    return f"- case {_line(each.case_id)}: {failed} that failed: {unmet} | {held} that held: {each.passed}"


def _shared(group: TriageGroup) -> str:
    of = f" of {group.of}" if group.of is not None else ""
    word = "reasons like" if group.kind is GroupKind.REASON else group.kind.value
    return f"- {word} “{_short(group.name)}”: {group.results}{of} results, case {_listed(group.cases)}"


def _listed(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - MOST_IDS} more" if len(cases) > MOST_IDS else ""
    return ", ".join(map(_line, cases[:MOST_IDS])) + more


def _line(text: str) -> str:
    """The text on one line: each line of the prompt is one finding, and a text must not start another."""
    return " ".join(text.split())


def _short(text: str) -> str:
    line = _line(text)
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


NOT_ASKED = "No model was asked: the judge is {}. With --judge provider:model, a model writes the root causes."
NOTHING_WRONG = "No model was asked: nothing failed or errored."
MOST_UNKNOWN = 20


class ReportDraft(Struct, frozen=True):
    """A reply that could be read: its claims, not yet checked against the run."""

    summary: str
    claims: tuple[RootCause, ...]


async def triage_with_report(work: Workspace, name: str, request: RunRequest) -> Triage:
    """The triage of a run, with a written report where the judge is a model."""
    kind = request.judge.partition(":")[0]
    if kind == PANEL:
        raise ConfigInvalid("a panel cannot write one report: name one of its judges with --judge provider:model")
    found = await triage_run(work, name)
    if kind in ("", NONE, OFFLINE):
        return replace(found, written=RootCauseReport(note=NOT_ASKED.format(request.judge or NONE)))
    if not found.findings:
        return replace(found, written=RootCauseReport(note=NOTHING_WRONG))
    async with AsyncExitStack() as stack:
        record = stack.enter_context(open_reply_log(request.record_judge))
        models = await stack.enter_async_context(open_models(work, request))
        assert models.source is not None
        judge = models.source.at("", 1)
        asked = RecordingJudge(judge, record) if record else judge
        return replace(found, written=await write_report(found, asked, models.judge))


async def write_report(found: Triage, judge: Judge, spec: str) -> RootCauseReport:
    """The report, or the reason why there is none; the findings of triage stand either way."""
    try:
        draft, reply = await ask_until_readable(judge, report_question(found), read_draft)
    except CaseFailure as failure:
        return RootCauseReport(
            judge=spec, prompt=report_prompt().version, note=f"There is no written report: {failure}"
        )
    report = _confirm_claims(draft, found)
    return replace(report, judge=spec, prompt=report_prompt().version, cost_usd=reply.cost_usd)


def read_draft(content: Any) -> ReportDraft:
    """The reply as a draft; `UnparsableReply` when it is not what was asked for."""
    values, _ = split_json_and_prose(content)
    found = [value for value in values if isinstance(value, dict) and "claims" in value]
    if len(found) != 1:
        raise NoValue("no `claims` in the reply" if not found else "several lists of claims in the reply")
    summary, claims = found[0].get("summary", ""), found[0]["claims"]
    if not isinstance(summary, str) or not isinstance(claims, list):
        raise UnparsableReply("`summary` must be a text and `claims` a list")
    return ReportDraft(summary, tuple(map(_claim, claims)))


def _claim(claim: Any) -> RootCause:
    if not isinstance(claim, dict):
        raise UnparsableReply("a claim must be an object")
    cases = claim.get("cases")
    if not isinstance(cases, list) or not all(isinstance(case, str) for case in cases):
        raise UnparsableReply("the `cases` of a claim must be a list of ids")
    title, explanation, fix = (_text(claim, key) for key in ("title", "explanation", "fix"))
    word = _text(claim, "party").strip().lower().replace(" ", "_").replace("-", "_")
    parties = [party.value for party in Party]
    if word not in parties:
        raise UnparsableReply(f"the party {word!r} is none of {', '.join(parties)}")
    return RootCause(title=title, party=Party(word), explanation=explanation, fix=fix, cases=_each_once(cases))


def _text(claim: Mapping[str, Any], key: str) -> str:
    value = claim.get(key)
    if not isinstance(value, str):
        raise UnparsableReply(f"the `{key}` of a claim must be a text")
    return value


def _confirm_claims(draft: ReportDraft, found: Triage) -> RootCauseReport:
    """The claims whose cases are all among those that did not pass."""
    known = {finding.case_id: finding.case_id for finding in found.findings}
    named = {finding.result: finding.case_id for finding in found.findings} | known
    confirmed: list[RootCause] = []
    unknown: list[str] = []
    for claim in draft.claims:
        unknown_here = [case for case in claim.cases if case not in named]
        unknown += unknown_here
        if claim.cases and not unknown_here:
            confirmed.append(replace(claim, cases=_each_once(named[case] for case in claim.cases)))
    return RootCauseReport(
        summary=draft.summary,
        claims=tuple(confirmed),
        dropped=len(draft.claims) - len(confirmed),
        unknown=_each_once(unknown)[:MOST_UNKNOWN],
    )


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
