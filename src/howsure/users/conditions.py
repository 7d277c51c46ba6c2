"""Whether the condition of a plan step holds: words such as "the agent offers a voucher", "the agent calls refund" or
"the price is above 600 euros", read against one reply of the agent. Three answers: where words do not tell, `MAYBE`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from functools import lru_cache

from msgspec import Struct

from howsure.judges.offline.words import is_number, root, tokens
from howsure.users.speech import is_done, offers, refuses, requests
from howsure.users.stops import Exchange, handoff_evidence
from howsure.users.words import content_words, fold_case, has_kin, listed_words, meanings, means, phrase


class ConditionStatus(Enum):
    """Whether a condition holds."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


_EVEN = ("at least", "at most")
"""Bounds that include the figure itself."""
_CLAUSE = re.compile(r"(?m)^.*(?:[,;:]|(?<!\w)(?:and|but|or)(?!\w))")
_FIGURE = re.compile(r"\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?")


_SORRY = re.compile(r"\b(?:sorry|apologi|entschuldig|desole|lo siento|scusi)")


class _AgentAct(Struct, frozen=True):
    """Something an agent does: the verbs that name it (`[act_…]` in phrases.txt), and how a reply shows it."""

    name: str
    seen: Callable[[Exchange], bool]
    asking: bool = False

    @property
    def verbs(self) -> re.Pattern[str]:
        return phrase(f"act_{self.name}")


_ACTS = (
    _AgentAct("refuses", lambda exchange: refuses(exchange.text)),
    _AgentAct("asks", lambda exchange: bool(requests(exchange.text)), asking=True),
    _AgentAct("offers", lambda exchange: offers(exchange.text)),
    _AgentAct("hands_over", lambda exchange: bool(handoff_evidence(exchange.reply))),
    _AgentAct("confirms", lambda exchange: is_done(exchange.text)),
    _AgentAct("apologizes", lambda exchange: bool(_SORRY.search(fold_case(exchange.text)))),
)
_CURRENCY = re.compile(r"[$€£¥]|\b(?:euros?|dollars?|pounds?|francs?|usd|eur|gbp|chf)\b")
HALF = 0.5


def check_condition(when: str, exchange: Exchange) -> ConditionStatus:
    """Whether the condition holds for what the agent just said and did. Without a condition: yes."""
    condition = fold_case(when).strip()
    if not condition:
        return ConditionStatus.YES
    if named := phrase("tool_call").search(when):
        tool = named["tool"].rstrip(".-")
        if tool in exchange.calls or "_" in tool:
            denied = bool(phrase("negation").search(_clause(fold_case(when[: named.start()]))))
            return ConditionStatus.NO if (tool in exchange.calls) is denied else ConditionStatus.YES
    if (bound := phrase("bound").search(condition)) and (compared := _compared(condition, bound, exchange.text)):
        return compared
    positive = _positive(condition, exchange)
    if phrase("negation").search(condition) and not _ACTS[0].verbs.search(condition):
        return {ConditionStatus.YES: ConditionStatus.NO, ConditionStatus.NO: ConditionStatus.YES}.get(
            positive, ConditionStatus.MAYBE
        )
    return positive


def check_condition_ever(when: str, exchanges: Iterable[Exchange]) -> ConditionStatus:
    """The best answer over several replies."""
    answers = {check_condition(when, exchange) for exchange in exchanges}
    return next((one for one in (ConditionStatus.YES, ConditionStatus.MAYBE) if one in answers), ConditionStatus.NO)


def _positive(condition: str, exchange: Exchange) -> ConditionStatus:
    """The condition without its negation: does the agent do what it names, about what it names?"""
    act = next((act for act in _ACTS if act.verbs.search(condition)), None)
    about = _objects(condition, act)
    if act is None:
        if not about or 0 < (spoken := _share(about, exchange.text)) < HALF:
            return ConditionStatus.MAYBE
        return ConditionStatus.YES if spoken else ConditionStatus.NO
    seen = act.seen(exchange)
    text = "\n".join(requests(exchange.text)) if act.asking else exchange.text
    share = _share(about, text)
    if seen and share >= HALF:
        return ConditionStatus.YES
    return (
        ConditionStatus.MAYBE
        if (seen and not act.asking) or (share > 0 and about) or (seen and share)
        else ConditionStatus.NO
    )


@lru_cache(maxsize=1024)
def _objects(condition: str, act: _AgentAct | None) -> tuple[str, ...]:
    """What the condition is about: its words without the subject and the verb."""
    rest = phrase("negation").sub(" ", act.verbs.sub(" ", condition, count=1) if act else condition)
    return tuple(word for word in content_words(rest) if word not in listed_words("subjects"))


def _share(about: tuple[str, ...], text: str) -> float:
    if not about:
        return 1.0
    there = meanings(text)
    money = bool(_CURRENCY.search(fold_case(text)))
    found = [word for word in about if means(word, there) or (money and word in listed_words("money"))]
    return len(found) / len(about)


def _clause(before: str) -> str:
    """The clause that leads up to something: a negation in another clause does not count."""
    return _CLAUSE.sub("", before)


def _compared(condition: str, bound: re.Match[str], text: str) -> ConditionStatus | None:
    """`above 600 euros`: some figure in the reply is; `not above`: none of them is. None: the condition names no
    figure."""
    figure = _FIGURE.search(condition, bound.end())
    if not figure:
        return None
    limit = _value(figure[0])
    there = [_value(found) for found in _FIGURE.findall(text)]
    denied = bool(phrase("negation").search(_clause(condition[: bound.start()])))
    if denied and not there:
        return ConditionStatus.MAYBE
    if any(_meets(value, limit, bound) for value in there) is denied:
        return ConditionStatus.NO
    words = content_words(condition[: bound.start()])
    about = [word for word in words if word not in listed_words("subjects") and not is_number(word)]
    spoken = any(has_kin(root(word), frozenset(map(root, tokens(text)))) for word in about) or bool(
        _CURRENCY.search(fold_case(text))
    )
    return ConditionStatus.YES if spoken or not about else ConditionStatus.MAYBE


def _meets(value: float, limit: float, bound: re.Match[str]) -> bool:
    if value == limit:
        return bound[0] in _EVEN
    return value > limit if bound["more"] else value < limit


def _value(figure: str) -> float:
    whole = re.sub(r"[.,](?=\d{3}(?!\d))", "", figure).replace(",", ".")
    return float(whole) if whole.count(".") <= 1 else float(whole.replace(".", ""))
