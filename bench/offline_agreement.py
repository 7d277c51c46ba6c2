"""How far people agree with the offline judge: every figure of docs/offline-judge.md, measured again from the public
data in `$HOWSURE_SHARED` (else `../shared`). `python -m bench.offline_agreement`."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import structs

from bench.halves import gap_beyond_trained, interval_by_question, is_built_on, our_gap
from howsure.judges.base import Question
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import AgreementKind, MeasuredAgreement, NoOpinion, OfflineOpinion
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import ReferenceAnswer
from howsure.model.score import Part
from howsure.model.transcript import Transcript
from howsure.stats.agreement import cohen_kappa, spearman

DATA = Path(os.environ.get("HOWSURE_SHARED", Path(__file__).parents[2] / "shared")) / "data"
JUDGE = OfflineJudge()
PASSES = 0.7
RATED = {
    "PerceivedIntelligenceExplain": "engagingness",
    "IntentResolutionExplain": "groundedness",
    "HelpfulnessExplain": "overall",
    "TaskAdherenceExplain": "overall",
}


def opinion(grader: str, question: str, answer: str, **more: Any) -> OfflineOpinion | None:
    """What the judge thinks, where it is sure enough to say so."""
    case = Case(
        id="x",
        input=SingleTurn(message=question, context=more.get("context", "")),
        expectations=more.get("expectations", ()),
    )
    part = more.get("part")
    view = JUDGE.view(Question(grader=grader, case=case, transcript=Transcript(answer=answer), part=part))
    return None if isinstance(view, NoOpinion) or view.confidence < JUDGE.threshold else view


def read(*parts: str) -> Any:
    return json.loads(DATA.joinpath(*parts).read_text(encoding="utf-8"))


def lines(*parts: str) -> Iterator[Any]:
    with DATA.joinpath(*parts).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def verdicts(entries: Iterable[Any]) -> tuple[list[bool | None], list[bool]]:
    """The judge's verdicts on reference answers (None: cannot tell) and people's."""
    said: list[bool | None] = []
    people: list[bool] = []
    for entry in entries:
        expected = (ReferenceAnswer(answers=tuple(entry["gold_answers"])),)
        view = opinion("reference_answer", entry["question"], entry["answer"], expectations=expected)
        said.append(None if view is None else view.value >= PASSES)
        people.append(entry["human"] == "Yes")
    return said, people


def agreed(
    what: str, data: str, said: Sequence[bool | None], people: Sequence[bool], *, silent: bool = True
) -> MeasuredAgreement:
    """`silent`: what it cannot tell counts as disagreement; else it is left out."""
    decided = [(one, other) for one, other in zip(said, people, strict=True) if one is not None]
    same = sum(one == other for one, other in decided)
    kind = AgreementKind.AGREEMENT if silent else AgreementKind.DECIDED
    value = same / (len(said) if silent else len(decided))
    return MeasuredAgreement(what=what, data=data, kind=kind, n=len(said), decided=len(decided), value=round(value, 3))


def references() -> Iterator[MeasuredAgreement]:
    entries = list(lines("openqa_eval", "nq301.jsonl"))
    halves: tuple[tuple[str, Callable[[Any], bool]], ...] = (
        ("openqa_eval, all", lambda entry: True),
        ("openqa_eval, the half it was built on", lambda entry: is_built_on(entry["question"])),
        ("openqa_eval, the half held out", lambda entry: not is_built_on(entry["question"])),
    )
    for data, wanted in halves:
        chosen = list(filter(wanted, entries))
        said, people = verdicts(chosen)
        print(f"  {data}: {_beside(chosen, said, people)}")
        yield agreed("short reference answers", data, said, people)
        trained = [entry["bem"]["verdict"] == "Yes" for entry in chosen]
        found = agreed("short reference answers, a trained matcher (BEM)", data, trained, people)
        yield structs.replace(found, kind=AgreementKind.COMPARISON)
    yield from gaps(entries)


def _beside(entries: Sequence[Any], said: Sequence[bool | None], people: Sequence[bool]) -> str:
    """Kappa, and the interval that drawing whole questions gives."""
    kappa = cohen_kappa([one is True for one in said], people)
    same = [(entry["question"], one is other) for entry, one, other in zip(entries, said, people, strict=True)]
    low, high = interval_by_question(same, lambda drawn: fmean(one for _, one in drawn), lambda pair: pair[0])
    return f"kappa {kappa:.3f}, interval {low:.3f} to {high:.3f} by question"


def gaps(entries: Sequence[Any]) -> Iterator[MeasuredAgreement]:
    said, people = verdicts(entries)
    answers = [
        (entry["question"], one is other, (entry["bem"]["verdict"] == "Yes") is other)
        for entry, one, other in zip(entries, said, people, strict=True)
    ]
    for what, statistic in (
        ("built on minus held out", our_gap),
        ("the same, less the trained matcher's", gap_beyond_trained),
    ):
        value, n = statistic(answers) or 0.0, len(answers)
        low, high = interval_by_question(answers, statistic, lambda answer: answer[0])
        print(f"  {what}: {value:.3f}, interval {low:.3f} to {high:.3f} by question")
        what = f"short reference answers, {what}"
        yield MeasuredAgreement(
            what=what, data="openqa_eval, all", kind=AgreementKind.GAP, n=n, decided=n, value=round(value, 3)
        )


def statements() -> Iterator[MeasuredAgreement]:
    """Criteria made of the gold answer: people's verdict on the answer is the verdict on the criterion."""
    entries = [entry for entry in lines("openqa_eval", "nq301.jsonl") if len(entry["gold_answers"]) == 1]
    for form, wanted in (("Names {}", True), ("Does not mention {}", False)):
        said: list[bool | None] = []
        for entry in entries:
            part = Part(id="c", text=form.format(entry["gold_answers"][0]))
            view = opinion("criteria", entry["question"], entry["answer"], part=part)
            said.append(None if view is None else (view.value == 1) is wanted)
        people = [entry["human"] == "Yes" for entry in entries]
        yield agreed(f"criteria: “{form.format('…')}”", "openqa_eval, one gold answer", said, people, silent=False)


def long_references() -> Iterator[MeasuredAgreement]:
    """No one rated answers to these; a reference must agree with itself, and not with that of another question."""
    entries = list(lines("lexam", "open.legal_eval_v1.jsonl"))
    given = {"itself": 0, "the next question's": 1}
    for what, step in given.items():
        views = [
            opinion(
                "reference_answer",
                entry["prompt"],
                entries[(at + step) % len(entries)]["reference_answers"][0],
                expectations=(ReferenceAnswer(answers=tuple(entry["reference_answers"])),),
            )
            for at, entry in enumerate(entries)
        ]
        right = sum((view is not None and view.value >= PASSES) is (step == 0) for view in views)
        decided = sum(view is not None for view in views)
        yield MeasuredAgreement(
            what=f"long references against {what}",
            data="lexam, open questions",
            kind=AgreementKind.SELF_CHECK,
            n=len(views),
            decided=decided,
            value=right / len(views),
        )


def ratings() -> Iterator[MeasuredAgreement]:
    entries = read("unieval", "topical_chat.json")
    for grader, rated in RATED.items():
        pairs = []
        for entry in entries:
            turns = [turn for turn in entry["source"].split("\n") if turn.strip()]
            view = opinion(grader, turns[-1], entry["system_output"], context=entry["context"])
            if view is not None:
                pairs.append((view.value, entry["scores"][rated]))
        value = spearman([one for one, _ in pairs], [other for _, other in pairs]) or 0.0
        yield MeasuredAgreement(
            what=f"{grader} against rated {rated}",
            data="unieval, dialogue turns",
            kind=AgreementKind.CORRELATION,
            n=len(entries),
            decided=len(pairs),
            value=round(value, 3),
        )


def preferences() -> Iterator[MeasuredAgreement]:
    pandalm = [
        (f"{entry['instruction']}\n{entry['input']}", str(entry["response1"]), str(entry["response2"]), preferred)
        for entry in read("pandalm", "data", "testset-v1.json")
        if (preferred := Counter(entry[f"annotator{n}"] for n in (1, 2, 3)).most_common(1)[0][0])
    ]
    llmbar = [
        (entry["input"], entry["output_1"], entry["output_2"], entry["label"])
        for entry in read("llmbar", "Natural", "dataset.json")
    ]
    for data, pairs in (("pandalm, pairs without a tie", pandalm), ("llmbar/Natural", llmbar)):
        yield _preferred("HelpfulnessExplain", data, pairs)


def _preferred(grader: str, data: str, pairs: Sequence[tuple[str, str, str, int]]) -> MeasuredAgreement:
    points, decided = 0.0, 0
    for question, first, second, preferred in pairs:
        one, other = (opinion(grader, question, answer) for answer in (first, second))
        values = [view.value if view else 0.0 for view in (one, other)]
        decided += values[0] != values[1]
        points += 0.5 if values[0] == values[1] else float((values[0] > values[1]) is (preferred == 1))
    value = round(points / len(pairs), 3)
    return MeasuredAgreement(
        what=grader, data=data, kind=AgreementKind.PREFERENCE, n=len(pairs), decided=decided, value=value
    )


def measured() -> Iterator[MeasuredAgreement]:
    for group in (references, statements, long_references, ratings, preferences):
        yield from group()


def main() -> None:
    if not DATA.exists():
        print(f"public data not found: {DATA} (set HOWSURE_SHARED)")
        return
    for each in measured():
        print(
            f"{each.what:60} {each.data:42} {each.decided:5} of {each.n:5}  {each.value:.3f}  {each.kind.name.lower()}"
        )


if __name__ == "__main__":
    main()
