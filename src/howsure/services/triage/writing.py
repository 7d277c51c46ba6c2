"""The root causes in the words of a judge model. A claim stands on cases: one that cites none, or one that is not in
the run, is dropped, and the report says how many were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import CaseFailure, ConfigInvalid
from howsure.judges.asking import ruling
from howsure.judges.base import Judge
from howsure.judges.panel import NAME as PANEL
from howsure.judges.reading import values_and_prose
from howsure.judges.recording import RecordingJudge
from howsure.judges.rulings import NoValue, Unreadable
from howsure.model.simulation import Party
from howsure.model.triage import Claim, Triage, Written
from howsure.services.judging import NONE, OFFLINE, Judging, Wanted, judging
from howsure.services.runs import Recording
from howsure.services.triage.asking import question, words
from howsure.services.triage.triaging import triage
from howsure.services.workspace import Workspace

NOT_ASKED = "No model was asked: the judge is {}. With --judge provider:model, a model writes the root causes."
NOTHING_WRONG = "No model was asked: nothing failed or errored."
MOST_UNKNOWN = 20


class Writer(Struct, frozen=True, kw_only=True):
    """Who writes the report, and what that may cost."""

    judge: str = OFFLINE
    budget: str = ""
    cache: bool = True
    record: Path | None = None


class Draft(Struct, frozen=True):
    """A reply that could be read: what it claims, not yet held against the run."""

    summary: str
    claims: tuple[Claim, ...]


async def triage_in_words(work: Workspace, name: str, writer: Writer) -> Triage:
    """The triage of a run, with a written report where a model writes one."""
    kind = writer.judge.partition(":")[0]
    if kind == PANEL:
        raise ConfigInvalid("a panel cannot write one report: name one of its judges with --judge provider:model")
    found = await triage(work, name)
    if kind in ("", NONE, OFFLINE):
        return replace(found, written=Written(note=NOT_ASKED.format(writer.judge or NONE)))
    if not found.findings:
        return replace(found, written=Written(note=NOTHING_WRONG))
    async with AsyncExitStack() as stack:
        record = stack.enter_context(Recording(writer.record))
        judge = await stack.enter_async_context(judging(_wanted(work, writer)))
        return replace(found, written=await written(found, _asked(judge, record), judge.spec))


def _wanted(work: Workspace, writer: Writer) -> Wanted:
    settings = work.settings
    return Wanted(
        judge=writer.judge,
        cache=work.replies if writer.cache else None,
        budget=writer.budget,
        prices=work.prices,
        attempt_seconds=settings.attempt_seconds,
        judge_settings=settings.judge_settings,
        rates=settings.rates,
        retry=settings.retry,
    )


def _asked(found: Judging, record: Callable[[bytes], None] | None) -> Judge:
    assert found.source is not None
    judge = found.source.at("", 1)
    return RecordingJudge(judge, record) if record else judge


async def written(found: Triage, judge: Judge, spec: str) -> Written:
    """The report, or the reason why there is none: what triage itself found stands either way."""
    try:
        draft, reply = await ruling(judge, question(found), read_draft)
    except CaseFailure as failure:
        return Written(judge=spec, prompt=words().version, note=f"There is no written report: {failure}")
    held = _held(draft, found)
    return replace(held, judge=spec, prompt=words().version, cost_usd=reply.cost_usd)


def read_draft(content: Any) -> Draft:
    """The reply, typed; `Unreadable` when it is not what was asked for."""
    values, _ = values_and_prose(content)
    found = [value for value in values if isinstance(value, dict) and "claims" in value]
    if len(found) != 1:
        raise NoValue("no `claims` in the reply" if not found else "several lists of claims in the reply")
    summary, claims = found[0].get("summary", ""), found[0]["claims"]
    if not isinstance(summary, str) or not isinstance(claims, list):
        raise Unreadable("`summary` must be a text and `claims` a list")
    return Draft(summary, tuple(map(_claim, claims)))


def _claim(said: Any) -> Claim:
    if not isinstance(said, dict):
        raise Unreadable("a claim must be an object")
    cases = said.get("cases")
    if not isinstance(cases, list) or not all(isinstance(case, str) for case in cases):
        raise Unreadable("the `cases` of a claim must be a list of ids")
    title, explanation, fix = (_text(said, key) for key in ("title", "explanation", "fix"))
    return Claim(title=title, party=_party(said), explanation=explanation, fix=fix, cases=tuple(dict.fromkeys(cases)))


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise Unreadable(f"the `{key}` of a claim must be a text")
    return value


def _party(said: Mapping[str, Any]) -> Party:
    word = _text(said, "party").strip().lower().replace(" ", "_").replace("-", "_")
    try:
        return Party(word)
    except ValueError:
        raise Unreadable(f"the party {word!r} is none of {', '.join(party.value for party in Party)}") from None


def _held(draft: Draft, found: Triage) -> Written:
    """The claims whose cases are all among those that did not pass."""
    known = {finding.case_id: finding.case_id for finding in found.findings}
    named = {finding.result: finding.case_id for finding in found.findings} | known
    kept: list[Claim] = []
    unknown: list[str] = []
    for claim in draft.claims:
        strange = [case for case in claim.cases if case not in named]
        unknown += strange
        if claim.cases and not strange:
            kept.append(replace(claim, cases=_each_once(named[case] for case in claim.cases)))
    return Written(
        summary=draft.summary,
        claims=tuple(kept),
        dropped=len(draft.claims) - len(kept),
        unknown=_each_once(unknown)[:MOST_UNKNOWN],
    )


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
