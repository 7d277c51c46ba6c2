"""The search for a claim in a text: which of its words stand together somewhere, which figures and names are missing,
and whether the place that has them denies it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from howsure.judges.offline.dates import Fit, dates_in, fit
from howsure.judges.offline.folding import is_number, root
from howsure.judges.offline.passages import Passage, comparable, content, find_run, passages
from howsure.judges.offline.polarity import denies
from howsure.judges.offline.quantities import agrees, quantities_in

_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][\w’'-]+")


class Found(Struct, frozen=True):
    """How much of a claim a text has. `share`: of its telling words, in the best place; `figures` and `names`: of those
    it has, None where the claim has none; `opposed`: that place denies what the claim does not, or the reverse."""

    share: float
    quote: str = ""
    words: int = 0
    figures: float | None = None
    names: float | None = None
    opposed: bool = False


def search(claim: str, text: str) -> Found:
    """The best place for a claim in a text: a sentence, or two that follow each other."""
    wanted = {root(word) for word in content(comparable(claim))}
    best, quote = 0.0, ""
    for place in _places(passages(text)):
        share = len(wanted & set(map(root, place.words))) / len(wanted) if wanted else 0.0
        if share > best + 1e-9:
            best, quote = share, place.text
    return Found(
        share=best,
        quote=quote,
        words=len(wanted),
        figures=_share_of_figures(claim, text),
        names=_share_of_names(claim, text),
        opposed=bool(quote) and denies(comparable(quote)) != denies(comparable(claim)),
    )


def contains_all(quoted: Iterable[str], text: str) -> tuple[bool, str]:
    """Whether every quotation stands in the text, and the first that does not."""
    words = comparable(text)
    missing = next((each for each in quoted if find_run(comparable(each), words) is None), "")
    return not missing, missing


def _places(sentences: Sequence[Passage]) -> Iterable[Passage]:
    yield from sentences
    for one, other in pairwise(sentences):
        yield Passage(f"{one.text} {other.text}", (*one.words, *other.words))


def _share_of_figures(claim: str, text: str) -> float | None:
    words, said = comparable(claim), comparable(text)
    if not any(is_number(word) and (word != "1" or "1" in claim) for word in words):
        return None  # `one clear answer` counts nothing
    days, stated_days = dates_in(words), dates_in(said)
    if days:
        met = [any(fit(day, each) in (Fit.SAME, Fit.FINER) for each in stated_days) for day in days]
        return sum(met) / len(met)
    stated = quantities_in(said)
    met = [any(agrees(wanted, each) for each in stated) for wanted in quantities_in(words)]
    return sum(met) / len(met)


def _share_of_names(claim: str, text: str) -> float | None:
    """Capitalised words inside the claim are names; German nouns too, which does no harm."""
    names = {word for name in _NAME.findall(claim) for word in comparable(name) if not is_number(word)}
    if not names:
        return None
    said = set(comparable(text))
    return len(names & said) / len(names)
