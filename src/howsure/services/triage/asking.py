"""The question behind the written report: the words of judges/prompts/reports/triage.md around what triage found, all
of it quoted as data. It holds no run id and no time: the same findings are the same question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import yaml
from msgspec import Struct

from howsure.judges.base import Question
from howsure.judges.prompt_files import HEX, filled, placeholders
from howsure.judges.quoting import blocks
from howsure.model.case import Case, SingleTurn
from howsure.model.simulation import Party
from howsure.model.transcript import Transcript
from howsure.model.triage import CauseGroup, Divergence, Finding, Group, GroupKind, Split, Triage

GRADER = "triage"
MOST_FINDINGS = 12
"""Results of one cause that are shown in full; of the others, the ids."""
MOST_IDS = 200
MOST_GROUPS = 40
SHOWN = 300
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "party": {"type": "string", "enum": [party.value for party in Party]},
                    "explanation": {"type": "string"},
                    "fix": {"type": "string"},
                    "cases": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["title", "party", "explanation", "fix", "cases"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["summary", "claims"],
    "additionalProperties": False,
}


class Words(Struct, frozen=True):
    """The prompt file: its text, and the version that a report names."""

    body: str
    version: str


@cache
def words() -> Words:
    text = (files("howsure.judges") / "prompts" / "reports" / f"{GRADER}.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = yaml.safe_load(front)
    if sorted(placeholders(body)) != sorted(head["inputs"]):
        raise ValueError(f"{GRADER}.md: its placeholders are {placeholders(body)}, its head says {head['inputs']}")
    return Words(body.strip(), f"{head['name']}@{head['version']}:{sha256(text.encode()).hexdigest()[:HEX]}")


def question(found: Triage) -> Question:
    """What the judge is asked. Its case stands for these findings, so that a recording answers for no others."""
    prompt = filled(words().body, blocks(texts(found)))
    name = f"{GRADER}-{sha256(prompt.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    case = Case(id=name, input=SingleTurn(message=name))
    return Question(grader=GRADER, case=case, transcript=Transcript(answer=""), prompt=prompt, schema=SCHEMA)


def texts(found: Triage) -> Mapping[str, str]:
    """The findings, input by input."""
    by_result = {finding.result: finding for finding in found.findings}
    return {
        "overview": (
            f"{found.total} results: {found.passed} passed, {found.failed} failed, {found.errored} errored, "
            f"{found.skipped} skipped"
        ),
        "causes": "\n\n".join(_cause(group, by_result) for group in found.causes),
        "divergence": "\n".join(map(_divergence, found.divergences[:MOST_IDS])),
        "shared": "\n".join(_shared(found.groups)),
    }


def _cause(group: CauseGroup, by_result: Mapping[str, Finding]) -> str:
    sure = ", ".join(f"{word} {number}" for word, number in group.confidence.items())
    lines = [f"{group.title} (answerable: {group.party.value}; {sure})"]
    lines += [_finding(by_result[result]) for result in group.results[:MOST_FINDINGS]]
    if len(group.results) > MOST_FINDINGS:
        lines.append(f"- also case {_listed(group.cases)}")
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    by = f" by {finding.candidate}" if finding.candidate else ""
    by += f" ({finding.case_name})" if finding.case_name else ""
    shown = f" | evidence: {_short(finding.evidence)}" if finding.evidence else ""
    return f"- case {_line(finding.case_id + by)}: {finding.confidence.value}: {_short(finding.why)}{shown}"


def _divergence(each: Divergence) -> str:
    failed, held = ("criteria", "rules") if each.split is Split.CRITERIA_FAIL else ("rules", "criteria")
    unmet = _short("; ".join(each.failed))
    return f"- case {_line(each.case_id)}: {failed} that failed: {unmet} | {held} that held: {each.passed}"


def _shared(groups: Sequence[Group]) -> Iterator[str]:
    large = sorted((group for group in groups if group.results > 1), key=lambda group: -group.results)
    for group in large[:MOST_GROUPS]:
        of = f" of {group.of}" if group.of is not None else ""
        word = "reasons like" if group.kind is GroupKind.REASON else group.kind.value
        yield f"- {word} “{_short(group.name)}”: {group.results}{of} results, case {_listed(group.cases)}"


def _listed(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - MOST_IDS} more" if len(cases) > MOST_IDS else ""
    return ", ".join(map(_line, cases[:MOST_IDS])) + more


def _line(text: str) -> str:
    """A line of its own is a finding of its own: none may begin inside another."""
    return " ".join(text.split())


def _short(text: str) -> str:
    line = _line(text)
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
