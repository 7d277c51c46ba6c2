"""Everything the Explain evals look at, measured once for each answer: how it is written, how far it covers what was
asked, what it offers. The evals in qualities.py weigh these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from howsure.judges.offline.echoes import own_sentences, taken_up
from howsure.judges.offline.folding import coded_share, is_number, root
from howsure.judges.offline.passages import Passage, comparable, content, passages
from howsure.judges.offline.polarity import refuses
from howsure.judges.offline.writing import continuity, contradiction, mechanics, repetition, variety

_FEELING = re.compile(
    r"\b(?:i understand|understand(?:able|ably)?|sorry|apologi[sz]e|i hear you|that sounds|i can (?:see|imagine)|"
    r"i know (?:how|that|this)|frustrat\w+|worr(?:y|ied|ies)|stress\w*|overwhelm\w*|don['’]t worry|no problem|"
    r"you['’]re not alone|good luck|well done|great (?:job|work|progress)|proud|glad|happy to|take your time|"
    r"feel free|appreciate|thank you|thanks|congratulations|you['’]ve got this|hope)\b",
    re.IGNORECASE,
)
_USER_FEELS = re.compile(
    r"\b(?:frustrat\w+|worr(?:y|ied)|stress\w*|anxious|afraid|scared|nervous|upset|angry|annoyed|sad|overwhelm\w*|"
    r"desperate|struggl\w+|fail(?:ed|ing)|tired|confus\w+|lost|hopeless|disappoint\w+|sick of|fed up|hate|alone)\b",
    re.IGNORECASE,
)
_PRACTICAL = re.compile(
    r"\b(?:you can|you could|you should|you need to|try|start (?:by|with)|first|next|then|finally|step|for example|"
    r"e\.g\.|such as|make sure|click|open|use|choose|select|check|schedule|week \d|day \d)\b|https?://|^\s*(?:[-*•]|\d+[.)])\s",
    re.IGNORECASE | re.MULTILINE,
)
_REASONS = re.compile(
    r"\b(?:because|since|so that|therefore|thus|hence|which means|due to|as a result|in order to|rather than|however|"
    r"although|while|whereas|if|unless|depends?|instead)\b",
    re.IGNORECASE,
)


class Signals(Struct, frozen=True, kw_only=True):
    """Shares from 0 to 1, unless said otherwise. None: the case has nothing to compare with."""

    sentences: tuple[Passage, ...]
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
        """Whether it takes up a word of anything that stands beside it."""
        return any((self.on_question, self.on_context, self.on_goal, self.on_reference))


class Beside(Struct, frozen=True):
    """What stands beside an answer: the question, its context, the goal, the references."""

    question: str
    context: str = ""
    goal: str = ""
    references: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def signals(answer: str, beside: Beside) -> Signals:
    """All of them, kept for the next eval of the same answer. How it is written is seen in all of it; what it
    offers, in what it does not just hand back."""
    sentences = passages(answer)
    own = own_sentences(sentences, (beside.question, beside.goal))
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
        on_question=_share(beside.question, own) or 0.0,
        on_context=_share(beside.context, own),
        on_goal=_share(beside.goal, own),
        on_reference=max(
            (share for text in beside.references if (share := _share(text, own)) is not None), default=None
        ),
        echo=bool(sentences) and not own,
        refuses=refuses(answer),
        practical=min(1.0, len(_PRACTICAL.findall(said)) / max(2, n)),
        specific=min(1.0, sum(map(is_number, words)) / n + _names(own) / (2 * n)),
        reasoned=min(1.0, len(_REASONS.findall(said)) / max(2, n) * 2),
        feeling=len(_FEELING.findall(answer)),
        user_feels=bool(_USER_FEELS.search(beside.question)),
        coded=coded_share(answer),
    )


def _share(text: str, own: Sequence[Passage]) -> float | None:
    """How much of a text's content the answer takes up, long words weighing more."""
    # In the order of the text: the order of a set is another in every process.
    weights = {root(word): 2.0 if is_number(word) else min(len(word), 10) / 10 for word in content(comparable(text))}
    total = sum(weights.values())
    found = taken_up(frozenset(weights), own)
    return sum(weight for each, weight in weights.items() if each in found) / total if total else None


def _names(sentences: Sequence[Passage]) -> int:
    return sum(len(re.findall(r"(?<=[a-z,] )[A-Z][\w-]+", sentence.text)) for sentence in sentences)
