"""A language model as a judge: it is asked in the words of prompts/, in the shape of a JSON Schema, and what it says is
handed on unread. It keeps no state: what was wrong with an earlier reply is in the question."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from howsure.errors import JudgeFailed, ModelFailed
from howsure.judges.base import Question, Reply
from howsure.judges.documents import Documents, unseen
from howsure.judges.probabilities import weighted_value
from howsure.judges.prompt_files import Prompt, prompt_names, prompts_fingerprint
from howsure.judges.prompting import NO_DOCUMENTS, messages, prompt_for, schema_of
from howsure.llm.base import Completion, LanguageModel, Request
from howsure.llm.parts import CallSettings, Finish
from howsure.model.case import Case
from howsure.model.score import Part

PROBABILITY = "prob_score"


class LiveJudge:
    """Asks `model`. `namespace` keeps the replies of repeats and samples apart in the cache; `settings` None: those of
    the model; `rated` are those of questions whose answer is a whole number on a scale, where they differ; `documents`
    reads the attachments of legal cases."""

    def __init__(
        self,
        model: LanguageModel,
        name: str = "",
        namespace: str = "",
        *,
        settings: CallSettings | None = None,
        rated: CallSettings | None = None,
        documents: Documents = NO_DOCUMENTS,
    ) -> None:
        self.name = name or model.name
        self._model = model
        self._namespace = namespace
        self._settings = settings
        self._rated = rated or settings
        self._documents = documents

    @property
    def pin(self) -> str:
        """A hash of everything that shapes its replies: model, prompts, settings, and whether it is shown pictures."""
        settings = msgspec.json.encode((self._settings, self._rated)).decode()
        shaping = (self._model.name, prompts_fingerprint(), settings, *(() if self._documents.pictures else ("blind",)))
        return sha256("\n".join(shaping).encode()).hexdigest()

    def covers(self, case: Case | str, grader: str, part: Part | None = None) -> bool:
        """Whether it has a prompt for what this grader asks."""
        return bool(prompt_names(grader))

    async def ask(self, question: Question) -> Reply:
        prompt = None if question.prompt else prompt_for(question)
        request = Request(
            messages=messages(question, self._documents),
            schema=question.schema or (None if prompt is None else schema_of(prompt)),
            settings=self._rated if prompt is not None and prompt.whole else self._settings,
            namespace=_namespace(self._namespace, question.vote),
            purpose=f"judge:{question.grader}",
        )
        try:
            completion = await self._model.complete(request)
        except ModelFailed as failure:
            raise JudgeFailed(f"judge {self.name!r}: {failure}{unseen(failure, request)}") from failure
        if completion.finish is Finish.REFUSED and not completion.text.strip():
            raise JudgeFailed(f"judge {self.name!r}: the model refused to reply")
        details = _details(prompt, completion) if completion.logprobs else {}
        return Reply(content=completion.text, judge=self.name, cost_usd=completion.cost_usd, details=details)


def _details(prompt: Prompt | None, completion: Completion) -> dict[str, Any]:
    if not completion.logprobs or prompt is None or not prompt.whole:
        return {}
    value = weighted_value(completion.logprobs, prompt.scale)
    return {} if value is None else {PROBABILITY: value}


def _namespace(given: str, vote: int) -> str:
    """A second vote is asked for, not copied from the first."""
    return given if vote <= 1 else f"{given} vote {vote}".strip()
