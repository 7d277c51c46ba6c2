"""What a target is sent for a case: the guidance of its dataset's policy, the question with everything that belongs to
it, and how to answer a choice. The words are files under prompts/answering/, each with a version."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from hashlib import sha256
from importlib.resources import files

from msgspec import Struct

from howsure.judges.dataset_policies import dataset_policy
from howsure.judges.documents import NO_DOCUMENTS, Documents
from howsure.judges.judge_prompts import SUFFIX, PlainPrompt, read_plain_prompt
from howsure.llm.messages import Image
from howsure.model.case import Case, Script, SingleTurn, case_messages
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.transcript import Message, Role, SentRequest


@cache
def load_answer_prompts() -> dict[str, PlainPrompt]:
    """Every text that a model under test may be given, by its name."""
    folder = files("howsure.judges") / "prompts" / "answering"
    prompts = [read_plain_prompt(file) for file in folder.iterdir() if file.name.endswith(SUFFIX)]
    return {prompt.name: prompt for prompt in sorted(prompts, key=lambda prompt: prompt.name)}


def answer_prompts_fingerprint() -> str:
    """One hash over all of them: it changes with any word that a model under test is given."""
    return sha256("\n".join(prompt.version for prompt in load_answer_prompts().values()).encode()).hexdigest()


class CasePrompt(Struct, frozen=True, kw_only=True):
    """A case as a target is told it, in its parts: the one rendering for every target. `earlier` is the conversation
    before the question; `form` says how to answer a choice. `system` and `images` are for chat targets."""

    system: str = ""
    earlier: tuple[Message, ...] = ()
    guidance: str = ""
    context: str = ""
    documents: str = ""
    choices: tuple[Choice, ...] = ()
    form: str = ""
    images: tuple[Image, ...] = ()

    def first_message(self, text: str, placed: Collection[str] = ()) -> str:
        """The user's words `text` with everything that belongs to them, except the parts that are `placed` elsewhere:
        guidance, context, documents, the words themselves, the options of a choice and how to answer."""
        parts = {
            "guidance": self.guidance,
            "context": self.context,
            "documents": self.documents,
            "prompt": text,
            "choices": "\n".join([f"{choice.id}. {choice.text}" for choice in self.choices]),
            "form": self.form,
        }
        return "\n\n".join([part for name, part in parts.items() if part and name not in placed])

    def sent(self, message: str) -> SentRequest:
        """What is stored of the first request, whose last message is `message`."""
        return SentRequest(messages=(*self.earlier, Message(role=Role.USER, content=message)))


def case_prompt(
    case: Case, documents: Documents = NO_DOCUMENTS, *, chat: bool = True, own_system: bool = False
) -> CasePrompt:
    """The rendering of a case. A target that is no `chat` takes text alone: no pictures, and the policy's system prompt
    goes before everything else. `own_system`: the target has a system prompt of its own, in place of the policy's. The
    turns of a script are sent as they are."""
    policy = dataset_policy(case, documents.policies)
    system = "" if own_system else _prompt_text(policy.system)
    if isinstance(case.input, Script):
        return CasePrompt(system=system) if chat else CasePrompt(guidance=system)
    earlier = case_messages(case)
    if earlier and earlier[-1].role is Role.USER:
        earlier = earlier[:-1]
    choices = tuple(choice for each in case.expectations if isinstance(each, CorrectChoice) for choice in each.choices)
    return CasePrompt(
        system=system if chat else "",
        earlier=tuple(Message(role=message.role, content=message.content) for message in earlier if message.content),
        guidance="\n\n".join(filter(None, ("" if chat else system, _prompt_text(policy.guidance)))),
        context=case.input.context if isinstance(case.input, SingleTurn) else "",
        documents=documents.of(case, pictures=chat),
        choices=choices,
        form=_prompt_text(policy.form) if choices else "",
        images=documents.images(case) if chat else (),
    )


def _prompt_text(text: str) -> str:
    """The text itself, or the file whose name it is."""
    prompt = load_answer_prompts().get(text)
    return text if prompt is None else prompt.body
