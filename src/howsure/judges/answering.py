"""What a model under test is sent for a question: what the policy of its dataset says before it, the question with all
that belongs to it, and how to answer a choice. The words are files under prompts/answering/, each with a version."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

import yaml
from msgspec import Struct, convert

from howsure.judges.dataset_policies import DatasetPolicy, policy_of
from howsure.judges.documents import Documents
from howsure.judges.prompt_files import ENDING, HEX
from howsure.judges.prompting import NO_DOCUMENTS
from howsure.judges.turns import user_side
from howsure.llm.parts import Message
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import CorrectChoice
from howsure.model.transcript import Role


class Words(Struct, frozen=True):
    """A text, and the version that pins it."""

    text: str
    version: str


class _Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: int


@cache
def all_words() -> dict[str, Words]:
    """Every text that models under test may be given, by its name."""
    folder = files("howsure.judges") / "prompts" / "answering"
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(ENDING)]
    return dict(sorted(map(_words, texts)))


def answering_fingerprint() -> str:
    """One hash over all of them: it changes when any word that a model under test is given does."""
    return sha256("\n".join(words.version for words in all_words().values()).encode()).hexdigest()


def system_prompt(case: Case) -> str:
    """What stands in for the prompt of an agent, where the run brings none."""
    return _said(policy_of(case).system)


def legal_prompt(case: Case, documents: Documents = NO_DOCUMENTS) -> tuple[Message, ...]:
    """The earlier messages, then what the policy says, context and documents, then the prompt, unless the last message
    of the user says it already, and the options of a choice."""
    given, policy = case.input, policy_of(case)
    earlier = [Message(message.role, message.content) for message in user_side(case)]
    asked = earlier.pop().content if earlier and earlier[-1].role is Role.USER else ""
    context = given.context if isinstance(given, SingleTurn) else ""
    tail = (_said(policy.guidance), context, documents.of(case), asked, _options(case, policy))
    return *earlier, Message(Role.USER, "\n\n".join([text for text in tail if text]), documents.images(case))


def _options(case: Case, policy: DatasetPolicy) -> str:
    lists = [each.choices for each in case.expectations if isinstance(each, CorrectChoice)]
    if not lists:
        return ""
    options = "\n".join([f"{choice.id}. {choice.text}" for choices in lists for choice in choices])
    return f"{options}\n\n{_said(policy.form)}"


def _said(name: str) -> str:
    return all_words()[name].text if name else ""


def _words(text: str) -> tuple[str, Words]:
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), _Head)
    return head.name, Words(body.strip(), f"{head.name}@{head.version}:{sha256(text.encode()).hexdigest()[:HEX]}")
