"""All criteria of a case in one call: the grader asks about each criterion as usual, and one reply rules on all of
them. Wrappers (panels, votes, recordings) see one reply for each criterion and need not know.

Nothing is guessed: a criterion that the reply leaves out, names twice or gives no readable value for is asked about
once more, together with the others that went wrong, and is an error after that."""

from __future__ import annotations

import json
from asyncio import Task, create_task
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.base import Judge, JudgeReply, Question, can_answer
from howsure.judges.empty_answers import empty_answer_reply
from howsure.judges.judge_inputs import INPUTS
from howsure.judges.judge_prompts import choose_prompt
from howsure.judges.quotations import TEXT_CAP, cut_middle
from howsure.judges.replies import WHOLE_REPLY, normalize_fields, normalize_key, split_json_and_prose
from howsure.judges.rulings import NoValue, UnparsableReply
from howsure.model.case import Case
from howsure.model.score import Part

NOT_RULED_ON = "not_ruled_on"
UNKNOWN = "unknown_criteria"
REPLY_CAP = 4_000
"""Characters of the reply that are kept with every criterion that it does not rule on."""

_IDS = ("criterionid", "ruleid", "statementid", "id")
_LISTS = ("verdicts", "rulings", "results", "criteria", "rules", "statements")
_LIST_INPUTS = frozenset({"statements", "rules"})

Read = Callable[[Any], object]
RoundKey = tuple["BatchingJudge", int, int]


class BatchRound(Struct, frozen=True):
    """The result of one call: a reply for each criterion, the criteria whose reply cannot be read, and why."""

    replies: Mapping[str, JudgeReply]
    failing: tuple[Part, ...]
    problem: str
    reply_text: str


class CriteriaBatch:
    """The criteria that one grader asks about in one case; `read` is how the grader reads the ruling on one."""

    __slots__ = ("_fits", "_read", "_rounds", "parts")

    def __init__(self, parts: Sequence[Part], read: Read) -> None:
        self.parts = parts
        self._read = read
        self._rounds: dict[RoundKey, Task[BatchRound]] = {}
        self._fits: bool | None = None

    def fits(self, question: Question) -> bool:
        """Whether the criteria have different ids and none would be cut off. One alone is not a batch."""
        if self._fits is None:
            self._fits = 1 < len({part.id for part in self.parts}) == len(self.parts)
            if self._fits:
                whole = replace(question, part=None, parts=tuple(self.parts))
                shown = _LIST_INPUTS & set(choose_prompt(whole).head.inputs)
                self._fits = sum(len(INPUTS[name](whole)) for name in shown) <= TEXT_CAP
        return self._fits

    async def reply(self, judge: BatchingJudge, question: Question) -> JudgeReply:
        """The reply on this question's criterion, from the call for the whole batch. The first to ask makes the
        call."""
        key = (judge, question.vote, question.attempt)
        if (task := self._rounds.get(key)) is None:
            task = self._rounds[key] = create_task(self._round(judge, question))
        assert question.part is not None
        return (await task).replies[question.part.id]

    async def _round(self, judge: BatchingJudge, question: Question) -> BatchRound:
        whole = replace(question, part=None, batch=None, parts=tuple(self.parts))
        if question.attempt > 1:
            before = await self._rounds[judge, question.vote, question.attempt - 1]
            whole = replace(whole, parts=before.failing, unreadable=before.problem, replied=before.reply_text)
        return read_batch_reply(await judge.ask(whole), whole.parts, self._read)


class BatchingJudge:
    """Asks `judge` about all criteria of a batch at once, and passes every other question on."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        return can_answer(self._judge, case, grader, part)

    async def ask(self, question: Question) -> JudgeReply:
        batch = question.batch
        if question.part is None or not isinstance(batch, CriteriaBatch) or not batch.fits(question):
            return await self._judge.ask(question)
        return empty_answer_reply(question) or await batch.reply(self, question)


def require_ruling(content: Any) -> Any:
    """The ruling on one criterion; `UnparsableReply` where the reply of its batch does not rule on it."""
    if isinstance(content, dict) and NOT_RULED_ON in content:
        raise NoValue(str(content[NOT_RULED_ON]))
    return content


def read_batch_reply(reply: JudgeReply, parts: Sequence[Part], read: Read) -> BatchRound:
    """The reply split by criterion: exactly one verdict for each, or what is wrong."""
    text = reply.content if isinstance(reply.content, str) else json.dumps(reply.content, ensure_ascii=False)
    try:
        entries = list(_entries(reply.content))
        problem = "" if entries else "the reply has no list of verdicts"
    except (UnparsableReply, RecursionError) as error:
        entries, problem = [], str(error)
    contents = {part.id: _find_ruling(part.id, entries, problem, text) for part in parts}
    problems: dict[str, str] = {}
    for name, content in contents.items():
        try:
            read(require_ruling(content))
        except (UnparsableReply, RecursionError) as error:
            problems[name] = str(error)
    unknown = sorted({name for name, _ in entries} - contents.keys())
    if unknown:
        problem = f"the reply rules on {', '.join(map(repr, unknown))}, which were not asked about"
    share = None if reply.cost_usd is None else reply.cost_usd / len(parts)
    details = {**reply.details, **({UNKNOWN: unknown} if unknown else {})}
    return BatchRound(
        replies={
            name: JudgeReply(content=content, judge=reply.judge, cost_usd=share, details=details)
            for name, content in contents.items()
        },
        failing=tuple(part for part in parts if part.id in problems),
        problem="\n".join([*([problem] if problem else []), *(f"{name!r}: {why}" for name, why in problems.items())]),
        reply_text=cut_middle(text, REPLY_CAP),
    )


def _entries(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every verdict of the reply with its id, from a list or from objects one after another."""
    for value in split_json_and_prose(content)[0]:
        listed = normalize_fields(value) if isinstance(value, dict) else {}
        alone = value if isinstance(value, list) else (value,)
        for verdict in next((listed[key] for key in _LISTS if isinstance(listed.get(key), list)), alone):
            fields = normalize_fields(verdict) if isinstance(verdict, dict) else {}
            name = next((fields[key] for key in _IDS if isinstance(fields.get(key), str | int)), None)
            if name is not None:
                yield str(name).strip(), {key: each for key, each in verdict.items() if normalize_key(key) not in _IDS}


def _find_ruling(name: str, entries: Sequence[tuple[str, dict[str, Any]]], problem: str, text: str) -> dict[str, Any]:
    count = Counter(named for named, _ in entries)[name]
    if count == 1:
        return next(entry for named, entry in entries if named == name)
    why = problem or (f"the reply rules {count} times on {name!r}" if count else f"the reply does not rule on {name!r}")
    return {NOT_RULED_ON: why, WHOLE_REPLY: cut_middle(text, REPLY_CAP)}
