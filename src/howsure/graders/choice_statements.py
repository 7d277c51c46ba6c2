"""Where an answer states its choice in so many words: "Answer: B", "the answer is (c)", "C is correct", a boxed letter,
an answer tag, a JSON object. The last statement counts, because models think aloud and quote the question."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from howsure.graders.choice_json import json_objects
from howsure.graders.choice_options import Options, Reading, Unclear
from howsure.graders.choice_words import (
    CHOOSING,
    CONDITION,
    CORRECTION,
    FINAL,
    LINK,
    MIDDLE,
    OPTION,
    REASON,
    RIGHT,
    WORD,
    WRONG_BEFORE,
)
from howsure.matching.text import words

_EMPHASIS = r"[*_`\"'”]*"
_STATED = re.compile(
    rf"(?P<wrong>{WRONG_BEFORE}\s+)?(?P<final>{FINAL}\s*)?{WORD}"
    rf"{_EMPHASIS}{MIDDLE}{_EMPHASIS}(?P<link>{LINK})?{_EMPHASIS}\s*",
    re.IGNORECASE,
)
_CHOOSING = re.compile(rf"{CHOOSING}\s*", re.IGNORECASE)
_NEGATED_BEFORE = re.compile(r"(?:not|never|n't|nicht|pas|no|non|não|niet)\s*$", re.IGNORECASE)
_MARKED = re.compile(r"\\(?:boxed|fbox)\s*\{|<(?:final|(?:final[_-]?)?answer)>", re.IGNORECASE)
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mbox)\s*\{")
_REPORTED_BEFORE = re.compile(
    r"(?<!\w)(?:you|users?|students?|key|(?:text)?book|prompt|question|they|he|she|some|others?|people|someone)\W+(?:\w+\s+){0,2}?"
    r"(?:said|says?|claim(?:s|ed)?|thinks?|thought|suggest(?:s|ed)?|argue[sd]?|wrote|believe[sd]?)\s+(?:that\s+)?"
    r"(?:(?:the|my|your|correct|right)\s+)*$",
    re.IGNORECASE,
)
_RIGHT_AFTER = re.compile(
    r"(?<=\S)\s+(?:is|are|must be|ist|sind|est|sont|es|son|è|sono|é|são|jest)\s+"
    r"(?:the |die |la |le |il |a |o |de |het |dus |daher )*"
    r"(?:(?:(?P<also>also|too|auch|aussi|également|también|anche)|only|most|single|clearly|therefore|thus|best|both|all|beide|alle|einzige|seule|única)\s+)*"
    rf"(?:{RIGHT}(?:\s+(?:ones?|{OPTION}))?|{OPTION})(?!\w)(?=[*_`\"')\]]*\s*(?:$|[.,;:!(\n–—]|(?:{REASON})(?!\w)))"
    r"|(?<=\S)\s*是?(?:正确|正解)的?(?:答案|选项)?(?=\s*(?:$|[.,;!。\n]|因为))",
    re.IGNORECASE,
)
# "If he lied, the answer would be A" states nothing.
_CONDITION_BEFORE = re.compile(rf"(?<!\w)(?:{CONDITION})(?!\w)[^.!?\n]*$", re.IGNORECASE)
_CONDITION_AFTER = re.compile(rf"[*_`\"'(\[]*\w+[*_`\"')\]]*\s+(?:only |nur )?(?:{CONDITION})(?!\w)", re.IGNORECASE)
_NEARBY = 120
_MAY_PRECEDE = re.compile(
    r"(?:^|[.!?:;,\n*(>-]|(?:^|[.!?:])\s*(?:both|beide)|(?:correct|right|true|richtig|juste),?\s+(?:and|und|et)"
    r"|(?<!\w)(?:options?|choices?|answers?|letters?|alternatives?|so|but|thus|therefore|hence|that|believe"
    r"|antworten|optionen|réponses|opciones|respuestas|opzioni|risposte|opções|respostas|选项|因此|所以|故"
    r"|think|say|conclude|antwort|variante|dass|daher|somit|réponse|donc|que|opción|respuesta|opzione|risposta|opção"
    r"|resposta))\s*$",
    re.IGNORECASE,
)
_CORRECTION = re.compile(CORRECTION, re.IGNORECASE)
_CORRECTED = re.compile(
    rf"{CORRECTION}[^.\n]{{0,40}}?(?:it|that|this|answer)?(?:'s| is| must be| should be)\s+", re.IGNORECASE
)
_NOTHING_BETWEEN = re.compile(r"[\s.,;:!*_`)\]}\"'|-]*(?:and|or|und|oder|et|ou|y|o)?[\s*_`(\[]*", re.IGNORECASE)
_LONGEST_LIST = 120
_FURTHER = Unclear("the answer adds a further choice to an earlier one")


class Statement(Struct, frozen=True):
    """One statement: where it stands, what it names, and whether it is called final."""

    start: int
    end: int
    reading: Reading
    final: bool = False


def stated(text: str, options: Options) -> Reading | None:
    """The last statement, or the last final one where any is called final."""
    found = sorted(_statements(text, options), key=lambda statement: statement.start)
    standing = [statement for statement in found if statement.final] or found
    if not standing:
        return None
    last = standing[-1]
    if len(standing) > 1 and _contradicted(standing[-2], last, text):
        return Unclear("the answer ends in two different statements, one right after the other")
    return _unless_taken_back(last, text, options)


def _contradicted(before: Statement, last: Statement, text: str) -> bool:
    if before.reading == last.reading or last.start < before.end:
        return False
    return _NOTHING_BETWEEN.fullmatch(text, before.end, last.start) is not None


def _unless_taken_back(last: Statement, text: str, options: Options) -> Reading:
    taken_back = _CORRECTION.search(text, last.start)
    if taken_back and not isinstance(last.reading, Unclear):
        later = {options.id_of(match["id"]) for match in options.mentions(text[taken_back.end() :])}
        if later - set(last.reading.ids):
            return Unclear("the answer takes back what it stated and does not state it anew")
    return last.reading


def _statements(text: str, options: Options) -> Iterator[Statement]:
    yield from _worded(text, options)
    yield from _marked(text, options)
    yield from _called_right(text, options)
    yield from _objects(text, options)
    yield from _last_line(text, options)


def _worded(text: str, options: Options) -> Iterator[Statement]:
    for match in _STATED.finditer(text):
        if match["wrong"] or _is_conditional(text, match) or _is_reported(text, match):
            continue
        reading = _after(text, match, options)
        if reading is not None:
            yield Statement(match.start(), _made_at(text, match.end(), options), reading, match["final"] is not None)
    for pattern in (_CHOOSING, _CORRECTED):
        for match in pattern.finditer(text):
            if _NEGATED_BEFORE.search(text[max(match.start() - 20, 0) : match.start()]) or _is_conditional(text, match):
                continue
            reading = options.read(text[match.end() : match.end() + options.reach], strict=pattern is _CORRECTED)
            if reading is not None:
                yield Statement(match.end(), _made_at(text, match.end(), options), reading)


def _after(text: str, match: re.Match[str], options: Options) -> Reading | None:
    """What is named after "the answer is". Without "is" or a colon only an id counts; and where the options are set out
    on the lines below, the first of them is not the answer."""
    fragment = text[match.end() : match.end() + options.reach]
    if match["link"] is None:
        if _NEGATED_BEFORE.search(text[max(match.start() - _NEARBY, 0) : match.start()]):
            return None
        return options.read_ids(fragment, strict=True)
    if "\n" in match[0] and len(set(options.labels(text[match.end() :]))) > 1:
        return None
    return options.read(fragment)


def _is_conditional(text: str, match: re.Match[str]) -> bool:
    before = text[max(match.start() - _NEARBY, 0) : match.start()]
    return bool(_CONDITION_BEFORE.search(before) or _CONDITION_AFTER.match(text, match.end()))


def _is_reported(text: str, match: re.Match[str]) -> bool:
    """ "You said the answer is A" is somebody else's answer."""
    return _REPORTED_BEFORE.search(text[max(match.start() - _NEARBY, 0) : match.start()]) is not None


def _marked(text: str, options: Options) -> Iterator[Statement]:
    for match in _MARKED.finditer(text):
        end = text.find("</" if match[0].startswith("<") else "}", match.end())
        inside = text[match.end() :] if end < 0 else text[match.end() : end]
        reading = options.read(_LATEX_TEXT.sub("", inside))
        if reading is not None:
            yield Statement(match.start(), match.end() + len(inside), reading, final=True)


def _called_right(text: str, options: Options) -> Iterator[Statement]:
    for match in _RIGHT_AFTER.finditer(text):
        start = _list_before(text, match.start(), options)
        if start is None or _is_conditional(text, match):
            continue
        reading = _FURTHER if match["also"] else options.read(text[start : match.start()])
        if reading is not None:
            yield Statement(start, match.end(), reading)


def _list_before(text: str, end: int, options: Options) -> int | None:
    """Where the ids begin that stand right before `end`, if what is before them lets them be a choice."""
    begin = max(text.rfind("\n", 0, end) + 1, end - _LONGEST_LIST)
    line = text[begin:end]
    for match in options.id_pattern.finditer(line):
        found = options.ids_at(line, match.start())
        if found is not None and found.end == len(line):
            before = line[: match.start()].rstrip("*_`\"'([ ")
            return begin + match.start() if _MAY_PRECEDE.search(before) else None
    return None


def _objects(text: str, options: Options) -> Iterator[Statement]:
    for start, end, reading in json_objects(text, options):
        yield Statement(start, end, reading, final=True)


def _last_line(text: str, options: Options) -> Iterator[Statement]:
    """A line at the end with nothing but a choice on it, unless the line before is another."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    before = body[:start].rstrip()
    if not start or options.nothing_but_ids(before[before.rfind("\n") + 1 :]):
        return
    reading = options.read(body[start:], strict=True)
    if reading is not None and options.nothing_but_ids(body[start:]):
        yield Statement(start, len(body), reading)


def _made_at(text: str, at: int, options: Options) -> int:
    """Where a statement is made: at the end of its line when that holds nothing but the choice (its id, its text, or
    both), else right after the id, so that what is argued after it stands between it and the next."""
    end = _line_end(text, at)
    rest = text[at:end]
    plain = words(rest)
    texts = ((words(choice.id), words(choice.text)) for choice in options.choices)
    if options.nothing_but_ids(rest) or any(plain in (own, f"{id} {own}") for id, own in texts):
        return end
    named = options.mentions(rest)
    return at + named[0].end() if named else end


def _line_end(text: str, at: int) -> int:
    """The end of the line a statement is on; a statement may begin on one line and be made on the next."""
    while at < len(text) and text[at] in "\n ":
        at += 1
    end = text.find("\n", at)
    return len(text) if end < 0 else end
