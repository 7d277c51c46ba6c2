"""The Explain evals, 1 to 5: signals of an answer are measured once (how it is written, how far it covers what was
asked, what it offers beyond repeating the question) and each eval weighs them. They see form, coverage and trace, never
truth; the confidence says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.offline.lexicon import Words, phrase
from howsure.judges.offline.opinions import Judgment, NoOpinion, OfflineOpinion
from howsure.judges.offline.sentences import Sentence, comparable_words, content_words, denies, refuses, split_sentences
from howsure.judges.offline.words import coded_share, is_code, is_number, root

_DOUBLED = re.compile(r"\b(\w{2,})\s+\1\b", re.IGNORECASE)
_SHOUTING = re.compile(r"[!?]{3,}|\b[A-Z]{4,}(?:\s+[A-Z]{4,})+\b")
_STRETCHED = re.compile(r"([a-zA-Z])\1{2,}")
_PLACEHOLDER = phrase("unfilled")
_ENDS = re.compile(r"[.!?:;)\]\"'”’…`*>|]\s*\Z")
LONG_SENTENCE, SHORT_SENTENCE = 45, 3
COMPARED = 60
"""How many sentences are compared with each other: the work grows with the square."""


def mechanics(text: str) -> float:
    """1 for clean writing; each kind of fault takes its share."""
    sentences = split_sentences(text)
    if not sentences:
        return 0.0
    n = len(sentences)
    faults = 0.15 * min(3, len(_DOUBLED.findall(text)))
    faults += 0.15 * min(2, len(_SHOUTING.findall(text))) + 0.1 * min(2, len(_STRETCHED.findall(text)))
    faults += 0.3 * bool(_PLACEHOLDER.search(text)) + 0.1 * _unbalanced(text)
    faults += 0.4 * sum(len(sentence.words) > LONG_SENTENCE for sentence in sentences) / n
    faults += 0.2 * (not _ENDS.search(text)) + 0.2 * sum(_lower_start(sentence) for sentence in sentences) / n
    return max(0.0, 1.0 - faults)


def repetition(text: str) -> float:
    """The share of the text that repeats itself: whole sentences, or runs of three words."""
    sentences = [sentence.words for sentence in split_sentences(text)]
    again = 1 - len(set(sentences)) / len(sentences) if sentences else 0.0
    words = [word for sentence in sentences for word in sentence]
    threes = list(zip(words, words[1:], words[2:], strict=False))
    looped = 1 - len(set(threes)) / len(threes) if len(threes) > 10 else 0.0
    return max(again, looped)


def contradiction(text: str) -> tuple[Sentence, Sentence] | None:
    """Two sentences that say the same, one of them negated."""
    telling = [(sentence, content_roots(sentence.words)) for sentence in split_sentences(text)[:COMPARED]]
    for (one, first), (other, second) in combinations([pair for pair in telling if len(pair[1]) > 2], 2):
        shared = len(first & second) / min(len(first), len(second))
        if shared >= 0.8 and denies(one.words) != denies(other.words):
            return one, other
    return None


def continuity(sentences: Sequence[Sentence]) -> float:
    """The share of sentences that take up a word of the two before them; a single sentence hangs together."""
    if len(sentences) < 2:
        return 1.0
    roots = [content_roots(sentence.words) for sentence in sentences]
    taken_up = [
        bool(roots[at] & (roots[at - 1] | (roots[at - 2] if at > 1 else frozenset()))) for at in range(1, len(roots))
    ]
    return sum(taken_up) / len(taken_up)


def variety(text: str) -> float:
    """The share of different words among the first hundred content words."""
    words = [word for sentence in split_sentences(text) for word in content_words(sentence.words)][:100]
    return len(set(words)) / len(words) if words else 0.0


def _unbalanced(text: str) -> bool:
    return any(text.count(one) != text.count(other) for one, other in ("()", "[]", "{}")) or text.count('"') % 2 == 1


def _lower_start(sentence: Sentence) -> bool:
    letters = sentence.text.lstrip("\"'“‘(*-•– ")
    return bool(letters) and letters[0].islower() and len(sentence.words) > SHORT_SENTENCE


RUN = 5
"""This many words in a row, as in the question, are a copy; fewer may be chance."""
COPIED = 0.75
"""A sentence with this share in such runs is a copy: a good sentence often begins with the question's words and goes
on."""
SHORT, HANDED_BACK = 3, 0.7
"""A text with fewer telling words cannot be shuffled; the share of its words that a shuffled copy hands back."""
FIGURES = 3
"""More figures than this, with hardly a word between them, are a mere row of figures."""


def own_sentences(sentences: Sequence[Sentence], given: Iterable[str]) -> tuple[Sentence, ...]:
    """The sentences that do more than repeat one of the given texts, in order or shuffled."""
    own = [sentence for sentence in sentences if not _is_string_of_figures(sentence.words)]
    for text in given:
        words = comparable_words(text)
        own = _not_shuffled([sentence for sentence in own if not _is_copied(sentence.words, words)], words)
    return tuple(own)


def shared_roots(text: frozenset[str], own: Sequence[Sentence]) -> set[str]:
    """The roots of a text that an answer uses. A figure counts in a sentence that has a word of the text: alone it may
    be any figure, unless it is the whole answer."""
    words = {each for each in text if not is_number(each)}
    sentence_roots = [content_roots(sentence.words) for sentence in own]
    if not words or (len(sentence_roots) == 1 and all(map(is_number, sentence_roots[0]))):
        return {each for sentence in sentence_roots for each in sentence & text}
    return {each for sentence in sentence_roots if not words.isdisjoint(sentence) for each in sentence & text}


@lru_cache(maxsize=4096)
def content_roots(words: Words) -> frozenset[str]:
    """The roots of the content words."""
    return frozenset(map(root, content_words(words)))


def _is_string_of_figures(words: Words) -> bool:
    figures = sum(is_number(word) or is_code(word) for word in words)
    return figures > FIGURES and figures > len(words) / 2


def _is_copied(sentence: Words, context: Words) -> bool:
    if len(sentence) < RUN:
        return False
    runs = {context[start : start + RUN] for start in range(len(context) - RUN + 1)}
    copied: set[int] = set()
    for start in range(len(sentence) - RUN + 1):
        if sentence[start : start + RUN] in runs:
            copied.update(range(start, start + RUN))
    return len(copied) >= COPIED * len(sentence)


def _not_shuffled(sentences: list[Sentence], given: Words) -> list[Sentence]:
    """The sentences without those made only of the given words, where these together repeat most of the given text."""
    asked = content_roots(given)
    sentence_roots = (content_roots(sentence.words) for sentence in sentences)
    back = {each for roots in sentence_roots if roots <= asked for each in roots}
    if len(asked) < SHORT or len(back) < HANDED_BACK * len(asked):
        return sentences
    return [sentence for sentence in sentences if not content_roots(sentence.words) <= asked]


_FEELING = phrase("feeling")
_USER_FEELS = phrase("user_feels")
_PRACTICAL = phrase("practical")
_REASONS = phrase("reasoned")


class Signals(Struct, frozen=True, kw_only=True):
    """Shares from 0 to 1, except counts and flags. None: the case has nothing to compare with."""

    sentences: tuple[Sentence, ...]
    words: int
    mechanics: float
    repetition: float
    contradicts: tuple[str, str] | None
    continuity: float
    variety: float
    on_question: float
    on_context: float | None
    on_goal: float | None
    on_reference: float | None
    echo: bool
    refuses: bool
    practical: float
    specific: float
    reasoned: float
    feeling: int
    user_feels: bool
    coded: float = 0.0

    @property
    def on_topic(self) -> bool:
        """Whether it uses a word of the question, context, goal or references."""
        return any((self.on_question, self.on_context, self.on_goal, self.on_reference))


class AnswerContext(Struct, frozen=True):
    """What an answer is compared with: the question, its context, the goal, the references."""

    question: str
    context: str = ""
    goal: str = ""
    references: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def signals(answer: str, context: AnswerContext) -> Signals:
    """All signals, cached for the next eval of the same answer. Writing is measured on the whole answer; what it
    offers, on the sentences that do not just repeat the question."""
    sentences = split_sentences(answer)
    own = own_sentences(sentences, (context.question, context.goal))
    words = [word for sentence in own for word in sentence.words]
    said = "\n".join(sentence.text for sentence in own)
    against = contradiction(answer)
    n = max(1, len(own))
    return Signals(
        sentences=sentences,
        words=len(words),
        mechanics=mechanics(answer),
        repetition=repetition(answer),
        contradicts=(against[0].text, against[1].text) if against else None,
        continuity=continuity(sentences),
        variety=variety(answer),
        on_question=_share(context.question, own) or 0.0,
        on_context=_share(context.context, own),
        on_goal=_share(context.goal, own),
        on_reference=max(
            (share for text in context.references if (share := _share(text, own)) is not None), default=None
        ),
        echo=bool(sentences) and not own,
        refuses=refuses(answer),
        practical=min(1.0, len(_PRACTICAL.findall(said)) / max(2, n)),
        specific=min(
            1.0,
            sum(map(is_number, words)) / n
            + sum(len(re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", sentence.text)) for sentence in own) / (2 * n),
        ),
        reasoned=min(1.0, len(_REASONS.findall(said)) / max(2, n) * 2),
        feeling=len(_FEELING.findall(answer)),
        user_feels=bool(_USER_FEELS.search(context.question)),
        coded=coded_share(answer),
    )


def _share(text: str, own: Sequence[Sentence]) -> float | None:
    """How much of a text's content the answer uses, long words weighted more."""
    # In the order of the text: the order of a set differs between processes.
    weights = {
        root(word): 2.0 if is_number(word) else min(len(word), 10) / 10
        for word in content_words(comparable_words(text))
    }
    total = sum(weights.values())
    found = shared_roots(frozenset(weights), own)
    return sum(weight for each, weight in weights.items() if each in found) / total if total else None


WEAK, CLEAR = 0.6, 0.85
"""The confidence of weighed signals, and of obvious cases: echoes, refusals, loops."""
CHANCE = frozenset({"RelevanceExplain", "CoherenceExplain", "FluencyExplain"})
"""Evals whose weighed grades were no better than chance on answers that nobody here had seen (docs/offline-judge.md).
Only what is obvious is graded: echoes, loops, refusals, contradictions."""
LOWEST, BELOW_THE_MIDDLE, HIGHEST = 1, 2, 5
MOSTLY = 0.5

Parts = Sequence[tuple[str, float, float]]
"""Weighed signals: name, weight, value from 0 to 1."""


def judge_quality(name: str, seen: Signals) -> Judgment:
    """One of the evals that look at the answer alone."""
    if (obvious := _judge_obvious(name, seen)) is not None:
        return obvious
    judgment = WEIGHED[name](seen)
    if name in CHANCE and isinstance(judgment, OfflineOpinion) and "weighed" in judgment.details:
        return NoOpinion("on answers that it had not seen before, its grades were no better than chance")
    if isinstance(judgment, OfflineOpinion) and judgment.value > BELOW_THE_MIDDLE:
        return _cap_off_topic(name, seen, judgment)
    return judgment


def _cap_off_topic(name: str, seen: Signals, opinion: OfflineOpinion) -> Judgment:
    """Length, figures and good form do not make up for an answer off the topic, or one that nobody can read."""
    if seen.coded >= MOSTLY:
        return NoOpinion(f"{seen.coded:.0%} of the answer is codes, which it cannot read")
    if seen.on_topic or name not in NEEDS_AN_ANSWER:
        return opinion
    reason = f"The answer takes up no word of the question. {opinion.reason}"
    details = {**opinion.details, "weighed": float(BELOW_THE_MIDDLE)}
    return replace(opinion, value=BELOW_THE_MIDDLE, reason=reason, details=details, evidence=())


def _judge_obvious(name: str, seen: Signals) -> OfflineOpinion | None:
    """Cases that need no weighing."""
    if seen.echo and name not in FORM_ONLY:
        return OfflineOpinion(value=LOWEST, confidence=CLEAR, reason="The answer only repeats the question.")
    if seen.repetition >= 0.5 and seen.words > 8:
        return OfflineOpinion(
            value=LOWEST, confidence=CLEAR, reason=f"{seen.repetition:.0%} of the answer says something again."
        )
    if seen.refuses and seen.words < 40 and name in NEEDS_AN_ANSWER:
        return OfflineOpinion(
            value=2, confidence=0.7, reason="The answer declines to answer.", evidence=(seen.sentences[0].text,)
        )
    return None


def _weigh(parts: Parts, confidence: float = WEAK) -> OfflineOpinion:
    total = sum(weight for _, weight, _ in parts)
    mean = sum(weight * value for _, weight, value in parts) / total
    listed = ", ".join(f"{name} {value:.2f}" for name, _, value in parts)
    value = LOWEST + (HIGHEST - LOWEST) * mean
    return OfflineOpinion(
        value=round(value),
        confidence=confidence,
        reason=f"Weighed from 0 to 1: {listed}.",
        details={"weighed": round(value, 2), "signals": {name: round(part, 3) for name, _, part in parts}},
    )


def _reaches(share: float, full: float) -> float:
    """The share, where `full` is as much as can be expected."""
    return min(1.0, share / full)


def _length(seen: Signals, enough: int) -> float:
    return min(1.0, seen.words / enough)


def _answers(seen: Signals) -> float:
    """How far the answer covers the question and, where there is one, the reference."""
    on_question = _reaches(seen.on_question, 0.35)
    if seen.on_reference is None:
        return on_question
    return max(on_question, _reaches(seen.on_reference, 0.5)) * 0.5 + _reaches(seen.on_reference, 0.5) * 0.5


def _clean(seen: Signals) -> float:
    return seen.mechanics * (1 - min(1.0, 2 * seen.repetition))


def _relevance(seen: Signals) -> OfflineOpinion:
    context = 0.5 if seen.on_context is None else _reaches(seen.on_context, 0.15)
    return _weigh(
        [("covers the question", 3, _answers(seen)), ("context", 1, context), ("length", 1, _length(seen, 15))]
    )


def _coherence(seen: Signals) -> OfflineOpinion:
    if seen.contradicts:
        one, other = seen.contradicts
        return OfflineOpinion(
            value=2, confidence=0.65, reason="Two sentences contradict each other.", evidence=(one, other)
        )
    parts = [
        ("continuity", 2.0, _reaches(seen.continuity, 0.5)),
        ("no repetition", 2.0, 1 - min(1.0, 2 * seen.repetition)),
    ]
    return _weigh([*parts, ("to the point", 1, _reaches(seen.on_question, 0.2)), ("clean writing", 1, seen.mechanics)])


def _fluency(seen: Signals) -> OfflineOpinion:
    return _weigh(
        [("mechanics", 3, seen.mechanics), ("variety", 1, _reaches(seen.variety, 0.6)), ("no loops", 1, _clean(seen))]
    )


def _helpfulness(seen: Signals) -> OfflineOpinion:
    parts = [("covers the question", 3.0, _answers(seen)), ("practical", 1.0, seen.practical)]
    return _weigh(
        [*parts, ("length", 1.5, _length(seen, 40)), ("specific", 1, seen.specific), ("clean", 1, _clean(seen))]
    )


def _intelligence(seen: Signals) -> OfflineOpinion:
    parts = [("reasons", 1.0, seen.reasoned), ("specifics", 1.0, seen.specific), ("length", 1.0, _length(seen, 40))]
    return _weigh([*parts, ("covers the question", 2, _answers(seen)), ("variety", 1, _reaches(seen.variety, 0.7))])


def _empathy(seen: Signals) -> Judgment:
    if not seen.feeling and not seen.user_feels:
        return NoOpinion("nobody speaks of feelings, and their absence says nothing about empathy")
    shown = min(1.0, seen.feeling / 2)
    return _weigh([("words of feeling", 3, shown), ("clean writing", 1, _clean(seen)), ("answers", 1, _answers(seen))])


def _intent(seen: Signals) -> OfflineOpinion:
    context = _answers(seen) if seen.on_context is None else _reaches(seen.on_context, 0.2)
    return _weigh(
        [("covers the question", 3, _answers(seen)), ("context", 1, context), ("length", 1, _length(seen, 20))]
    )


def _adherence(seen: Signals) -> OfflineOpinion:
    goal = _answers(seen) if seen.on_goal is None else _reaches(seen.on_goal, 0.25)
    return _weigh(
        [("covers the goal", 2, goal), ("covers the question", 2, _answers(seen)), ("length", 1, _length(seen, 20))]
    )


WEIGHED: Mapping[str, Callable[[Signals], Judgment]] = {
    "RelevanceExplain": _relevance,
    "CoherenceExplain": _coherence,
    "FluencyExplain": _fluency,
    "HelpfulnessExplain": _helpfulness,
    "PerceivedIntelligenceExplain": _intelligence,
    "EmpathyExplain": _empathy,
    "IntentResolutionExplain": _intent,
    "TaskAdherenceExplain": _adherence,
}
FORM_ONLY = frozenset({"FluencyExplain", "CoherenceExplain"})
NEEDS_AN_ANSWER = frozenset(
    {
        "RelevanceExplain",
        "HelpfulnessExplain",
        "IntentResolutionExplain",
        "TaskAdherenceExplain",
        "PerceivedIntelligenceExplain",
    }
)
