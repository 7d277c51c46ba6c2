"""What a model under test is sent for a question: the guidance of its dataset's policy, the question with everything
that belongs to it, and how to answer a choice. The words are files under prompts/answering/, each with a version."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from howsure.judges.conversations import case_messages
from howsure.judges.dataset_policies import DatasetPolicy, dataset_policy
from howsure.judges.documents import NO_DOCUMENTS, Documents
from howsure.judges.judge_prompts import SUFFIX, PlainPrompt, read_plain_prompt
from howsure.llm.messages import ChatMessage
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import CorrectChoice
from howsure.model.transcript import Role


@cache
def load_answer_prompts() -> dict[str, PlainPrompt]:
    """Every text that a model under test may be given, by its name."""
    folder = files("howsure.judges") / "prompts" / "answering"
    prompts = [read_plain_prompt(file) for file in folder.iterdir() if file.name.endswith(SUFFIX)]
    return {prompt.name: prompt for prompt in sorted(prompts, key=lambda prompt: prompt.name)}


def answer_prompts_fingerprint() -> str:
    """One hash over all of them: it changes with any word that a model under test is given."""
    return sha256("\n".join(prompt.version for prompt in load_answer_prompts().values()).encode()).hexdigest()


def system_prompt(case: Case) -> str:
    """What replaces the agent's prompt, where the run brings none."""
    return _prompt_text(dataset_policy(case).system)


def target_messages(case: Case, documents: Documents = NO_DOCUMENTS) -> tuple[ChatMessage, ...]:
    """The earlier messages, then one user message: guidance, context, documents, the prompt (unless the user's last
    message already says it) and the options of a choice."""
    policy = dataset_policy(case)
    earlier = [ChatMessage(message.role, message.content) for message in case_messages(case)]
    prompt = earlier.pop().content if earlier and earlier[-1].role is Role.USER else ""
    context = case.input.context if isinstance(case.input, SingleTurn) else ""
    texts = (_prompt_text(policy.guidance), context, documents.of(case), prompt, _options(case, policy))
    return *earlier, ChatMessage(Role.USER, "\n\n".join([text for text in texts if text]), documents.images(case))


def _options(case: Case, policy: DatasetPolicy) -> str:
    lists = [each.choices for each in case.expectations if isinstance(each, CorrectChoice)]
    if not lists:
        return ""
    options = "\n".join([f"{choice.id}. {choice.text}" for choices in lists for choice in choices])
    return f"{options}\n\n{_prompt_text(policy.form)}"


def _prompt_text(name: str) -> str:
    return load_answer_prompts()[name].body if name else ""
