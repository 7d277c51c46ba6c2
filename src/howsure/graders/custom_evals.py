"""Custom evals: questions that a user writes in a YAML file, asked of the run's judge and scored on their own scale.
custom_eval_file.py reads the file; docs/custom-evals.md describes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from howsure.errors import JudgeFailed
from howsure.graders.base import Binding
from howsure.graders.case_sources import MISSING, Material, drawn
from howsure.graders.custom_eval_file import read_evals
from howsure.graders.eval_spec import EvalSpec, Input, Output
from howsure.graders.judged import NO_JUDGE, JudgedGrader
from howsure.graders.templates import as_text, asked_about, reply_form
from howsure.judges.fields import plain_key
from howsure.judges.reading import opened, read_rating, read_value, values_and_prose
from howsure.judges.rulings import NotApplicable, NoValue, Rating, Ruling, Unreadable
from howsure.model.case import Case
from howsure.model.score import Grade, Scale, Why
from howsure.model.transcript import Transcript


class MissingInput(LookupError):
    """A case does not have what the question is about."""


def custom_evals(path: Path, taken: Collection[str] = ()) -> tuple[Binding, ...]:
    """The evals of a file, or DatasetInvalid with all its problems. `taken` are the names that other graders have."""
    return tuple(CustomEval(spec) for spec in read_evals(path, taken))


class PromptedEval(JudgedGrader):
    """An eval that brings its question in words. A case that lacks what the question is about is an error, not a low
    value: nobody was asked."""

    needed = False

    def prompt(self, case: Case, transcript: Transcript) -> str:
        """The question; or MissingInput."""
        raise NotImplementedError

    def read(self, content: Any) -> Ruling:
        raise NotImplementedError

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if self.judge is None:
            return [self.without(Why.NO_JUDGE, NO_JUDGE)]
        try:
            prompt = self.prompt(case, transcript)
        except (MissingInput, JudgeFailed) as failure:
            return [self.without(Why.ERROR, str(failure))]
        return [await self.asked(case, transcript, self.read, prompt=prompt)]


class CustomEval(PromptedEval):
    """One eval of a user's file."""

    def __init__(self, spec: EvalSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.scale = spec.scale
        self.mark = spec.mark

    def wants(self, case: Case) -> bool:
        spec = self.spec
        if spec.worlds and case.world not in spec.worlds:
            return False
        return all(case.labels.get(name) in values for name, values in spec.filters.items())

    def prompt(self, case: Case, transcript: Transcript) -> str:
        material = Material(case, transcript, self.setting.agent)
        texts = {name: as_text(self._drawn(name, given, material)) for name, given in self.spec.inputs.items()}
        output = self.spec.output
        closing = reply_form(self.scale, whole=self.spec.whole, score=output.score, reason=output.reason)
        return asked_about(self.spec.template, texts, closing)

    def read(self, content: Any) -> Rating | NotApplicable:
        if self.spec.output == Output():
            return read_rating(content, self.scale, whole=self.spec.whole)
        return read_fields(content, self.spec.output, self.scale, whole=self.spec.whole)

    def _drawn(self, name: str, given: Input, material: Material) -> Any:
        found = drawn(given.source, material)
        if found is not MISSING:
            return found
        if given.default is MISSING:
            raise MissingInput(
                f"the case has no `{given.source}`, which the input `{name}` needs and has no default for"
            )
        return given.default


def read_fields(content: Any, output: Output, scale: Scale, *, whole: bool) -> Rating | NotApplicable:
    """The ruling of a reply whose value and reason have names of their own. Several objects must agree."""
    values, _ = values_and_prose(content)
    objects = [each for each in map(opened, values) if isinstance(each, dict) and _named(each, output.score)]
    if not objects:
        raise NoValue(f"no field `{output.score}` in the reply")
    rulings = [_read_object(each, output, scale, whole) for each in objects]
    first = rulings[0]
    if any(_value(each) != _value(first) for each in rulings):
        raise Unreadable(f"the reply says several things under `{output.score}`")
    return rulings[-1]


def _read_object(said: dict[str, Any], output: Output, scale: Scale, whole: bool) -> Rating | NotApplicable:
    scores, reasons = _named(said, output.score), _named(said, output.reason)
    if len(scores) > 1:
        raise Unreadable(f"the reply has `{output.score}` more than once")
    ruling = read_value({"score": said[scores[0]], "reason": said[reasons[0]] if reasons else None}, scale, whole=whole)
    if isinstance(ruling, NotApplicable):
        return ruling
    return replace(ruling, details={key: value for key, value in said.items() if key not in (*scores, *reasons)})


def _named(said: Mapping[str, Any], field: str) -> list[str]:
    return [key for key in said if plain_key(key) == plain_key(field)]


def _value(ruling: Rating | NotApplicable) -> float | None:
    return None if isinstance(ruling, NotApplicable) else ruling.value
