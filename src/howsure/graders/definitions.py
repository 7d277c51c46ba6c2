"""One definition of the golden world: what it asks, on which scale, for which agents, and from which columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from howsure.graders.case_sources import MISSING
from howsure.model.score import Scale

_IN_BRACES = re.compile(r"\{([^{}\s\"]+)\}")


class Column(Struct, frozen=True, kw_only=True):
    """One column; `last`: only the last member of its list."""

    source: str
    default: Any = MISSING
    last: bool = False


class Composed(Struct, frozen=True, kw_only=True):
    """A text made of several columns; `default` stands for each that is missing."""

    template: str
    sources: tuple[str, ...]
    default: Any = MISSING

    def source_of(self, name: str) -> str | None:
        """The column that a place in the template names: in full, or by its last part."""
        return next((each for each in self.sources if name in (each, re.split(r"[:.]", each)[-1])), None)

    def places(self) -> list[str]:
        return [found[1] for found in _IN_BRACES.finditer(self.template)]

    def filled(self, values: Mapping[str, str]) -> str:
        """The text, in one pass. `values` are by column."""
        return _IN_BRACES.sub(lambda found: values[self.source_of(found[1]) or ""], self.template)


class Definition(Struct, frozen=True, kw_only=True):
    """One judged eval. `managed`: one of ours, by its name. `template` has places; no template: `question` is followed
    by every input."""

    name: str
    scale: Scale
    template: str = ""
    question: str = ""
    mapping: Mapping[str, Column | Composed] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    managed: str = ""
    guidelines: str = ""
