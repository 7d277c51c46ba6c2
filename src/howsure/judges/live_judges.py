"""A language model as a judge: it is asked in the words of prompts/ for a reply in the shape of a JSON Schema, and its
reply is passed on unread. It keeps no state: what was wrong with an earlier reply is in the question.

Also the probability-weighted value of a rating: the mean over the whole numbers that the model might have written
instead, weighted with their probabilities. Numbers off the scale are left out, and the rest sums to one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import exp, fsum, isnan
from typing import Any

import msgspec

from howsure.config import AnswerRendering
from howsure.errors import JudgeFailed, ModelFailed
from howsure.judges.base import JudgeReply, Question
from howsure.judges.documents import DOCUMENT_CHARACTERS, NO_DOCUMENTS, Documents, picture_hint
from howsure.judges.empty_answers import empty_answer_reply
from howsure.judges.judge_prompts import choose_prompt, judge_messages, prompt_names, prompt_schema, prompts_fingerprint
from howsure.judges.replies import FINISH
from howsure.llm.base import LanguageModel, ModelRequest
from howsure.llm.messages import CallSettings, FinishReason, TokenAlternative, TokenLogprob
from howsure.model.case import Case
from howsure.model.flag import UnreadableKind
from howsure.model.score import Part, Scale

PROBABILITY = "prob_score"

# An unescaped quote before `score` is a key: inside a text of the reply it would be escaped.
_SCORE = re.compile(r'(?<!\\)"score"\s*:\s*"?(?P<value>\d+)(?:\.0+)?(?![\d.])')
# A token may also hold what stands next to the number: `": 4`, ` 4`, `4}`.
_NUMBER_TOKEN = re.compile(r'[\s":]{0,20}(\d{1,9})(?:\.0+)?[\s"},\]]*')


class LiveJudge:
    """Asks `model`. `namespace` keeps the replies of repeats and samples apart in the cache. `settings` None: the
    model's own; `rated` are the settings for questions whose answer is a whole number on a scale, where they differ.
    `documents` reads the attachments of legal cases. `rendering`: how the judge is shown answers that are JSON."""

    def __init__(
        self,
        model: LanguageModel,
        name: str = "",
        namespace: str = "",
        *,
        settings: CallSettings | None = None,
        rated: CallSettings | None = None,
        documents: Documents = NO_DOCUMENTS,
        rendering: AnswerRendering = AnswerRendering.AS_IS,
    ) -> None:
        self.name = name or model.name
        self._model = model
        self._namespace = namespace
        self._settings = settings
        self._rated = rated or settings
        self._documents = documents
        self._rendering = rendering

    @property
    def pin(self) -> str:
        """A hash of everything that shapes its replies: model, prompts, settings, and what it is shown."""
        settings = msgspec.json.encode((self._settings, self._rated)).decode()
        shown = () if self._documents.pictures else ("blind",)
        if self._documents.characters != DOCUMENT_CHARACTERS:
            shown = (*shown, f"{self._documents.characters} characters")
        if self._rendering is not AnswerRendering.AS_IS:
            shown = (*shown, self._rendering.value)
        return sha256("\n".join((self._model.name, prompts_fingerprint(), settings, *shown)).encode()).hexdigest()

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether it has a prompt for what this grader asks."""
        return bool(prompt_names(grader))

    async def ask(self, question: Question) -> JudgeReply:
        if (empty := empty_answer_reply(question)) is not None:
            return empty
        prompt = None if question.prompt else choose_prompt(question)
        rating = prompt if prompt is not None and prompt.whole else None
        request = ModelRequest(
            messages=judge_messages(question, self._documents, rendering=self._rendering),
            schema=question.schema or (None if prompt is None else prompt_schema(prompt)),
            settings=self._rated if rating is not None else self._settings,
            # A second vote is asked for, not copied from the first.
            namespace=self._namespace if question.vote <= 1 else f"{self._namespace} vote {question.vote}".strip(),
            purpose=f"judge:{question.grader}",
        )
        try:
            completion = await self._model.complete(request)
        except ModelFailed as failure:
            raise JudgeFailed(f"judge {self.name!r}: {failure}{picture_hint(failure, request)}") from failure
        if completion.finish is FinishReason.REFUSED and not completion.text.strip():
            raise JudgeFailed(f"judge {self.name!r}: the model refused to reply", UnreadableKind.REFUSED.flag)
        value = weighted_value(completion.logprobs, rating.scale) if completion.logprobs and rating else None
        details: dict[str, Any] = {} if value is None else {PROBABILITY: value}
        if completion.finish is FinishReason.LENGTH:
            details[FINISH] = completion.finish.value
        return JudgeReply(content=completion.text, judge=self.name, cost_usd=completion.cost_usd, details=details)


def weighted_value(tokens: Sequence[TokenLogprob], scale: Scale) -> float | None:
    """The mean over the alternatives of the token that holds the score; None where there is no single such token."""
    token = _score_token(tokens)
    if token is None:
        return None
    weights: dict[int, list[float]] = {}
    for value, probability in _alternatives(token, scale):
        weights.setdefault(value, []).append(probability)
    sums = {value: fsum(each) for value, each in weights.items()}
    total = fsum(sums.values())
    if total <= 0:
        return None
    mean = fsum(value * weight for value, weight in sums.items()) / total
    return min(max(mean, min(sums)), max(sums))


def _score_token(tokens: Sequence[TokenLogprob]) -> TokenLogprob | None:
    text = "".join(token.text for token in tokens)
    scores = list(_SCORE.finditer(text))
    if len({score["value"] for score in scores}) != 1:
        return None
    start, end = scores[-1].span("value")
    position = 0
    for token in tokens:
        if position <= start < position + len(token.text):
            return token if end <= position + len(token.text) else None
        position += len(token.text)
    return None


def _alternatives(token: TokenLogprob, scale: Scale) -> Iterator[tuple[int, float]]:
    """The numbers that the model might have written, each once, the token itself included."""
    others = [each for each in token.alternatives if each.text != token.text]
    for each in (TokenAlternative(token.text, token.logprob), *others):
        match = _NUMBER_TOKEN.search(each.text) if each.text is token.text else _NUMBER_TOKEN.fullmatch(each.text)
        if match and int(match[1]) in scale and not isnan(each.logprob):
            yield int(match[1]), exp(min(each.logprob, 0.0))
