"""A triage as a terminal shows it: causes by priority, divergences, what the failures have in common, and the written
report. Foreign text is inert."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from howsure.model.triage import CauseGroup, Claim, Divergence, Finding, Group, GroupKind, Priority, Split, Triage
from howsure.reports.figures import counted
from howsure.reports.screen import Screen
from howsure.reports.triage_words import (
    KIND_WORDS,
    PRIORITY_WORDS,
    SPLIT_ADVICE,
    SPLIT_WORDS,
    because,
    dropped,
    headline,
    kinds,
    listed,
    of,
    splits,
)

SHOWN_FINDINGS = 8
SHOWN_DIVERGENCES = 12
SHOWN_GROUPS = 5
SHOWN_CASES = 6
WHY = 200


class TriageReport(Struct, frozen=True):
    """Something rich can print; `written` False: without the written report, where nobody could have asked for one."""

    found: Triage
    written: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = Screen.of(options)
        yield screen.line(self.found.run_name or self.found.run_id, style="bold")
        yield screen.text(headline(self.found))
        yield from _causes(screen, self.found)
        for split, some in splits(self.found):
            yield from _divergences(screen, split, some)
        yield from _in_common(screen, self.found)
        if self.written:
            yield from _written(screen, self.found)


def _causes(screen: Screen, found: Triage) -> Iterator[RenderableType]:
    by_result = {finding.result: finding for finding in found.findings}
    for priority in Priority:
        some = [group for group in found.causes if group.priority is priority]
        if some:
            yield Text()
            yield Text.assemble((f"{priority.value}  ", "bold"), screen.text(PRIORITY_WORDS[priority], "bold"))
        for group in some:
            shown = [by_result[result] for result in group.results[:SHOWN_FINDINGS]]
            yield from _cause(screen, group, shown)


def _cause(screen: Screen, group: CauseGroup, shown: list[Finding]) -> Iterator[RenderableType]:
    yield Text()
    size = counted(len(group.results), "result")
    yield _in(2, Text.assemble((group.party.words, "cyan"), f"  {group.title}  ", (size, "dim")))
    for finding in shown:
        named = screen.line(f"{finding.result}  {finding.case_name}".rstrip(), style="bold")
        yield _in(4, Text.assemble(named, ("  " + finding.confidence.value, "dim")))
        yield _in(6, screen.line(because(finding), WHY, "dim"))
    if len(group.results) > len(shown):
        yield _in(4, screen.text(f"… and {len(group.results) - len(shown):,} more (--json lists all)", "dim"))
    yield _in(4, screen.text(f"→ {group.advice}"))


def _divergences(screen: Screen, split: Split, some: list[Divergence]) -> Iterator[RenderableType]:
    yield Text()
    yield Text.assemble(("Divergence  ", "bold"), f"{SPLIT_WORDS[split]}  ", (counted(len(some), "result"), "dim"))
    for each in some[:SHOWN_DIVERGENCES]:
        named = screen.line(f"{each.result}  {each.case_name}".rstrip(), style="bold")
        yield _in(4, Text.assemble(named, ("  " + each.party.words, "cyan")))
        yield from (_in(6, screen.line(text, WHY, "dim")) for text in each.failed)
    if len(some) > SHOWN_DIVERGENCES:
        yield _in(4, screen.text(f"… and {len(some) - SHOWN_DIVERGENCES:,} more (--json lists all)", "dim"))
    yield _in(4, screen.text(f"→ {SPLIT_ADVICE[split]}"))


def _in_common(screen: Screen, found: Triage) -> Iterator[RenderableType]:
    """Groups of one are of use to programs only; the one kind of group that is shown whatever its size is the rule."""
    shared = [
        (kind, [group for group in some if group.results > 1 or kind is GroupKind.RULE]) for kind, some in kinds(found)
    ]
    if not any(some for _, some in shared):
        return
    yield Text()
    yield Text("In common", style="bold")
    for kind, some in shared:
        for place, group in enumerate(some[:SHOWN_GROUPS]):
            yield from _group(screen, "" if place else KIND_WORDS[kind], group)
        if len(some) > SHOWN_GROUPS:
            yield _in(17, screen.text(f"… and {len(some) - SHOWN_GROUPS:,} more (--json lists all)", "dim"))


def _group(screen: Screen, heading: str, group: Group) -> Iterator[RenderableType]:
    named = screen.line(group.name or "unnamed", max(20, screen.width - 34))
    yield Text.assemble((f"  {heading:<15}", "dim"), named, (f"  {of(group)}", "bold"))
    yield _in(17, screen.line(listed(group.cases, SHOWN_CASES), style="dim"))


def _written(screen: Screen, found: Triage) -> Iterator[RenderableType]:
    report = found.written
    yield Text()
    if not report.judge:
        yield screen.text(report.note, "dim")
        return
    yield Text.assemble(("Root causes  ", "bold"), screen.line(f"written by {report.judge}", style="dim"))
    if report.note:
        yield _in(2, screen.text(report.note, "magenta"))
    if report.summary:
        yield _in(2, screen.text(report.summary))
    for claim in report.claims:
        yield from _claim(screen, claim)
    if said := dropped(report):
        yield Text()
        yield _in(2, screen.text(said, "magenta"))


def _claim(screen: Screen, claim: Claim) -> Iterator[RenderableType]:
    yield Text()
    yield _in(2, Text.assemble((claim.party.words, "cyan"), "  ", screen.line(claim.title, style="bold")))
    yield _in(4, screen.text(claim.explanation))
    yield _in(4, screen.text(f"→ {claim.fix}"))
    yield _in(4, screen.line(f"cases: {', '.join(claim.cases)}", style="dim"))


def _in(indent: int, text: Text) -> Padding:
    return Padding(text, (0, 0, 0, indent), expand=False)
