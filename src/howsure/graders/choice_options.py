"""The options of one question, and how a short expression names some of them: "B", "(c)", "A and C", "B. its text",
"its text". Finding the expression in a long answer is for `choice_statements`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from howsure.graders.choice_ids import CLOSERS, LETTER, OPENERS, worked_out
from howsure.graders.choice_words import BECAUSE, FURTHER, LEAD, NEGATED, OPTION, WORDLIKE
from howsure.matching.text import words
from howsure.model.expectation import Choice


class Chosen(Struct, frozen=True):
    """The ids that an answer names, in the order of the question."""

    ids: tuple[str, ...]


class Unclear(Struct, frozen=True):
    """An answer that names something, but nobody can say what."""

    reason: str


Reading = Chosen | Unclear

_CLAUSE_END = re.compile(r"[.,;:!?\n—–。](?=\s|$)|\s[-–—]\s|$")
_PART_OF_A_WORD = re.compile(r"[.,]\d|[-–'’][^\W\d_]|\s?[%°?]|[+#]")
_STOP = re.compile(r"\s*+(?:$|[.,:;!)\]}—–\"'”(\[<|\\。]|-[\s>])|[ \t]*+\n")
_BECAUSE = re.compile(rf"\s++(?:{BECAUSE})(?!\w)", re.IGNORECASE)
# "Correct: B" above "Incorrect: A, C" rules nothing out; "B:" above "wrong" does.
_NEGATED = re.compile(rf"(?:[^\S\n]|[:–—-]|(?<=:)\n)*+{NEGATED}", re.IGNORECASE)
_LEAD = re.compile(rf"{OPENERS}{LEAD}(?P<option>{OPTION}\s++)?+{OPENERS}", re.IGNORECASE)
_FURTHER = re.compile(FURTHER, re.IGNORECASE)
_LONE_TOKEN = re.compile(rf"(?P<token>[A-Za-z]|\d{{1,3}})(?![{LETTER}]){CLOSERS}\s*+(?:$|[.,:;)])")
_LABEL = re.compile(rf"[ \t*_`>#•-]*+(?:{OPTION}[ \t]++)?+[ \t*_`(\[]*+", re.IGNORECASE)
_AFTER_LABEL = re.compile(r"[*_`)\]]*[.):]")
_HESITATES = re.compile(r"\s*+[,;]?+\s*+(?:or|oder|lub|eller|или|maybe|perhaps|vielleicht)(?!\w)", re.IGNORECASE)
_DOUBTS = re.compile(
    r"\s*+[,;(]?+\s*+(?:(?:and/)?or|possibly|alternatively|otherwise|maybe|perhaps"
    r"|oder|eventuell|möglicherweise|vielleicht|ou|peut-être|o|quizás|forse)(?!\w)",
    re.IGNORECASE,
)
# "A; B is possible too": what follows is said of the last id alone.
_OF_THE_LAST = re.compile(
    r"\s++(?:is|was|would|could|may|might|can|seems|ist|wäre|kann|est|es|è|é)(?!\w)", re.IGNORECASE
)
_NEGATIVE = re.compile(r"[\s:.)\]*_`\"'($\\]*+[-−–](?=[.,]?\d)")
_PERCENT = re.compile(r"\d\s?%")


class Found(Struct, frozen=True):
    """Ids where a text was looked at: where they end, whether they are alternatives ("A or B"), whether they are
    written in their own case, and whether a bracket or an emphasis closes the last."""

    ids: tuple[str, ...]
    start: int
    end: int
    alternatives: bool
    own_case: bool
    closed: bool


class Options:
    """Built for each question; its patterns once for each list of ids."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self.choices = choices
        self.ids = tuple([choice.id for choice in choices])
        ids = worked_out(self.ids)
        self.id_pattern = ids.pattern
        self.one_sign_each = ids.one_sign_each
        self._known = ids.known
        self._separator = ids.separator
        self._by_text: dict[str, list[str]] | None = None

    @property
    def by_text(self) -> dict[str, list[str]]:
        """The ids of every text; two options may have the same."""
        if self._by_text is None:
            self._by_text = {}
            for choice in self.choices:
                self._by_text.setdefault(_text_key(choice.text), []).append(choice.id)
        return self._by_text

    @property
    def reach(self) -> int:
        """How far into a text a choice can go that begins where it begins."""
        return 400 + 2 * max((len(choice.text) for choice in self.choices), default=0)

    def id_of(self, token: str) -> str | None:
        """Case counts only where two ids differ in nothing else."""
        return self._known.get(token) or self._known.get(token.casefold())

    def chosen(self, ids: Iterable[str]) -> Chosen:
        named = set(ids)
        return Chosen(tuple(each for each in self.ids if each in named))

    def read(self, text: str, strict: bool = False) -> Reading | None:
        """The options named where `text` begins, by id or by their text; None: it names none there."""
        found = self.ids_at(text, after_lead(text))
        if found is not None and self._rules_out(text, found):
            return None
        return (
            self.read_ids(text, strict) or self.read_run(text) or self.beginning_with_text(text) or self._unknown(text)
        )

    def read_ids(self, text: str, strict: bool = False) -> Reading | None:
        """`strict`: what follows an id must set it apart from a sentence that goes on ("B is liable to …")."""
        at = after_lead(text)
        if _FURTHER.match(text, at):
            return Unclear("the answer adds a further choice to an earlier one")
        found = self.ids_at(text, at)
        if found is None or not self._stands_alone(text, found, strict) or self._rules_out(text, found):
            return None
        return self._settled(text, found)

    def _rules_out(self, text: str, found: Found) -> bool:
        """ "B is wrong" rules B out; "B: wrong, because …" does not where that is the text of B."""
        if _NEGATED.match(text, found.end) is None:
            return False
        rest = words(text[found.end :])
        own = (words(choice.text) for choice in self.choices if choice.id in found.ids)
        return not any(each and rest.startswith(each) for each in own)

    def ids_at(self, text: str, at: int) -> Found | None:
        """The ids that stand at a place, one after the other."""
        ids: list[str] = []
        own_case, alternatives, closed, end = True, False, False, at
        match = self.id_pattern.match(text, at)
        while match is not None and (known := self.id_of(match["id"])) is not None:
            ids.append(known)
            own_case = own_case and known == match["id"]
            end = match.end()
            closed = end > match.end("id")
            separator = self._separator.match(text, end)
            match = self.id_pattern.match(text, separator.end()) if separator else None
            if match is None or separator is None or self._is_word(text, match):
                break
            alternatives = alternatives or separator["or"] is not None
        return Found(tuple(ids), at, end, alternatives, own_case, closed) if ids else None

    def _stands_alone(self, text: str, found: Found, strict: bool) -> bool:
        if _PART_OF_A_WORD.match(text, found.end):
            return False
        last = found.ids[-1]
        if found.closed:
            return True
        if strict or not found.own_case or last.isdecimal() or last.casefold() in WORDLIKE:
            return _sets_apart(text, found.end)
        return True

    def _settled(self, text: str, found: Found) -> Reading:
        rest = text[found.end :].partition("\n")[0]
        if found.alternatives:
            return Unclear(f"the answer is {' or '.join(found.ids)}")
        if _HESITATES.match(rest) or self.id_of(rest.strip(" .-–—>→⇒")) not in (None, *found.ids):
            return Unclear(f"the answer is {' and '.join(found.ids)}, or something else")
        others = [other["id"] for other in self.mentions(rest) if self.id_of(other["id"]) not in found.ids]
        if others and _PERCENT.search(rest):
            return Unclear("the answer spreads percentages over several choices")
        if others and _DOUBTS.match(rest):
            return Unclear(f"the answer is {' and '.join(found.ids)}, or {others[0]}")
        if len(found.ids) > 1:
            return self._several(text, found, rest)
        other = self._text_of_another(found.ids[0], text[found.start :], rest)
        if other:
            return Unclear(f"the answer names {found.ids[0]}, but has the text of {other}")
        return self.chosen(found.ids)

    def _several(self, text: str, found: Found, rest: str) -> Reading:
        """ "A and B", or "both A and B", may be the text of D."""
        lines = (text[at:].partition("\n")[0] for at in (0, found.start))
        by_text = next((reading for line in lines if (reading := self.named_by_text(line)) is not None), None)
        if by_text is None and _OF_THE_LAST.match(rest):
            return Unclear(f"the answer says something of {found.ids[-1]} alone after it names {found.ids[0]}")
        return by_text or self.chosen(found.ids)

    def labels(self, text: str) -> list[str]:
        """The ids that lines begin with, as options are set out."""
        found: list[str] = []
        for line in text.splitlines():
            start = _LABEL.match(line)
            match = self.id_pattern.match(line, start.end() if start else 0)
            known = self.id_of(match["id"]) if match else None
            if match and known and (_AFTER_LABEL.match(line, match.end("id")) or not line[match.end() :].strip()):
                found.append(known)
        return found

    def _text_of_another(self, named: str, text: str, rest: str) -> str:
        """The id whose text is (or comes after) the id that was named; "" where nothing contradicts it."""
        for quoted in (_text_key(text.partition("\n")[0]), _text_key(rest)):
            ids = self.by_text.get(quoted, []) if quoted else []
            if ids and named not in ids:
                return ids[0]
        return ""

    def mentions(self, text: str) -> list[re.Match[str]]:
        """Ids that stand in a text in their own case and are not words of a sentence."""
        found = self.id_pattern.finditer(text)
        return [match for match in found if match["id"] in self.ids and not self._is_word(text, match)]

    def _is_word(self, text: str, match: re.Match[str]) -> bool:
        """Whether what looks like an id is a word of the sentence: "A contract", "I think", "a"."""
        token = match["id"]
        if token in self.ids and token.casefold() not in WORDLIKE:
            return False
        return match.end() == match.end("id") and not _sets_apart(text, match.end())

    def read_run(self, text: str) -> Chosen | None:
        """ "AC", where every id is one letter; only in alphabetical order, because BAD is a word."""
        letters = text.partition("\n")[0].strip(" .*_`\"'()[]{}$\\")
        if not (letters.isalpha() and 1 < len(letters) <= len(self.ids)) or list(letters) != sorted(set(letters)):
            return None
        return self.chosen(letters) if all(letter in self.ids for letter in letters) else None

    def named_by_text(self, text: str) -> Reading | None:
        """The option whose own text this is."""
        plain = _text_key(text)
        ids = self.by_text.get(plain) if plain else None
        if ids is None:
            return None
        if len(ids) > 1:
            return Unclear(f"the answer is the text of {' and '.join(ids)}, which are the same")
        return Chosen(tuple(ids))

    def beginning_with_text(self, text: str) -> Reading | None:
        """The option whose text is the whole of `text`, or as many clauses from its beginning as there can be."""
        ends = [match.start() for match in _CLAUSE_END.finditer(text, 0, min(len(text), self.reach))]
        for end in (len(text), *reversed(ends)):
            reading = self.named_by_text(text[:end])
            if reading is not None:
                return reading
        return None

    def _unknown(self, text: str) -> Unclear | None:
        """A lone letter or number that looks like an id and is none."""
        match = _LONE_TOKEN.match(text, after_lead(text))
        if match is None or any(len(each) > 2 for each in self.ids):
            return None
        token = match["token"]
        if self.id_of(token) is not None or token.isdecimal() != self.ids[0].isdecimal():
            return None
        return Unclear(f"{token!r} is not one of the choices ({', '.join(self.ids)})")

    def nothing_but_ids(self, text: str) -> bool:
        found = self.ids_at(text, after_lead(text))
        return found is not None and not text[found.end :].strip(" .!*_`\"')]}\t\n")


def _text_key(text: str) -> str:
    """What two spellings of an option's text share. A sign counts: -12 is not 12."""
    plain = words(text)
    return f"-{plain}" if plain and _NEGATIVE.match(text) else plain


def after_lead(text: str) -> int:
    """Where the id can stand after quotes, brackets, "clearly", "option" …"""
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def _sets_apart(text: str, at: int) -> bool:
    """Whether what follows ends an id: punctuation, the end, "because", or a script without spaces."""
    if _STOP.match(text, at) or _BECAUSE.match(text, at):
        return True
    return at < len(text) and "\u2e80" <= text[at] <= "\ud7ff"
