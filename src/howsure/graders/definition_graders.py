"""The golden world's own definitions as graders: templates filled from the columns of a conversation, and managed evals
under names and for agents of the user's choice. A missing column is an error that names it, never an empty text.
definition_file.py reads the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure.graders.base import Binding
from howsure.graders.case_sources import MISSING, Material
from howsure.graders.custom_evals import MissingInput, PromptedEval
from howsure.graders.definition_columns import Columns, agents_of, column_text
from howsure.graders.definition_file import SUPPLIED, Warn, read_definitions
from howsure.graders.definitions import Column, Composed, Definition
from howsure.graders.golden_judged import MULTI_TURN, SINGLE_TURN, turn_count
from howsure.graders.templates import asked_about, placeholders, reply_form
from howsure.judges.base import Question
from howsure.judges.prompting import messages
from howsure.judges.reading import read_rating
from howsure.judges.rulings import NotApplicable, Rating, Ruling
from howsure.judges.verdict_lists import read_share
from howsure.model.case import Case, World
from howsure.model.score import Grade, Why
from howsure.model.transcript import Transcript


def definition_graders(path: Path, warn: Warn | None = None) -> tuple[Binding, ...]:
    """The judged evals of a definition file, or DatasetInvalid with all its problems. One that has the name of a judged
    eval of ours is meant to take its place."""
    return tuple(
        ManagedEval(definition) if definition.managed else DefinedEval(definition)
        for definition in read_definitions(path, warn)
    )


def _is_for(definition: Definition, case: Case) -> bool:
    if case.world != World.GOLDEN:
        return False
    return not definition.agents or not agents_of(case).isdisjoint(definition.agents)


class DefinedEval(PromptedEval):
    """One definition with a question of its own."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.name = definition.name
        self.scale = definition.scale

    def wants(self, case: Case) -> bool:
        return _is_for(self.definition, case)

    def prompt(self, case: Case, transcript: Transcript) -> str:
        given = self.definition
        columns = Columns(Material(case, transcript, self.setting.agent))
        text = given.template or given.question
        # A template says what it needs; without one, all that is mapped is put before the judge.
        names = placeholders(text) if given.template else dict.fromkeys((*SUPPLIED, *given.mapping))
        texts = {name: self._text(name, columns) for name in names}
        asked = "\n\n".join(part for part in (given.guidelines, text) if part)
        return asked_about(asked, texts, reply_form(self.scale, whole=False))

    def read(self, content: Any) -> Rating | NotApplicable:
        return read_rating(content, self.scale)

    def _text(self, name: str, columns: Columns) -> str:
        mapped = self.definition.mapping.get(name)
        match mapped:
            case Column():
                return column_text(name, _column(mapped, name, columns))
            case Composed():
                return mapped.filled({source: _part(mapped, source, name, columns) for source in mapped.sources})
            case None:
                supplied = columns.prompt() if name == SUPPLIED[0] else columns.response()
                return column_text(name, "" if supplied is MISSING else supplied)


def _column(mapped: Column, name: str, columns: Columns) -> Any:
    found = columns.find(mapped.source) if mapped.source else MISSING
    if found is MISSING:
        return _default(mapped.default, mapped.source, name)
    if mapped.last and isinstance(found, list):
        return found[-1] if found else _default(mapped.default, f"{mapped.source} (its last entry)", name)
    return found


def _part(mapped: Composed, source: str, name: str, columns: Columns) -> str:
    found = columns.find(source)
    return column_text(source, _default(mapped.default, source, name) if found is MISSING else found)


def _default(default: Any, source: str, name: str) -> Any:
    if default is MISSING:
        raise MissingInput(f"the case has no column `{source}`, which `{name}` is mapped to and has no default for")
    return default


class ManagedEval(PromptedEval):
    """One of our shares of verdicts, under the name and for the agents that a definition gives it."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.name = definition.name

    def wants(self, case: Case) -> bool:
        return _is_for(self.definition, case)

    def prompt(self, case: Case, transcript: Transcript) -> str:
        """The words of our own eval, below the definition's guidelines."""
        agent = self.setting.agent
        *_, asked = messages(Question(grader=self.definition.managed, case=case, transcript=transcript, agent=agent))
        return "\n\n".join(part for part in (self.definition.guidelines, asked.content) if part)

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if self.definition.managed.startswith(MULTI_TURN) and turn_count(case, transcript) < 2:
            return [self.without(Why.NOT_APPLICABLE, SINGLE_TURN)]
        return await super().grade(case, transcript)
