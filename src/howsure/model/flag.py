"""A Flag: something a reader must know about one result, which decides nothing by itself."""

from __future__ import annotations

from msgspec import Struct


class Flag(Struct, frozen=True):
    """`kind` is counted over a run, `text` is the sentence for this result.

    `Flag("cut_off", "the model stopped at its token limit")`
    """

    kind: str
    text: str
