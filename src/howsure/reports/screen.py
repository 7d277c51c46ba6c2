"""What a terminal can show: how wide it is, and whether it can show more than ASCII. Foreign text is made inert on the
way, and none of it is read as markup."""

from __future__ import annotations

from msgspec import Struct
from rich.console import ConsoleOptions
from rich.table import Table
from rich.text import Text

from howsure.reports.figures import Rate
from howsure.reports.inert import inert, one_line, plain
from howsure.reports.marks import Mark

WIDE = 100


class Screen(Struct, frozen=True):
    """One output stream."""

    width: int
    ascii_only: bool

    @classmethod
    def of(cls, options: ConsoleOptions) -> Screen:
        return cls(width=options.max_width, ascii_only=options.ascii_only)

    @property
    def wide(self) -> bool:
        return self.width >= WIDE

    def text(self, said: str, style: str = "") -> Text:
        """All of it, over as many lines as it has."""
        shown = inert(said)
        return Text(plain(shown) if self.ascii_only else shown, style=style, overflow="fold")

    def line(self, said: str, limit: int = 0, style: str = "") -> Text:
        """On one line, cut to `limit` characters."""
        return self.text(one_line(said, limit), style)

    def mark(self, mark: Mark, word: str = "") -> Text:
        return self.text(f"{self.sign(mark)} {word}".rstrip(), mark.style)

    def sign(self, mark: Mark) -> str:
        return mark.plain if self.ascii_only else mark.sign

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

    def table(self, *columns: tuple[str, str]) -> Table:
        """Columns as (heading, "left" or "right"); no lines, so that it copies well."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for heading, side in columns:
            table.add_column(self.text(heading), justify="right" if side == "right" else "left", overflow="fold")
        return table
