"""What the tests of the HTML page share: a page as text, and what a browser would find in it."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from html.parser import HTMLParser
from io import StringIO
from typing import Any

from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.reports.html.case_data import CaseEntry
from howsure.reports.html.page import write_page
from unit.reports.northwind import stream, summary_of


class Seen(HTMLParser):
    """Elements with their attributes, the text of scripts with theirs, and all other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag in ("td", "th"):
            self.text += " "

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data
        elif self._inside != "style":
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())

    @property
    def program(self) -> str:
        (program,) = [text for attributes, text in self.scripts if not attributes]
        return program

    def data(self, kind: str) -> list[Any]:
        """The values of all script elements of a class, in order."""
        found = [(attributes["type"], text) for attributes, text in self.scripts if attributes.get("class") == kind]
        return [value for type, text in found for value in unpacked(type or "", text)]

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [dict(zip(CaseEntry.__struct_fields__, values, strict=True)) for values in self.data("index")]

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return self.data("chunk")


def unpacked(type: str, text: str) -> list[Any]:
    data = text.encode() if type == "application/json" else gzip.decompress(b64decode(text))
    values: list[Any] = json.loads(data)
    return values


async def page(results: list[Result], comparison: Comparison | None = None, **fields: Any) -> str:
    file = StringIO()
    await write_page(summary_of(results, **fields), stream(results), file, comparison)
    return file.getvalue()
