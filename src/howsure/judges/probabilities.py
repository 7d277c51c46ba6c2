"""The probability-weighted value of a rating: over the whole numbers that the model might have written in its place,
each weighed with its probability, those off the scale left out and the rest made to sum to one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import exp, fsum, isnan

from howsure.llm.parts import Alternative, Token
from howsure.model.score import Scale

# An unescaped quote before `score` is a key: inside a text of the reply it would be escaped.
_SCORE = re.compile(r'(?<!\\)"score"\s*:\s*"?(?P<value>\d+)(?:\.0+)?(?![\d.])')
# A token may hold what stands beside the number too: `": 4`, ` 4`, `4}`.
_WRITTEN = re.compile(r'[\s":]*(\d+)(?:\.0+)?[\s"},\]]*')


def weighted_value(tokens: Sequence[Token], scale: Scale) -> float | None:
    """The mean over the alternatives of the token that holds the score; None where there is no single such token."""
    token = _token_of_score(tokens)
    if token is None:
        return None
    weights: dict[int, list[float]] = {}
    for value, probability in _alternatives(token, scale):
        weights.setdefault(value, []).append(probability)
    sums = {value: fsum(each) for value, each in weights.items()}
    total = fsum(sums.values())
    if total <= 0:
        return None
    mean = fsum(value * weight for value, weight in sums.items()) / total
    return min(max(mean, min(sums)), max(sums))


def _token_of_score(tokens: Sequence[Token]) -> Token | None:
    text = "".join(token.text for token in tokens)
    found = list(_SCORE.finditer(text))
    if len({each["value"] for each in found}) != 1:
        return None
    start, end = found[-1].span("value")
    position = 0
    for token in tokens:
        if position <= start < position + len(token.text):
            return token if end <= position + len(token.text) else None
        position += len(token.text)
    return None


def _alternatives(token: Token, scale: Scale) -> Iterator[tuple[int, float]]:
    """What might have been written, each once, the token itself among them."""
    others = [each for each in token.alternatives if each.text != token.text]
    for each in (Alternative(token.text, token.logprob), *others):
        written = _WRITTEN.search(each.text) if each.text is token.text else _WRITTEN.fullmatch(each.text)
        if written and int(written[1]) in scale and not isnan(each.logprob):
            yield int(written[1]), exp(min(each.logprob, 0.0))
