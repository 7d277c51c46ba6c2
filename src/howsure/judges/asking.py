"""How a grader asks: a bounded number of times, until the reply can be read. There is no third way out: a typed ruling,
or `JudgeFailed` with what was wrong and what was said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from howsure.errors import JudgeFailed, boundary
from howsure.judges.base import Judge, Question, Reply
from howsure.judges.embedded import mended
from howsure.judges.quoting import cut
from howsure.judges.rulings import Unreadable

R = TypeVar("R")
QUOTED = 200
"""Characters of an unreadable reply that its failure quotes."""
REPEATED = 4_000
"""Characters of an unreadable reply that the judge is shown again."""


async def ruling(judge: Judge, question: Question, read: Callable[[Any], R], tries: int = 2) -> tuple[R, Reply]:
    """The first reply that `read` can read, and what it made of it."""
    unread: list[str] = []
    asked = question
    for attempt in range(1, tries + 1):
        if attempt != asked.attempt:
            asked = replace(asked, attempt=attempt)
        try:
            with boundary(JudgeFailed, f"judge {judge.name!r}"):
                reply = await judge.ask(asked)
        except JudgeFailed as failure:
            if not unread:
                raise
            raise JudgeFailed("; ".join((*unread, f"attempt {attempt}: {failure}"))) from failure
        try:
            return read(reply.content), reply
        except (Unreadable, RecursionError) as error:
            unread.append(f"attempt {attempt}: {error}: {quoted(reply.content)}")
            asked = replace(asked, unreadable=str(error), replied=cut(_text(reply.content), REPEATED))
    raise JudgeFailed("; ".join(unread))


def quoted(content: Any) -> str:
    """A reply, short enough to stand in a message."""
    text = " ".join(mended(_text(content)).split())
    return f"“{text}”" if len(text) <= QUOTED else f"“{text[:QUOTED]}…”"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=repr)
