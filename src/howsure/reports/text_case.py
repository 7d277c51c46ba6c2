"""One Result as a terminal shows it: the verdict and why, the conversation as a script, then every grade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, json
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from howsure.model.case import Scenario, SingleTurn
from howsure.model.result import Result
from howsure.model.score import Direction, Grade, Score
from howsure.model.transcript import Message, ToolCall
from howsure.reports.checks import parts, wholes
from howsure.reports.conversation import conversation
from howsure.reports.figures import NOTHING, number, on_scale
from howsure.reports.marks import ERRORED, OF_VERDICT, mark_of, needed
from howsure.reports.screen import Screen
from howsure.reports.simulated import played

GUTTER = 11
CALL_LENGTH = 400


class CaseDetail(Struct, frozen=True):
    """Something rich can print."""

    result: Result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = Screen.of(options)
        yield from _head(screen, self.result)
        yield from _given(screen, self.result)
        yield Text()
        yield _script(screen, conversation(self.result))
        yield from _played(screen, self.result)
        yield from _state(screen, self.result)
        yield from _grades(screen, self.result.grades)


def case_detail(result: Result) -> CaseDetail:
    """For `howsure show RUN CASE`."""
    return CaseDetail(result)


def _head(screen: Screen, result: Result) -> Iterator[Text | Padding]:
    mark = OF_VERDICT[result.verdict]
    named = [result.case.id, result.candidate, f"repeat {result.repeat}" if result.repeat > 1 else ""]
    yield Text.assemble(screen.mark(mark, mark.word), "  ", screen.line("  ".join(part for part in named if part)))
    if result.case.name:
        yield screen.line(result.case.name, style="bold")
    for reason in result.reasons:
        yield Padding(screen.text(reason), (0, 0, 0, 2))
    for failure in result.failures:
        yield Padding(screen.text(f"{screen.sign(ERRORED)} {failure.kind}: {failure.message}", "magenta"), (0, 0, 0, 2))


def _given(screen: Screen, result: Result) -> Iterator[Text]:
    """What the user's side was told beyond what it says."""
    given = result.case.input
    if isinstance(given, Scenario):
        yield Text()
        yield screen.text(f"persona (up to {given.max_turns} turns): {given.persona}", "dim")
    if isinstance(given, SingleTurn) and given.context:
        yield Text()
        yield screen.text(f"context: {given.context}", "dim")


def _script(screen: Screen, messages: Sequence[Message]) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=GUTTER, overflow="fold", style="dim")
    table.add_column(overflow="fold")
    for message in messages:
        said = [screen.text(message.content)] if message.content else []
        said += [_call(screen, call) for call in message.tool_calls]
        if said:
            table.add_row(screen.line(message.agent or message.role.value), Text("\n").join(said))
    return table


def _call(screen: Screen, call: ToolCall) -> Text:
    arguments = ", ".join(f"{name}={_written(value)}" for name, value in call.arguments.items())
    shown = screen.line(f"→ {call.name}({arguments})", CALL_LENGTH, "cyan")
    if call.result is None:
        return shown + screen.text("  ← no response", "dim")
    failed = " failed" if call.result.failed else ""
    answer = screen.line(f"  ←{failed} {_written(call.result.content)}", CALL_LENGTH, "red" if failed else "dim")
    return shown + Text("\n") + answer


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def _state(screen: Screen, result: Result) -> Iterator[Text]:
    if result.transcript and result.transcript.state is not None:
        yield Text()
        yield Text.assemble(("final state  ", "dim"), screen.text(_written(result.transcript.state)))


def _played(screen: Screen, result: Result) -> Iterator[Text]:
    told = played(result)
    if told:
        yield Text()
    for title, text in told:
        yield Text.assemble((f"{title}  ", "dim"), screen.text(text))


def _grades(screen: Screen, grades: Sequence[Grade]) -> Iterator[Text | Table]:
    if not grades:
        return
    table = screen.table(("grade", "left"), ("value", "right"), ("mark", "right"), ("why", "left"))
    for grade in wholes(grades):
        _add(screen, table, grade, grade.name)
        for part in parts(grades, grade.name):
            _add(screen, table, part, f"  {part.part.text if part.part else ''}")
    for part in _orphans(grades):
        _add(screen, table, part, f"{part.name}: {part.part.text if part.part else ''}")
    yield Text()
    yield table


def _orphans(grades: Sequence[Grade]) -> list[Grade]:
    """Parts whose grader gave no grade of the whole."""
    known = {grade.name for grade in wholes(grades)}
    return [grade for grade in grades if grade.part is not None and grade.name not in known]


def _value(grade: Grade) -> str:
    """A part is a yes or no: its scale would be noise."""
    if not isinstance(grade, Score):
        return NOTHING
    return number(grade.value) if grade.part else on_scale(grade.value, grade.scale)


def _add(screen: Screen, table: Table, grade: Grade, name: str) -> None:
    mark = mark_of(grade)
    value = _value(grade)
    direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
    indent = " " * (len(name) - len(name.lstrip()))
    label = Text.assemble(indent, screen.mark(mark), " ", screen.text(name.strip()))
    severity = grade.part.severity.value if grade.part and grade.part.severity else ""
    why = f"{severity}: {grade.reason}" if severity and grade.reason else severity or grade.reason
    if not isinstance(grade, Score):
        why = f"{mark.word}: {why}"
    table.add_row(label, screen.text(value), screen.text(needed(grade.pass_mark, direction)), screen.text(why))
