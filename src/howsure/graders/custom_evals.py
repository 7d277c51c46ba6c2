"""Graders for custom evals: questions that a user writes in a YAML file, asked of the judge of the run and scored on
their own scale. custom_eval_file.py reads the file; docs/custom-evals.md describes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from howsure.errors import JudgeFailed
from howsure.graders.base import BindableGrader
from howsure.graders.custom_eval_file import EvalInput, EvalOutput, EvalSpec, read_evals
from howsure.graders.judged_grader import JudgedGrader
from howsure.graders.templates import MISSING, SourceMaterial, build_question, json_text, read_source, reply_form
from howsure.judges.replies import normalize_key, read_rating, read_value, split_json_and_prose, unwrap
from howsure.judges.rulings import NotApplicable, NoValue, Rating, UnparsableReply
from howsure.model.case import Case
from howsure.model.score import Grade, Scale, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.policies.verdicts import NEEDS_A_JUDGE


class MissingInput(LookupError):
    """A case lacks an input of the question."""


def custom_evals(path: Path, taken: Collection[str] = ()) -> tuple[BindableGrader, ...]:
    """The evals of a file, or DatasetInvalid with all its problems. `taken` are the names that other graders have."""
    return tuple(CustomEval(spec) for spec in read_evals(path, taken))


class PromptedEval(JudgedGrader):
    """An eval that brings its own question. A case that lacks an input of the question gets an error, not a low value,
    and the judge is not asked."""

    needed = False

    def prompt(self, case: Case, transcript: Transcript) -> str:
        """The question. Raises MissingInput."""
        raise NotImplementedError

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if self.judge is None:
            return [self.unscored(UnscoredReason.NO_JUDGE, NEEDS_A_JUDGE)]
        try:
            prompt = self.prompt(case, transcript)
        except (MissingInput, JudgeFailed) as failure:
            return [self.unscored(UnscoredReason.ERROR, str(failure))]
        return [await self.ask_judge(case, transcript, self.read, prompt=prompt)]


class CustomEval(PromptedEval):
    """One eval of a user's file."""

    def __init__(self, spec: EvalSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.scale = spec.scale
        self.may_not_apply = spec.may_not_apply
        self.mark = spec.mark

    def wants(self, case: Case) -> bool:
        spec = self.spec
        if spec.worlds and case.world not in spec.worlds:
            return False
        return all(case.labels.get(name) in values for name, values in spec.filters.items())

    def prompt(self, case: Case, transcript: Transcript) -> str:
        material = SourceMaterial(case, transcript, self.context.agent)
        texts = {
            name: json_text(self._input_value(name, declared, material)) for name, declared in self.spec.inputs.items()
        }
        spec, output = self.spec, self.spec.output
        closing = reply_form(
            spec.scale, whole=spec.whole, may_not_apply=spec.may_not_apply, score=output.score, reason=output.reason
        )
        return build_question(self.spec.template, texts, closing)

    def read(self, content: Any) -> Rating | NotApplicable:
        if self.spec.output == EvalOutput():
            return read_rating(content, self.scale, whole=self.spec.whole)
        return read_fields(content, self.spec.output, self.scale, whole=self.spec.whole)

    def _input_value(self, name: str, declared: EvalInput, material: SourceMaterial) -> Any:
        value = read_source(declared.source, material)
        if value is not MISSING:
            return value
        if declared.default is MISSING:
            raise MissingInput(
                f"the case has no `{declared.source}`, which the input `{name}` needs and has no default for"
            )
        return declared.default


def read_fields(content: Any, output: EvalOutput, scale: Scale, *, whole: bool) -> Rating | NotApplicable:
    """The ruling of a reply whose fields for value and reason have other names. Several objects must agree."""
    values, _ = split_json_and_prose(content)
    objects = [each for each in map(unwrap, values) if isinstance(each, dict) and _keys_of(each, output.score)]
    if not objects:
        raise NoValue(f"no field `{output.score}` in the reply")
    rulings = [_read_object(each, output, scale, whole) for each in objects]
    first = rulings[0]
    if any(_value(each) != _value(first) for each in rulings):
        raise UnparsableReply(f"the reply says several things under `{output.score}`")
    return rulings[-1]


def _read_object(reply: dict[str, Any], output: EvalOutput, scale: Scale, whole: bool) -> Rating | NotApplicable:
    scores, reasons = _keys_of(reply, output.score), _keys_of(reply, output.reason)
    if len(scores) > 1:
        raise UnparsableReply(f"the reply has `{output.score}` more than once")
    ruling = read_value(
        {"score": reply[scores[0]], "reason": reply[reasons[0]] if reasons else None}, scale, whole=whole
    )
    if isinstance(ruling, NotApplicable):
        return ruling
    return replace(ruling, details={key: value for key, value in reply.items() if key not in (*scores, *reasons)})


def _keys_of(reply: Mapping[str, Any], field: str) -> list[str]:
    return [key for key in reply if normalize_key(key) == normalize_key(field)]


def _value(ruling: Rating | NotApplicable) -> float | None:
    return None if isinstance(ruling, NotApplicable) else ruling.value
