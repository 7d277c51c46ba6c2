"""The options of one question, and how a short expression names some of them: "B", "(c)", "A and C", "B. its text",
"its text". Finding the expression in a long answer is in choice_statements.py. The words around a choice, in the
languages that models answer in, are in data/phrases.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from howsure.judges.offline.lexicon import phrase_text, word_set
from howsure.matching.text import words
from howsure.model.expectation import Choice

_PACKAGE = "howsure.graders"


def choice_phrase(name: str) -> re.Pattern[str]:
    """A pattern of words around a choice, by its name in data/phrases.txt."""
    return re.compile(phrase_text(_PACKAGE, name))


_LETTER, _OPENERS, _CLOSERS, _OPTION = (
    phrase_text(_PACKAGE, name) for name in ("letter", "openers", "closers", "option")
)
AND = ("and", "und", "et", "y", "e", "ed", "en", "i", "oraz", "og", "och", "ve", "и", "和", "及", "と", "as well as")
OR = ("or", "oder", "ou", "o", "of", "lub", "eller", "veya", "или", "或", "または")
JSON_KEYS = word_set(
    "finalanswer answer answers correctanswer correctanswers correctchoice correctchoices correctchoiceid "
    "correctchoiceids selectedchoice selectedanswer selectedoption selected choice choices choiceid choiceids "
    "option letter answerletter answerchoice answeroption answerid selectedanswers antwort réponse respuesta "
    "risposta resposta antwoord odpowiedź"
)
FILLER = word_set(
    "so its it is definitely clearly probably i id i'd say think go with the option choice answer letter must be would "
    "should therefore thus hence ok okay sure yes it's that's that"
)
WORDLIKE = frozenset("aieyouàèéóиавскуояо")


class IdPatterns(Struct, frozen=True):
    """How the ids of a question look in a text, and what joins several of them to a list. `known` has the id for each
    spelling. `one_sign_each`: every id is a single letter or digit."""

    pattern: re.Pattern[str]
    separator: re.Pattern[str]
    known: dict[str, str]
    one_sign_each: bool


@lru_cache(maxsize=512)
def id_patterns(ids: tuple[str, ...]) -> IdPatterns:
    """Cached, because the questions of a dataset share a few lists of ids."""
    either = "|".join(re.escape(each) for each in sorted(ids, key=len, reverse=True))
    folded = [each.casefold() for each in ids]
    known = {fold: each for fold, each in zip(folded, ids, strict=True) if folded.count(fold) == 1}
    return IdPatterns(
        # An id that touches no other letter, and after it whatever closes a quotation, emphasis or bracket.
        pattern=re.compile(rf"(?<![{_LETTER}])(?P<id>{either})(?![{_LETTER}]){_CLOSERS}", re.IGNORECASE),
        separator=_separator_pattern(ids),
        known=known | {each: each for each in ids},
        one_sign_each=all(len(each) == 1 and each.isascii() and each.isalnum() for each in ids),
    )


def _separator_pattern(ids: tuple[str, ...]) -> re.Pattern[str]:
    """What joins ids to a list. A word that is itself an id joins nothing ("A e C" is a list unless e is an option)."""
    taken = {each.casefold() for each in ids}
    ands, ors = ("|".join(re.escape(word) for word in kind if word not in taken) for kind in (AND, OR))
    return re.compile(
        rf"\s*+(?:[,;]?+\s*+(?P<or>(?:{ors})(?!\w)|/)|[,;&+、]\s*+(?>(?:(?:{ands})(?!\w))?)|(?:{ands})(?!\w)|(?<=[)\]])(?=[(\[]))\s*+"
        rf"(?>(?:{_OPTION}\s++)?){_OPENERS}",
        re.IGNORECASE,
    )


class ChosenOptions(Struct, frozen=True):
    """The ids that an answer names, in the order of the question."""

    ids: tuple[str, ...]


NO_CHOICE = "no_choice"
SEVERAL = "several_choices"
CONTRADICTORY = "contradictory_choice"
"""The kinds of flags: the answer names none, hesitates between several, or contradicts itself."""
NOTHING_READ = "no choice could be read"


class UnclearChoice(Struct, frozen=True):
    """Why the choice of an answer is unclear, and the kind of flag that the result gets for it."""

    reason: str
    kind: str = SEVERAL


ChoiceReading = ChosenOptions | UnclearChoice

_CLAUSE_END = re.compile(r"[.,;:!?\n—–。](?=\s|$)|\s[-–—]\s|$")
_PART_OF_A_WORD = re.compile(r"[.,]\d|[-–'’][^\W\d_]|\s?[%°?]|[+#]")
_STOP = re.compile(r"\s*+(?:$|[.,:;!)\]}—–\"'”(\[<|\\。]|-[\s>])|[ \t]*+\n")
_BECAUSE = choice_phrase("because")
_NEGATED = choice_phrase("negated")
_LEAD = choice_phrase("lead")
_ADDS_CHOICE = choice_phrase("adds_choice")
_LONE_TOKEN = choice_phrase("lone_token")
_LABEL = choice_phrase("label")
_AFTER_LABEL = re.compile(r"[*_`)\]]*[.):]")
_HESITATES = choice_phrase("hesitates")
_DOUBTS = choice_phrase("doubts")
_OF_THE_LAST = choice_phrase("of_the_last")
_NEGATIVE = re.compile(r"[\s:.)\]*_`\"'($\\]*+[-−–](?=[.,]?\d)")
_PERCENT = re.compile(r"\d\s?%")


class IdMatch(Struct, frozen=True):
    """The ids at one place of a text. `alternatives`: "A or B". `own_case`: they are written as in the question.
    `closed`: a bracket or an emphasis closes the last one."""

    ids: tuple[str, ...]
    start: int
    end: int
    alternatives: bool
    own_case: bool
    closed: bool


class ChoiceOptions:
    """The options of one question, and what a short text says about them."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self.choices = choices
        self.ids = tuple([choice.id for choice in choices])
        ids = id_patterns(self.ids)
        self.id_pattern = ids.pattern
        self.one_sign_each = ids.one_sign_each
        self._known = ids.known
        self._separator = ids.separator
        self._by_text: dict[str, list[str]] | None = None

    @property
    def by_text(self) -> dict[str, list[str]]:
        """The ids for each text. Two options may have the same text."""
        if self._by_text is None:
            self._by_text = {}
            for choice in self.choices:
                self._by_text.setdefault(_text_key(choice.text), []).append(choice.id)
        return self._by_text

    @property
    def reach(self) -> int:
        """How many characters a choice at the beginning of a text can take up."""
        return 400 + 2 * max((len(choice.text) for choice in self.choices), default=0)

    def id_of(self, token: str) -> str | None:
        """The id that a token stands for. Case counts only if two ids differ in nothing else."""
        return self._known.get(token) or self._known.get(token.casefold())

    def chosen(self, ids: Iterable[str]) -> ChosenOptions:
        named = set(ids)
        return ChosenOptions(tuple(each for each in self.ids if each in named))

    def read(self, text: str, strict: bool = False) -> ChoiceReading | None:
        """The options that the beginning of `text` names, by id or by their text. None: it names none."""
        match = self.ids_at(text, skip_lead(text))
        if match is not None and self._rules_out(text, match):
            return None
        return (
            self.read_ids(text, strict) or self.read_run(text) or self.beginning_with_text(text) or self._unknown(text)
        )

    def read_ids(self, text: str, strict: bool = False) -> ChoiceReading | None:
        """The options that the beginning of `text` names by id. `strict`: the id must be set apart from a sentence that
        goes on ("B is liable to …")."""
        at = skip_lead(text)
        if _ADDS_CHOICE.match(text, at):
            return UnclearChoice("the answer adds a further choice to an earlier one")
        named = self.ids_at(text, at)
        if named is None or not self._stands_alone(text, named, strict) or self._rules_out(text, named):
            return None
        return self._settle_ids(text, named)

    def _rules_out(self, text: str, named: IdMatch) -> bool:
        """ "B is wrong" rules B out; "B: wrong, because …" does not where that is the text of B."""
        if _NEGATED.match(text, named.end) is None:
            return False
        rest = words(text[named.end :])
        own = (words(choice.text) for choice in self.choices if choice.id in named.ids)
        return not any(each and rest.startswith(each) for each in own)

    def ids_at(self, text: str, at: int) -> IdMatch | None:
        """The ids that follow one another from this place on."""
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
        return IdMatch(tuple(ids), at, end, alternatives, own_case, closed) if ids else None

    def _stands_alone(self, text: str, named: IdMatch, strict: bool) -> bool:
        if _PART_OF_A_WORD.match(text, named.end):
            return False
        last = named.ids[-1]
        doubtful = strict or not named.own_case or last.isdecimal() or last.casefold() in WORDLIKE
        return named.closed or not doubtful or _sets_apart(text, named.end)

    def _settle_ids(self, text: str, named: IdMatch) -> ChoiceReading:
        rest = text[named.end :].partition("\n")[0]
        if named.alternatives:
            return UnclearChoice(f"the answer is {' or '.join(named.ids)}")
        if len(named.ids) == 1:
            # "D. A" is D where "A" is the text of D.
            if (quoted := _text_key(rest)) and named.ids[0] in self.by_text.get(quoted, ()):
                return self.chosen(named.ids)
            if other := self._text_of_another(named.ids[0], text[named.start :], rest):
                return UnclearChoice(f"the answer names {named.ids[0]}, but has the text of {other}", CONTRADICTORY)
        if _HESITATES.match(rest) or self.id_of(rest.strip(" .-–—>→⇒")) not in (None, *named.ids):
            return UnclearChoice(f"the answer is {' and '.join(named.ids)}, or something else")
        others = [other["id"] for other in self.mentions(rest) if self.id_of(other["id"]) not in named.ids]
        if others and _PERCENT.search(rest):
            return UnclearChoice("the answer spreads percentages over several choices")
        if others and _DOUBTS.match(rest):
            return UnclearChoice(f"the answer is {' and '.join(named.ids)}, or {others[0]}")
        return self.chosen(named.ids) if len(named.ids) == 1 else self._settle_several(text, named, rest)

    def _settle_several(self, text: str, named: IdMatch, rest: str) -> ChoiceReading:
        """Several ids. "A and B", or "both A and B", may also be the text of D."""
        lines = (text[at:].partition("\n")[0] for at in (0, named.start))
        by_text = next((reading for line in lines if (reading := self.named_by_text(line)) is not None), None)
        if by_text is None and _OF_THE_LAST.match(rest):
            return UnclearChoice(f"the answer says something of {named.ids[-1]} alone after it names {named.ids[0]}")
        return by_text or self.chosen(named.ids)

    def labels(self, text: str) -> list[str]:
        """The ids that lines begin with, as in a list of options."""
        labels: list[str] = []
        for line in text.splitlines():
            start = _LABEL.match(line)
            match = self.id_pattern.match(line, start.end() if start else 0)
            known = self.id_of(match["id"]) if match else None
            if match and known and (_AFTER_LABEL.match(line, match.end("id")) or not line[match.end() :].strip()):
                labels.append(known)
        return labels

    def _text_of_another(self, named: str, text: str, rest: str) -> str:
        """The id of another option whose text is there instead of the text of the option that was named; "" if none."""
        for quoted in (_text_key(text.partition("\n")[0]), _text_key(rest)):
            ids = self.by_text.get(quoted, []) if quoted else []
            if ids and named not in ids:
                return ids[0]
        return ""

    def mentions(self, text: str) -> list[re.Match[str]]:
        """The ids in a text that are written as in the question and are not words of a sentence."""
        matches = self.id_pattern.finditer(text)
        return [match for match in matches if match["id"] in self.ids and not self._is_word(text, match)]

    def named_anywhere(self, text: str) -> list[str]:
        """The ids that a text names anywhere, each once. Beside another id, "A" is no word: "A or B"."""
        named = dict.fromkeys(match["id"] for match in self.mentions(text))
        for match in self.id_pattern.finditer(text):
            separator = self._separator.match(text, match.end())
            following = self.id_pattern.match(text, separator.end()) if separator else None
            if following and {match["id"], following["id"]} <= set(self.ids):
                named |= dict.fromkeys((match["id"], following["id"]))
        return [each for each in self.ids if each in named]

    def _is_word(self, text: str, match: re.Match[str]) -> bool:
        """Whether a match is a word of the sentence: "A contract", "I think", "a"."""
        token = match["id"]
        if token in self.ids and token.casefold() not in WORDLIKE:
            return False
        return match.end() == match.end("id") and not _sets_apart(text, match.end())

    def read_run(self, text: str) -> ChosenOptions | None:
        """ "AC", if every id is one letter. Only in alphabetical order, because BAD is a word."""
        letters = text.partition("\n")[0].strip(" .*_`\"'()[]{}$\\")
        if not (letters.isalpha() and 1 < len(letters) <= len(self.ids)) or list(letters) != sorted(set(letters)):
            return None
        return self.chosen(letters) if all(letter in self.ids for letter in letters) else None

    def named_by_text(self, text: str) -> ChoiceReading | None:
        """The option whose text this is."""
        plain = _text_key(text)
        ids = self.by_text.get(plain) if plain else None
        if ids is None:
            return None
        if len(ids) > 1:
            return UnclearChoice(f"the answer is the text of {' and '.join(ids)}, which are the same")
        return ChosenOptions(tuple(ids))

    def beginning_with_text(self, text: str) -> ChoiceReading | None:
        """The option whose text is all of `text`, or as many clauses from its beginning as possible."""
        ends = [match.start() for match in _CLAUSE_END.finditer(text, 0, min(len(text), self.reach))]
        for end in (len(text), *reversed(ends)):
            reading = self.named_by_text(text[:end])
            if reading is not None:
                return reading
        return None

    def _unknown(self, text: str) -> UnclearChoice | None:
        """A lone letter or number that looks like an id and is not one."""
        match = _LONE_TOKEN.match(text, skip_lead(text))
        if match is None or any(len(each) > 2 for each in self.ids):
            return None
        token = match["token"]
        if self.id_of(token) is not None or token.isdecimal() != self.ids[0].isdecimal():
            return None
        known = ", ".join(self.ids)
        return UnclearChoice(f"{NOTHING_READ}: {token!r} is not one of the choices ({known})", NO_CHOICE)

    def nothing_but_ids(self, text: str) -> bool:
        named = self.ids_at(text, skip_lead(text))
        return named is not None and not text[named.end :].strip(" .!*_`\"')]}\t\n")


def _text_key(text: str) -> str:
    """The same for all spellings of an option's text. A minus sign counts: -12 is not 12."""
    plain = words(text)
    return f"-{plain}" if plain and _NEGATIVE.match(text) else plain


def skip_lead(text: str) -> int:
    """The place after quotes, brackets, "clearly", "option" … where an id can stand."""
    lead = _LEAD.match(text)
    return lead.end() if lead else 0


def _sets_apart(text: str, at: int) -> bool:
    """Whether the id ends here: punctuation, the end, "because", or a script without spaces follows."""
    if _STOP.match(text, at) or _BECAUSE.match(text, at):
        return True
    return at < len(text) and "\u2e80" <= text[at] <= "\ud7ff"
