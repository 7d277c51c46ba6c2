"""A report as a document: headings, paragraphs, tables and scripts, which a terminal prints and Markdown is written
from. All text is made harmless on the way, whoever wrote it; none of it is read as markup.

    blocks = [Paragraph("7 of 10 passed", "bold"), Table(("grader", "n:"), [("choice", "10")], title="Graders")]
    Console().print(ReportDocument(blocks))
    print(markdown(blocks))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from howsure.reports.figures import Rate, VerdictMark
from howsure.reports.safe_text import make_inert, one_line, to_ascii

WIDE = 100
GAP = 2
"""Columns between two cells."""
AXIS = "0 %                100 %"
WIDE_ONLY = (AXIS,)
"""Columns that are shown on wide screens only."""
# Signs that mean something anywhere; an underscore inside a word means nothing, and a colon only in an address.
INLINE = re.compile(r"[\\`*{}\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
# Our own brackets, `[39–86]`: without a link behind them they mean nothing.
INTERVAL = re.compile(r"\\\[(\d+–\d+|95 %)\\\](?![(\[:])")
# Signs that mean something at the start of a line: headings, lists, numbered lists, rules.
LEADING = re.compile(r"^(?:[#\-=]|\+(?=\s|$)|(\d+)([.)])(?=\s|$))")
# What a code host would take for a person to notify or an issue to link: an empty comment, which shows nothing, breaks
# the word.
REFERENCE = re.compile(r"(?<![\w`])(@(?=\w)|[#!](?=\d))")
APART = r"\1<!-- -->"
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
BACKTICKS = re.compile(r"`+")


class TextSpan(Struct, frozen=True):
    """Some text. `limit` None: as it is; 0: on one line; n: on one line, cut after n characters. `lines`: cut to the
    length of so many lines of the screen and `limit` characters more, but not below `least`. With `least` alone, the
    text is cut to the room that the rest of its line leaves. Markdown has it all."""

    text: str
    style: str = ""
    limit: int | None = None
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


class Heading(Struct, frozen=True):
    """`level` 1 is the title of the document; the others have a blank line before them."""

    parts: Parts
    level: int = 2


class Notice(Struct, frozen=True):
    """What a reader must know before the rest."""

    parts: Parts


class Paragraph(Struct, frozen=True):
    """`indent` columns from the left; `fill`: padded to the width of the screen. In Markdown, what is indented is an
    item of a list."""

    parts: Parts
    style: str = ""
    indent: int = 0
    fill: bool = False


class Table(Struct, frozen=True):
    """A heading that ends in `:` is aligned right; those of `WIDE_ONLY` are there on wide screens only.
    `tight`: no cell is broken; where a row does not fit on one line, it takes two. The `title` stands over it in
    Markdown; on a terminal the columns say enough, and there is a blank line. Without a `header`, Markdown has a list.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[Parts]]
    header: bool = True
    tight: bool = False
    title: str = ""


class ConversationScript(Struct, frozen=True):
    """Who speaks, in a narrow column, and what is said."""

    lines: Sequence[tuple[Parts, Parts]]
    width: int


class Fence(Struct, frozen=True):
    """A text as it is, of several lines."""

    text: str
    language: str = "text"


Block = Heading | Notice | Paragraph | Table | ConversationScript | Fence
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


def more_note(count: int, shown: int, indent: int = 0) -> list[Block]:
    """How many of them are not shown; nothing where all are."""
    return [Paragraph(f"and {count - shown:,} more (--json shows all)", "dim", indent)] if count > shown else []


class Screen(Struct, frozen=True):
    """What one terminal can show: how wide it is, and whether it shows more than ASCII."""

    width: int
    ascii_only: bool

    def draw(self, block: Block) -> RenderableType:
        match block:
            case Heading(parts=parts, level=level):
                return Text.assemble("\n" if level > 1 else "", self.parts(parts, "bold"))
            case Notice(parts=parts):
                return Text.assemble("! ", self.parts(parts), style="yellow")
            case Fence(text=text):
                return self.text(text)
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
                for speaker, said in lines:
                    grid.add_row(self.parts(speaker), self.parts(said))
                return grid

    def _table(self, block: Table) -> RenderableType:
        """No lines between cells, so that it copies well."""
        wide = self.width >= WIDE
        shown = [place for place, heading in enumerate(block.columns) if wide or heading not in WIDE_ONLY]
        headings = [block.columns[place] for place in shown]
        rows = [[self.parts(row[place]) for place in shown] for row in block.rows]
        lines = [[self.text(heading.rstrip(":"), "dim") for heading in headings], *rows]
        widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
        if block.tight and sum(widths) + GAP * (len(widths) - 1) > self.width:
            return Group(*([""] if block.title else []), *_stacked(headings, lines if block.header else rows, widths))
        table = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=block.header)
        for heading, title in zip(headings, lines[0], strict=True):
            table.add_column(title, justify="right" if heading.endswith(":") else "left", overflow="fold")
        for cells in rows:
            table.add_row(*cells)
        return Group("", table) if block.title else table

    def parts(self, parts: Parts, style: str = "") -> Text:
        if isinstance(parts, str):
            return self.text(parts, style)
        if not isinstance(parts, tuple):
            return self._part(parts, self.width)
        fixed = [part for part in parts if not (isinstance(part, TextSpan) and part.least and not part.lines)]
        room = self.width - sum(self._part(part, 0).cell_len for part in fixed)
        return Text.assemble(*(self._part(part, room) for part in parts), style=style)

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
                return self.text(text, style) if part.limit is None else self.line(text, part.limit, style)

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


def _stacked(
    headings: Sequence[str], lines: Sequence[Sequence[Text]], widths: Sequence[int]
) -> Iterator[RenderableType]:
    """Each row on two lines: what it is about, which is all columns before the first number, and then the rest."""
    names = max(next((place for place, heading in enumerate(headings) if heading.endswith(":")), 1), 1)
    gap = Text(" " * GAP)
    for cells in lines:
        for heading, cell, width in [*zip(headings, cells, widths, strict=True)][names:]:
            cell.align("right" if heading.endswith(":") else "left", width)
        name, rest = gap.join(cell for cell in cells[:names] if cell), gap.join(cells[names:])
        rest.rstrip()
        yield from [name] if name else []
        yield from [Padding(rest, (0, 0, 0, GAP), expand=False)] if rest else []


def markdown(blocks: Iterable[Block], longest: int = 0) -> str:
    """The blocks as Markdown: everything is escaped or fenced. Texts are cut after `longest` characters (0: whole)."""
    text, before = "", ""
    for shown in filter(None, (_markdown_block(block, longest) for block in blocks)):
        is_list = before.startswith("- ") and shown.startswith("- ")
        text += ("\n" if is_list else "\n\n" if before else "") + shown
        before = shown
    return text


def _markdown_block(block: Block, longest: int) -> str:
    match block:
        case Heading(parts=parts, level=level):
            return f"{'#' * level} {escaped(plain_text(parts), longest)}"
        case Notice(parts=parts):
            return f"> {escaped(plain_text(parts), longest)}"
        case Fence(text=text, language=language):
            return fenced(text, language)
        case ConversationScript(lines=lines):
            said = (f"{plain_text(speaker)}: {plain_text(text)}".replace("\n", "\n  ") for speaker, text in lines)
            return fenced("\n".join(said))
        case Paragraph(parts=parts, indent=indent, style=style):
            text = escaped(plain_text(parts), longest)
            text = f"**{text}**" if text and style.startswith("bold") else text
            return f"- {text}" if text and indent else text
        case Table(columns=columns, header=False):
            return "\n".join(f"- {': '.join(filter(None, _cells(columns, row, longest)))}" for row in block.rows)
        case Table(columns=columns):
            shown = [heading for heading in columns if heading not in WIDE_ONLY]
            head = [escaped(heading.rstrip(":")) for heading in shown]
            rule = ["---:" if heading.endswith(":") else "---" for heading in shown]
            rows = (_cells(columns, row, longest) for row in block.rows)
            title = f"## {escaped(block.title)}\n\n" if block.title else ""
            return title + "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _cells(columns: Sequence[str], row: Sequence[Parts], longest: int) -> list[str]:
    """Spaces before a cell say that it belongs to the row above."""
    texts = [plain_text(cell) for heading, cell in zip(columns, row, strict=True) if heading not in WIDE_ONLY]
    return ["&nbsp;&nbsp;" * text.startswith("  ") + escaped(text, longest) for text in texts]


def plain_text(parts: Parts) -> str:
    """All of it, without limits; a shape always has its word."""
    match parts:
        case tuple():
            return "".join(map(plain_text, parts))
        case str():
            return parts
        case Sign(mark=mark, word=word):
            return f"{mark.sign} {word or mark.word}"
        case TextSpan(text=text, limit=limit):
            return text if limit is None else one_line(text)
        case Rate():
            return ""


def escaped(text: str, limit: int = 0) -> str:
    """The text on one line, cut after `limit` characters (0: whole), with nothing left that Markdown or HTML would
    read."""
    inline = INLINE.sub(lambda found: ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text, limit))
    inline = INTERVAL.sub(r"[\1]", inline)
    started = LEADING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[0]}", inline)
    return REFERENCE.sub(APART, started)


def fenced(text: str, language: str = "text") -> str:
    """The text in a Markdown code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{make_inert(text)}\n{fence}"
