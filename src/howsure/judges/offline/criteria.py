"""Criteria, rules and expected outcomes: met, not met, or (often) more than words alone can show. A statement about
tools (`never calls refund`) is checked against the calls, one about form (length, lists, links) by counting, and one
about what the answer says by searching the answer for the claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from howsure.judges.offline.dates import DateFit, compare_dates, find_dates
from howsure.judges.offline.lexicon import phrase, word_list, word_set
from howsure.judges.offline.opinions import Judgment, NoOpinion, OfflineOpinion
from howsure.judges.offline.quantities import agrees, find_quantities
from howsure.judges.offline.sentences import (
    Sentence,
    comparable_words,
    content_words,
    denies,
    find_run,
    refuses,
    split_sentences,
)
from howsure.judges.offline.words import is_number, root, tokens
from howsure.model.rubric import Rule
from howsure.model.transcript import ToolCall, Transcript

_SAYS = phrase("says")
_NO_MENTION = phrase("no_mention")
_NAMING = phrase("naming")
_OPEN = phrase("open_claim")
_QUOTED = re.compile(r"[\"“”«»„`]([^\"“”«»„`]{2,})[\"“”«»„`]|(?<!\w)['‘]([^'’]{2,})['’](?!\w)")
_ANNOUNCING = word_set("word words phrase sentence text term string exact exactly literally")


class Claim(Struct, frozen=True):
    """What the answer must say, or (`denied`) must not say. `named`: any mention is enough, in whatever sense."""

    claim: str
    denied: bool = False
    quoted: tuple[str, ...] = ()
    open_ended: bool = False
    named: bool = False


def parse_claim(statement: str) -> Claim | None:
    """What the statement says that the answer must or must not say; None: it is about something else."""
    text = " ".join(statement.split())
    if found := _NO_MENTION.match(text):
        return Claim(found["claim"], denied=True, quoted=find_quotes(text), named=True)
    if found := _SAYS.match(text):
        claim = found["claim"]
        open_ended = bool(_OPEN.search(_QUOTED.sub(" ", claim)))
        named = bool(_NAMING.match(found["verb"])) and not found["link"]
        return Claim(claim, bool(found["denial"]), find_quotes(claim), open_ended, named)
    return None


def words_outside_quotes(claim: str) -> frozenset[str]:
    """The content words outside the quotation marks, without those that only announce a quotation."""
    words = comparable_words(_QUOTED.sub(" ", claim))
    return frozenset(word for word in words if word not in word_list("stopwords") and word not in _ANNOUNCING)


def find_quotes(text: str) -> tuple[str, ...]:
    """Everything that the statement puts in quotation marks."""
    return tuple(one or other for one, other in _QUOTED.findall(text))


_USING = phrase("using")
_IDENTIFIER = re.compile(r"`(\w[\w.-]*)`|\b(\w+_\w+)\b|\b(\w+)\(\)|\bthe (\w+) (?:tool|function|api)\b")
_DENIED = phrase("denied_call")
_SEARCHING = phrase("searching")
_MORE = phrase("more_than_calls")
_LOOKING = frozenset({"search", "find", "lookup", "look", "query", "get", "fetch", "retrie", "read", "check", "list"})


def judge_tool_statement(statement: str, calls: Sequence[ToolCall], known: Iterable[str] = ()) -> Judgment | None:
    """Whether the calls bear out the statement; None: it is not about tools. `known` are the names of the agent's
    tools, for statements that name one plainly."""
    names = _named(statement, (*known, *(call.name for call in calls)))
    if names and _USING.search(statement):
        return _judge_named_tools(statement, names, calls)
    if _SEARCHING.search(statement):
        denied = bool(_DENIED.search(statement))
        looked = [call.name for call in calls if _LOOKING & set(map(root, tokens(call.name.replace("_", " "))))]
        if not calls:
            return OfflineOpinion(value=float(denied), confidence=0.8, reason="No tool was called at all.")
        if looked and not denied and not _MORE.search(statement):
            return OfflineOpinion(value=1.0, confidence=0.65, reason=f"{', '.join(dict.fromkeys(looked))} was called.")
        return NoOpinion("tools were called, and their names do not show whether this is what they did")
    return None


def _judge_named_tools(statement: str, names: Sequence[str], calls: Sequence[ToolCall]) -> Judgment:
    made = {call.name for call in calls}
    called = [name for name in names if name in made]
    denied = bool(_DENIED.search(statement))
    if _MORE.search(statement) and (called or denied):
        return NoOpinion("the statement says more about the calls than which tools were called")
    if called and len(called) < len(names):
        return NoOpinion(f"of the tools named, only {', '.join(called)} was called")
    reason = f"{', '.join(called)} was called." if called else f"{', '.join(names)} was not called."
    return OfflineOpinion(value=float(bool(called) != denied), confidence=0.85, reason=reason)


def _named(statement: str, known: Iterable[str]) -> list[str]:
    identifiers = [next(filter(None, groups)) for groups in _IDENTIFIER.findall(statement)]
    plain = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement)]
    return list(dict.fromkeys((*identifiers, *plain)))


_LIMIT = phrase("limit")


class FormCheck(Struct, frozen=True):
    """Something an answer has or lacks: how statements ask for it, and how it is recognised."""

    name: str
    wanted: re.Pattern[str]
    seen: re.Pattern[str]
    confidence: float = 0.75


_FORMS = (
    FormCheck("list", phrase("list_wanted"), phrase("list"), 0.85),
    FormCheck("link", phrase("link_wanted"), phrase("link_in_answer"), 0.8),
    FormCheck("emoji", phrase("emoji_wanted"), phrase("emoji"), 0.9),
    FormCheck("question", phrase("question_wanted"), phrase("question")),
    FormCheck("apology", phrase("apology_wanted"), phrase("apology")),
    FormCheck("thanks", phrase("thanks_wanted"), phrase("thanks")),
    FormCheck("greeting", phrase("greeting_wanted"), phrase("greeting")),
)
_FORM_DENIED = phrase("denied_form")
_CLAUSES = re.compile(r"[,;:]|\b(?:and|but)\b", re.IGNORECASE)
SHORT_STATEMENT = 9
"""A statement with more words than this is about more than form."""


def judge_form(statement: str, text: str) -> OfflineOpinion | None:
    """Whether counting bears out the statement; None: it is about something else, or about more."""
    if limit := _LIMIT.search(statement):
        # `never uses more than five words`: a denial in the same clause turns the bound around.
        clause = _CLAUSES.split(statement[: limit.start()])[-1]
        return _judge_length(limit, text, denied=bool(_FORM_DENIED.search(clause)))
    if len(statement.split()) > SHORT_STATEMENT:
        return None
    form = next((form for form in _FORMS if form.wanted.search(statement)), None)
    if form is None:
        return None
    there, denied = bool(form.seen.search(text)), bool(_FORM_DENIED.search(statement))
    reason = f"Looked for in the answer: {form.name}; {'found' if there else 'not found'}."
    return OfflineOpinion(value=float(there != denied), confidence=form.confidence, reason=reason)


def _judge_length(limit: re.Match[str], text: str, *, denied: bool) -> OfflineOpinion | None:
    number = tokens(limit["number"])
    if len(number) != 1 or not number[0].isdigit():
        return None
    unit, allowed = limit["unit"].lower(), int(number[0])
    counted = _COUNTS[unit](text)
    bound = limit["bound"].lower()
    if bound in ("at least", "no fewer than"):
        met = counted >= allowed
    elif bound == "more than":
        met = counted > allowed
    elif bound == "exactly":
        met = counted == allowed
    else:
        met = counted < allowed if bound in ("fewer than", "less than", "under") else counted <= allowed
    return OfflineOpinion(
        value=float(met != denied),
        confidence=0.9,
        reason=f"The answer has {counted} {unit}{'' if counted == 1 else 's'}.",
    )


_COUNTS: dict[str, Callable[[str], int]] = {
    "sentence": lambda text: len(split_sentences(text)),
    "word": lambda text: len(text.split()),
    "character": len,
    "paragraph": lambda text: len([part for part in re.split(r"\n\s*\n", text) if part.strip()]),
}


_NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][\w’'-]+")


class ClaimMatch(Struct, frozen=True):
    """How much of a claim a text contains: the shares of its telling words (in the best place), of its figures and of
    its names. None: the claim has no figures or names. `opposed`: one of the two denies it and the other does not."""

    share: float
    quote: str = ""
    words: int = 0
    figures: float | None = None
    names: float | None = None
    opposed: bool = False


def find_claim(claim: str, text: str) -> ClaimMatch:
    """The best place for a claim in a text: one sentence, or two in a row."""
    wanted = {root(word) for word in content_words(comparable_words(claim))}
    best, quote = 0.0, ""
    for place in _places(split_sentences(text)):
        share = len(wanted & set(map(root, place.words))) / len(wanted) if wanted else 0.0
        if share > best + 1e-9:
            best, quote = share, place.text
    return ClaimMatch(
        share=best,
        quote=quote,
        words=len(wanted),
        figures=_share_of_figures(claim, text),
        names=_share_of_names(claim, text),
        opposed=bool(quote) and denies(comparable_words(quote)) != denies(comparable_words(claim)),
    )


def contains_all(quoted: Iterable[str], text: str) -> tuple[bool, str]:
    """Whether the text contains every quotation, and the first one that is missing."""
    words = comparable_words(text)
    missing = next((each for each in quoted if find_run(comparable_words(each), words) is None), "")
    return not missing, missing


def _places(sentences: Sequence[Sentence]) -> Iterable[Sentence]:
    yield from sentences
    for one, other in pairwise(sentences):
        yield Sentence(f"{one.text} {other.text}", (*one.words, *other.words))


def _share_of_figures(claim: str, text: str) -> float | None:
    words, said = comparable_words(claim), comparable_words(text)
    if not any(is_number(word) and (word != "1" or "1" in claim) for word in words):
        return None  # `one clear answer` counts nothing
    days, stated_days = find_dates(words), find_dates(said)
    if days:
        met = [any(compare_dates(day, each) in (DateFit.SAME, DateFit.FINER) for each in stated_days) for day in days]
        return sum(met) / len(met)
    stated = find_quantities(said)
    met = [any(agrees(wanted, each) for each in stated) for wanted in find_quantities(words)]
    return sum(met) / len(met)


def _share_of_names(claim: str, text: str) -> float | None:
    """Capitalised words inside the claim count as names; so do German nouns, which does no harm."""
    names = {word for name in _NAME.findall(claim) for word in comparable_words(name) if not is_number(word)}
    if not names:
        return None
    stated = set(comparable_words(text))
    return len(names & stated) / len(names)


THERE, ABSENT = 0.75, 0.2
"""The share of a claim's telling words at which it counts as said, and at which nothing of it is."""
HALF = 0.5
ENOUGH_WORDS = 2


def judge_criterion(statement: str, text: str, calls: Sequence[ToolCall] = (), tools: Iterable[str] = ()) -> Judgment:
    """Whether the statement is true of this text and these calls."""
    if (by_calls := judge_tool_statement(statement, calls, tools)) is not None:
        return by_calls
    if (by_form := judge_form(statement, text)) is not None:
        return by_form
    claim = parse_claim(statement)
    if claim is None:
        return NoOpinion("the statement is about more than what is said, which needs understanding")
    return _judge_denial(claim, text) if claim.denied else _judge_claim(claim, text)


def judge_rule(rule: Rule, text: str, calls: Sequence[ToolCall] = ()) -> Judgment:
    """A rule fails when any fail condition is met, and holds when every pass condition is met; else it cannot tell."""
    for condition in rule.fail_conditions:
        view = judge_criterion(condition, text, calls)
        if isinstance(view, OfflineOpinion) and view.value == 1:
            reason = f"{condition}: {view.reason}"
            return OfflineOpinion(value=0.0, confidence=view.confidence, reason=reason, evidence=view.evidence)
    views = [judge_criterion(condition, text, calls) for condition in rule.pass_conditions]
    if views and all(isinstance(view, OfflineOpinion) and view.value == 1 for view in views):
        least = min((view for view in views if isinstance(view, OfflineOpinion)), key=lambda view: view.confidence)
        return OfflineOpinion(
            value=1.0, confidence=least.confidence, reason=f"Every pass condition holds. {least.reason}"
        )
    return judge_criterion(rule.name, text, calls)


def _judge_claim(claim: Claim, text: str) -> Judgment:
    whole, missing = contains_all(claim.quoted, text)
    if not whole:
        return _not_met(0.8, f"The answer does not contain “{missing}”.")
    found = find_claim(claim.claim, text)
    if claim.quoted and not words_outside_quotes(claim.claim):
        return _met(0.85, claim, found)
    if claim.open_ended:
        return NoOpinion("the statement does not say what to look for")
    if found.figures is not None and found.figures < 1:
        return _not_met(0.75, f"The answer lacks a figure of “{claim.claim}”.", found)
    if found.names == 0:
        return _not_met(0.7, f"The answer names nothing of “{claim.claim}”.")
    if found.share >= THERE and found.opposed and not claim.named:
        return _not_met(0.65, f"The answer denies “{claim.claim}”.", found)
    return _bare(claim, found) if found.words < ENOUGH_WORDS else _by_words(claim, found)


def _by_words(claim: Claim, found: ClaimMatch) -> Judgment:
    if found.share >= THERE:
        return _met(0.75, claim, found)
    if found.share >= HALF and found.figures == 1 and not found.opposed:
        return _met(0.65, claim, found)
    return NoOpinion(f"{found.share:.0%} of the words of “{claim.claim}” are there, which decides nothing")


def _bare(claim: Claim, found: ClaimMatch) -> Judgment:
    """A claim of one word is either there or not."""
    if found.share == 1:
        return _met(0.75 if claim.quoted or found.figures == 1 else 0.65, claim, found)
    return _not_met(0.65, f"“{claim.claim}” is not in the answer.")


def _met(confidence: float, claim: Claim, found: ClaimMatch) -> OfflineOpinion:
    return OfflineOpinion(
        value=1.0, confidence=confidence, reason=f"The answer says “{claim.claim}”.", evidence=_quoted(found)
    )


def _not_met(confidence: float, reason: str, found: ClaimMatch | None = None) -> OfflineOpinion:
    return OfflineOpinion(value=0.0, confidence=confidence, reason=reason, evidence=_quoted(found) if found else ())


def _judge_denial(claim: Claim, text: str) -> Judgment:
    found = find_claim(claim.claim, text)
    if claim.open_ended:
        return NoOpinion("the statement does not say what to look for")
    present = found.share >= THERE and found.figures in (None, 1.0)
    if present and (claim.named or not found.opposed):
        return _not_met(0.7, f"The answer speaks of “{claim.claim}”.", found)
    if found.share <= ABSENT:
        return OfflineOpinion(value=1.0, confidence=0.7, reason=f"Nothing in the answer speaks of “{claim.claim}”.")
    return NoOpinion(f"the answer has some words of “{claim.claim}”, which decides nothing")


def _quoted(found: ClaimMatch) -> tuple[str, ...]:
    return (found.quote,) if found.quote else ()


def judge_outcome(goals: Sequence[str], text: str, transcript: Transcript) -> Judgment:
    """Passed when every goal is reached, failed as soon as one is missed. Words alone often show failure, seldom
    success."""
    judgments = [judge_criterion(goal, text, transcript.tool_calls) for goal in goals]
    opinions = [each for each in judgments if isinstance(each, OfflineOpinion)]
    if missed := next((each for each in opinions if each.value == 0), None):
        return missed
    if opinions and len(opinions) == len(judgments):
        return min(opinions, key=lambda each: each.confidence)
    last = split_sentences(transcript.answer)
    if last and refuses(transcript.answer) and not any(map(_wants_refusal, goals)) and len(last) < 3:
        reason = "The conversation ends with a refusal."
        return OfflineOpinion(value=0.0, confidence=0.65, reason=reason, evidence=(last[0].text,))
    return NoOpinion("whether an outcome was reached needs understanding")


def _wants_refusal(goal: str) -> bool:
    lowered = goal.lower()
    return any(word in lowered for word in ("declin", "refus", "not ", "no ", "hand", "person", "escalat"))
