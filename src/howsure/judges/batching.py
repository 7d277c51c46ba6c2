"""All criteria of a case in one call: each is asked for on its own, as ever, and answered from one reply that rules on
all of them. Whatever stands outside (panels, votes, recordings) sees one reply for each criterion and need not know.

Nothing is guessed: a criterion that the reply leaves out, names twice or gives no readable value for is asked about
once more, together with the others that went wrong, and is an error after that."""

from __future__ import annotations

import json
from asyncio import Task, create_task
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.base import Judge, Question, Reply
from howsure.judges.fields import fields_of, plain_key
from howsure.judges.inputs import INPUTS, Asked
from howsure.judges.prompting import NO_DOCUMENTS, prompt_for
from howsure.judges.quoting import TEXT_CAP, cut
from howsure.judges.reading import values_and_prose
from howsure.judges.recording import Covering
from howsure.judges.rulings import Unreadable
from howsure.model.case import Case
from howsure.model.score import Part

UNRULED = "not_ruled_on"
UNKNOWN = "unknown_criteria"
KEPT = 4_000
"""Characters of a reply that are kept with every criterion that it does not rule on."""

_IDS = ("criterionid", "ruleid", "statementid", "id")
_LISTS = ("verdicts", "rulings", "results", "criteria", "rules", "statements")
_LISTED = frozenset({"statements", "rules"})

Read = Callable[[Any], object]
Reached = tuple["BatchingJudge", int, int]


class Round(Struct, frozen=True):
    """What one call came to: a reply for each criterion it was about, which of them cannot be read, and why."""

    replies: Mapping[str, Reply]
    failing: tuple[Part, ...]
    wrong: str
    said: str


class Batch:
    """The criteria that one grader asks about in one case; `read` is how it reads what is said of one of them."""

    __slots__ = ("_fits", "_read", "_rounds", "parts")

    def __init__(self, parts: Sequence[Part], read: Read) -> None:
        self.parts = parts
        self._read = read
        self._rounds: dict[Reached, Task[Round]] = {}
        self._fits: bool | None = None

    def fits(self, question: Question) -> bool:
        """Whether they can be told apart, and none of them would be cut off. One alone is no batch."""
        if self._fits is None:
            ids = {part.id for part in self.parts}
            self._fits = 1 < len(ids) == len(self.parts) and _length(question, self.parts) <= TEXT_CAP
        return self._fits

    async def reply(self, judge: BatchingJudge, question: Question) -> Reply:
        """What the call that this question belongs to says of its criterion. The first to ask makes the call."""
        reached = (judge, question.vote, question.attempt)
        if (made := self._rounds.get(reached)) is None:
            made = self._rounds[reached] = create_task(self._round(judge, question))
        assert question.part is not None
        return (await made).replies[question.part.id]

    async def _round(self, judge: BatchingJudge, question: Question) -> Round:
        asked = replace(question, part=None, batch=None, parts=tuple(self.parts))
        if question.attempt > 1:
            before = await self._rounds[judge, question.vote, question.attempt - 1]
            asked = replace(asked, parts=before.failing, unreadable=before.wrong, replied=before.said)
        return read_round(await judge.all_at_once(asked), asked.parts, self._read)


class BatchingJudge:
    """Asks `judge` about all criteria of a batch at once; anything else it is asked as it comes."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return self._judge.covers(case, grader, part) if isinstance(self._judge, Covering) else True

    async def ask(self, question: Question) -> Reply:
        batch = question.batch
        if question.part is None or not isinstance(batch, Batch) or not batch.fits(question):
            return await self._judge.ask(question)
        return await batch.reply(self, question)

    async def all_at_once(self, question: Question) -> Reply:
        return await self._judge.ask(question)


def ruled_on(content: Any) -> Any:
    """What was said of one criterion; `Unreadable` where the reply of its batch says nothing of it."""
    if isinstance(content, dict) and UNRULED in content:
        raise Unreadable(str(content[UNRULED]))
    return content


def read_round(reply: Reply, parts: Sequence[Part], read: Read) -> Round:
    """The reply, taken apart: exactly one verdict for each criterion, or what is wrong with it."""
    said = reply.content if isinstance(reply.content, str) else json.dumps(reply.content, ensure_ascii=False)
    try:
        entries = list(_entries(reply.content))
        problem = "" if entries else "the reply has no list of verdicts"
    except (Unreadable, RecursionError) as error:
        entries, problem = [], str(error)
    contents = {part.id: _content(part.id, entries, problem, said) for part in parts}
    wrong = {part.id: why for part in parts if (why := _wrong(contents[part.id], read))}
    unknown = sorted({name for name, _ in entries} - contents.keys())
    if unknown:
        problem = f"the reply rules on {', '.join(map(repr, unknown))}, which nobody asked about"
    share = None if reply.cost_usd is None else reply.cost_usd / len(parts)
    details = {UNKNOWN: unknown} if unknown else {}
    return Round(
        replies={
            name: Reply(content=content, judge=reply.judge, cost_usd=share, details=details)
            for name, content in contents.items()
        },
        failing=tuple(part for part in parts if part.id in wrong),
        wrong="\n".join([*([problem] if problem else []), *(f"{name!r}: {why}" for name, why in wrong.items())]),
        said=cut(said, KEPT),
    )


def _entries(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every verdict of the reply, with the id it stands under: of a list, or of objects one after another."""
    for value in values_and_prose(content)[0]:
        for said in _listed(value):
            fields = fields_of(said) if isinstance(said, dict) else {}
            name = next((fields[key] for key in _IDS if isinstance(fields.get(key), str | int)), None)
            if name is not None:
                yield str(name).strip(), {key: each for key, each in said.items() if plain_key(key) not in _IDS}


def _listed(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    fields = fields_of(value) if isinstance(value, dict) else {}
    return next((fields[key] for key in _LISTS if isinstance(fields.get(key), list)), (value,))


def _content(name: str, entries: Sequence[tuple[str, dict[str, Any]]], problem: str, said: str) -> dict[str, Any]:
    count = Counter(named for named, _ in entries)[name]
    if count == 1:
        return next(entry for named, entry in entries if named == name)
    why = problem or (f"the reply rules {count} times on {name!r}" if count else f"the reply does not rule on {name!r}")
    return {UNRULED: why, "whole_reply": cut(said, KEPT)}


def _wrong(content: Any, read: Read) -> str:
    try:
        read(ruled_on(content))
    except (Unreadable, RecursionError) as error:
        return str(error)
    return ""


def _length(question: Question, parts: Sequence[Part]) -> int:
    """Characters of the list that the judge would be shown."""
    asked = Asked(replace(question, part=None, parts=tuple(parts)), NO_DOCUMENTS)
    names = _LISTED & set(prompt_for(asked.question).head.inputs)
    return sum(len(INPUTS[name](asked)) for name in names)
