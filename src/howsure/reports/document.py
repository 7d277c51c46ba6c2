"""A report as a document: paragraphs, tables and scripts that a terminal prints, and the parts that Markdown is written
from. Text of agents, users and judges is always made harmless on the way; none of it is read as markup.

    Document([Paragraph("7 of 10 passed", "bold"), Table(("grader", "n:"), [("choice", "10")])])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from howsure.reports.figures import Rate, VerdictMark
from howsure.reports.safe_text import make_inert, one_line, to_ascii

WIDE = 100
AXIS = "0 %                100 %"
P_VALUE = "p:"
WIDE_ONLY = (AXIS, P_VALUE)
"""Columns that are shown on wide screens only."""
# Signs that mean something anywhere; an underscore inside a word means nothing, and a colon only in an address.
INLINE = re.compile(r"[\\`*{}\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# Signs that mean something at the start of a line: headings, lists, numbered lists, rules.
LEADING = re.compile(r"^(?:[#+\-=]|(\d+)([.)])(?=\s|$))")
# What a code host would take for a person to notify or an issue to link: an empty comment, which shows nothing, breaks
# the word.
REFERENCE = re.compile(r"(?<![\w`])(@(?=\w)|[#!](?=\d))")
APART = r"\1<!-- -->"
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
BACKTICKS = re.compile(r"`+")


class TextSpan(Struct, frozen=True):
    """Some text. `limit` None: as it is; 0: on one line; n: on one line, cut after n characters. `narrow` is the limit
    on a narrow screen. `lines`: cut to the length of so many lines of the screen and `limit` characters more, but not
    below `least`. With `least` alone, the text is cut to the room that the rest of its line leaves."""

    text: str
    style: str = ""
    limit: int | None = None
    narrow: int | None = None
    lines: int = 0
    least: int = 0


class Sign(Struct, frozen=True):
    """The shape of a verdict, and a word after it."""

    mark: VerdictMark
    word: str = ""
    style: str | None = None


Part = str | TextSpan | Sign | Rate
"""A `Rate` is drawn as its interval on an axis from 0 to 100 %."""
Parts = Part | tuple[Part, ...]


class Paragraph(Struct, frozen=True):
    """`indent` columns from the left; `fill`: padded to the width of the screen."""

    parts: Parts
    style: str = ""
    indent: int = 0
    fill: bool = False


class Table(Struct, frozen=True):
    """A heading that ends in `:` is aligned right; those of `WIDE_ONLY` are there on wide screens only.
    `tight`: all columns but the first stay on one line."""

    columns: Sequence[str]
    rows: Iterable[Sequence[Parts]]
    header: bool = True
    tight: bool = False


class ConversationScript(Struct, frozen=True):
    """Who speaks, in a narrow column, and what is said."""

    lines: Sequence[tuple[Parts, Parts]]
    width: int


Block = Paragraph | Table | ConversationScript
BLANK = Paragraph("")


class ReportDocument(Struct, frozen=True):
    """Something that `rich` can print."""

    blocks: Iterable[Block]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        screen = Screen(width=options.max_width, ascii_only=options.ascii_only)
        yield from map(screen.draw, self.blocks)


def line(text: str, limit: int = 0, style: str = "") -> TextSpan:
    """The text on one line."""
    return TextSpan(text, style, limit)


class Screen(Struct, frozen=True):
    """What one terminal can show: how wide it is, and whether it shows more than ASCII."""

    width: int
    ascii_only: bool

    @property
    def wide(self) -> bool:
        return self.width >= WIDE

    def draw(self, block: Block) -> RenderableType:
        match block:
            case Paragraph(parts=parts, indent=0):
                return self.parts(parts, block.style)
            case Paragraph(parts=parts, indent=indent):
                return Padding(self.parts(parts, block.style), (0, 0, 0, indent), expand=block.fill)
            case Table():
                return self._table(block)
            case ConversationScript(lines=lines, width=width):
                grid = RichTable.grid(padding=(0, 1, 0, 0))
                grid.add_column(width=width, overflow="fold", style="dim")
                grid.add_column(overflow="fold")
                for speaker, text in lines:
                    grid.add_row(self.parts(speaker), self.parts(text))
                return grid

    def _table(self, block: Table) -> RichTable:
        """No lines between cells, so that it copies well."""
        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_header=block.header)
        shown = [place for place, heading in enumerate(block.columns) if self.wide or heading not in WIDE_ONLY]
        for place in shown:
            heading = block.columns[place]
            side: JustifyMethod = "right" if heading.endswith(":") else "left"
            tight = block.tight and place > 0
            table.add_column(self.text(heading.rstrip(":")), justify=side, overflow="fold", no_wrap=tight)
        for row in block.rows:
            table.add_row(*(self.parts(row[place]) for place in shown))
        return table

    def parts(self, parts: Parts, style: str = "") -> Text:
        if isinstance(parts, str):
            return self.text(parts, style)
        if not isinstance(parts, tuple):
            return self._part(parts, self.width)
        fixed = [part for part in parts if not (isinstance(part, TextSpan) and part.least and not part.lines)]
        room = self.width - sum(self._part(part, 0).cell_len for part in fixed)
        return Text.assemble(*(self._part(part, room) for part in parts))

    def _part(self, part: Part, room: int) -> Text:
        match part:
            case str():
                return self.text(part)
            case Sign(mark=mark, word=word):
                return self.mark(mark, word, part.style)
            case Rate():
                return self.strip(part)
            case TextSpan(text=text, style=style):
                if part.lines or part.least:
                    room = part.lines * self.width + (part.limit or 0) if part.lines else room
                    return self.line(text, max(room, part.least), style)
                limit = part.limit if self.wide or part.narrow is None else part.narrow
                return self.text(text, style) if limit is None else self.line(text, limit, style)

    def text(self, text: str, style: str = "") -> Text:
        """All of it, over as many lines as it has."""
        shown = make_inert(text)
        return Text(to_ascii(shown) if self.ascii_only else shown, style=style, overflow="fold")

    def line(self, text: str, limit: int = 0, style: str = "") -> Text:
        """On one line, cut to `limit` characters."""
        return self.text(one_line(text, limit), style)

    def mark(self, mark: VerdictMark, word: str = "", style: str | None = None) -> Text:
        sign = mark.plain if self.ascii_only else mark.sign
        return self.text(f"{sign} {word}" if word else sign.rstrip(), mark.style if style is None else style)

    def strip(self, rate: Rate, width: int = 24) -> Text:
        """The interval on a fixed axis from 0 to 100 %, with a tick at the rate itself."""
        off, on, tick = ("." if self.ascii_only else "·", *(("-", "o") if self.ascii_only else ("─", "●")))
        if rate.interval is None or rate.value is None:
            return Text(off * width, style="dim")
        low, high = (round(bound * (width - 1)) for bound in rate.interval)
        cells = [on if low <= place <= high else off for place in range(width)]
        cells[round(rate.value * (width - 1))] = tick
        shown = Text("".join(cells), style="dim")
        shown.stylize("not dim", low, high + 1)
        return shown


def escaped(text: str) -> str:
    """The text on one line, with nothing left that Markdown or HTML would read."""
    inline = INLINE.sub(lambda found: ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text))
    started = LEADING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[0]}", inline)
    return REFERENCE.sub(APART, started)


def fenced(text: str, language: str = "text") -> str:
    """The text in a Markdown code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{make_inert(text)}\n{fence}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are written as they are: escape what is foreign. A heading that ends in `:` is aligned right."""
    rule = ["---:" if heading.endswith(":") else "---" for heading in headings]
    named = [heading.rstrip(":") for heading in headings]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (named, rule, *rows))
