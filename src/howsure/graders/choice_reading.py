"""Which options an answer chooses. From the surest sign to the weakest: the whole answer is an id, a list of ids, an
option's text or JSON; it states its choice in words; it begins with an id; one id is in bold; it begins with an
option's text; it is a few words with one id among them. Where two signs of the same strength disagree, nobody knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from unicodedata import normalize

from howsure.graders.choice_json import is_object, json_reading
from howsure.graders.choice_options import Chosen, Options, Reading, Unclear
from howsure.graders.choice_statements import stated
from howsure.graders.choice_words import FILLER
from howsure.matching.text import words
from howsure.model.expectation import Choice

_ASKED_FOR = re.compile(r"Answer: (?P<id>[0-9A-Za-z])\s*")
# Some models print their thinking between other brackets, or in a channel of its own.
_OTHER_BRACKETS = re.compile(r"(?:\[|◁|<seed:)(?P<name>/?think)(?:\]|▷|>)|</seed:think>", re.IGNORECASE)
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection|scratchpad)\b[^>]*>.*?(?:</\1\s*>|\Z)"
    r"|<\|channel\|>(?:analysis|commentary).*?(?=<\|channel\|>final|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_END_OF_THINKING = re.compile(
    r"</(?:think|thinking|thought|reasoning)\s*>|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_STRUCK = re.compile(r"~~[^~\n]+~~")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?P<inside>[^*\n]+)\*\*|__(?P<under>[^_\n]+)__")
_SENTENCE = re.compile(
    r"\.\s+(?:If|The|This|That|These|Because|Since|As|It|He|She|They|We|In|Under|There|While|Although|Here|Yes|No|Not|When"
    r"|Where|For|To|By|On|Der|Die|Das|Dies|Weil|Da|Denn|Es|Er|Sie|Im|Nach|Le|La|Les|Il|Elle|Parce|Car|El|Porque|Poiché)\b"
)


def read_choice(answer: str, choices: Sequence[Choice]) -> Reading | None:
    """The choice, why it is unclear, or None when the answer is empty (but for its thinking)."""
    options = Options(choices)
    if answer in options.ids and options.named_by_text(answer) in (None, Chosen((answer,))):
        return Chosen((answer,))
    return _as_asked(answer, options) or searched(answer, options)


def _as_asked(answer: str, options: Options) -> Chosen | None:
    """What models that do as they are told reply, and nothing else: `Answer: B`. A search would find the same, for many
    times the price. Where any option could be meant by these words in another way, it has to."""
    match = _ASKED_FOR.fullmatch(answer)
    if match is None or not options.one_sign_each or (named := match["id"]) not in options.ids:
        return None
    texts = options.by_text
    return None if words(answer) in texts or words(named) in texts else Chosen((named,))


def searched(answer: str, options: Options) -> Reading | None:
    """The choice, from whichever sign of it is the surest."""
    text = spoken(answer)
    if not text:
        return None
    for sign in _SURE if is_object(text) else (*_SURE, *_WEAK):
        reading = sign(text, options)
        if reading is not None:
            return reading
    return Unclear("no choice can be read from the answer")


def spoken(answer: str) -> str:
    """The answer without its thinking, quotations, what is struck out and what nobody sees, in one Unicode spelling."""
    text = _UNSEEN.sub("", normalize("NFKC", answer))
    text = _THINKING.sub("", _OTHER_BRACKETS.sub(lambda tag: f"<{tag['name'] or '/think'}>", text))
    ends = [match.end() for match in _END_OF_THINKING.finditer(text)]
    text = text[ends[-1] if ends else 0 :].strip()
    unquoted = _QUOTED_LINE.sub("", text).strip() or text
    # An answer that is struck out as a whole is not empty, and chooses nothing.
    return _STRUCK.sub("", unquoted).strip() or unquoted[:2]


def _whole(text: str, options: Options) -> Reading | None:
    """The whole answer is an id, an option's text, an id with its text, or JSON."""
    by_text = options.named_by_text(text)
    known = options.id_of(text.strip("*_`\"'()[]{}.:, \n\t"))
    if known is not None:
        if by_text is None or by_text == Chosen((known,)):
            return Chosen((known,))
        return Unclear(f"{text!r} is the id of one choice and the text of another")
    ids = _id_with_own_text(text, options) or options.read_run(text) or _listed(text, options)
    return by_text or ids or json_reading(text, options)


def _id_with_own_text(text: str, options: Options) -> Reading | None:
    plain = words(text)
    both = [choice.id for choice in options.choices if plain == f"{words(choice.id)} {words(choice.text)}"]
    if len(both) != 1:
        return None
    # "A) -12" where A is 12 and B is -12.
    reading = options.read_ids(text)
    return reading if isinstance(reading, Unclear) else Chosen((both[0],))


def _leading(text: str, options: Options) -> Reading | None:
    """The answer begins with an id, and no other line does."""
    labelled = options.labels(text)
    if len(set(labelled)) > 1:
        return Unclear(f"several choices are set out ({', '.join(dict.fromkeys(labelled))}) and none is stated")
    reading = options.read_ids(text[: options.reach], strict=True)
    return reading if _is_label(text, reading, options) else None


def _listed(text: str, options: Options) -> Chosen | None:
    """Some of the options and nothing else, a line for each."""
    ids: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        reading = options.read_ids(line, strict=True)
        if not isinstance(reading, Chosen) or not (options.nothing_but_ids(line) or _id_with_own_text(line, options)):
            return None
        ids += reading.ids
    return options.chosen(ids) if len(set(ids)) < len(options.ids) else None


def _is_label(text: str, reading: Reading | None, options: Options) -> bool:
    """Not the initial of a name: "A. Smith sued B." names persons."""
    if reading is None or isinstance(reading, Unclear) or len(reading.ids) != 1:
        return reading is not None
    match = options.id_pattern.search(text)
    if match is None or not text.startswith(".", match.end()):
        return True
    if _SENTENCE.match(text, match.end()):
        return True
    own = words(next(choice.text for choice in options.choices if choice.id == reading.ids[0]))
    if words(text[match.end() :]).startswith(own):
        return True
    return all(options.id_of(other["id"]) in reading.ids for other in options.mentions(text[match.end() :]))


def _bold(text: str, options: Options) -> Reading | None:
    """Exactly one choice is in bold."""
    inside = [match["inside"] or match["under"] for match in _BOLD.finditer(text)]
    readings = {reading for each in inside if (reading := options.read(each, strict=True)) is not None}
    if len(readings) > 1:
        return Unclear("several choices are in bold and none is stated")
    return readings.pop() if readings else None


def _leading_text(text: str, options: Options) -> Reading | None:
    """The answer begins with the text of an option (or its last line is one), and no other option's text is in it."""
    lines = {reading for line in text.splitlines() if (reading := options.named_by_text(line)) is not None}
    if len(lines) > 1:
        return Unclear("several lines are the text of a choice and none is stated")
    reading = options.beginning_with_text(text) or options.named_by_text(text.splitlines()[-1])
    if not isinstance(reading, Chosen):
        return reading
    own = " ".join(words(choice.text) for choice in options.choices if choice.id in reading.ids)
    plain = f" {words(text)} "
    others = [ids[0] for each, ids in options.by_text.items() if each not in own and f" {each} " in plain]
    return Unclear(f"the answer has the text of {', '.join((*reading.ids, *others))}") if others else reading


def _few_words(text: str, options: Options) -> Reading | None:
    """ "It's B.", "It's larceny." """
    tokens = text.strip(" .!").split()
    named = [token.strip("*_`\"'()[].,:!") for token in tokens]
    ids = [token for token in named if token in options.ids]
    others = [token.casefold() for token in named if token not in options.ids]
    if len(ids) == 1 and named[-1] == ids[0] and all(token in FILLER for token in others):
        return Chosen((ids[0],))
    fillers = next((at for at, token in enumerate(named) if token.casefold() not in FILLER), len(named))
    return options.named_by_text(" ".join(tokens[fillers:]))


_SURE: tuple[Callable[[str, Options], Reading | None], ...] = (_whole, stated)
_WEAK: tuple[Callable[[str, Options], Reading | None], ...] = (_leading, _bold, _leading_text, _few_words)
"""Not asked of a JSON object, whose first key would begin the answer."""
