"""Verdicts that judges write as ordinary sentences: "I would give it a score of 3", "resulting in a score of 2", "this
is a 4 out of 5", "2 stars", "Therefore, Output (a) is better". A sentence counts only if it says one thing about the
whole answer: what is hedged, denied, conditional, quoted from somebody else or has a second number in it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”)\]]*\s+|\n+")
# A sentence with one of these is about another case than this one, or what somebody else says.
ELSEWHERE = re.compile(
    r"\b(?:if|unless|were|could|might|may|maybe|perhaps|possibly|tempted|consider(?:ed|ing)?|instead|between|"
    r"would\s+have|should\s+have|had|previous(?:ly)?|earlier|initial(?:ly)?|first|other\s+(?:judges?|raters?)|"
    r"says|said|claims?|claimed|wrote|writes|asks?|asked|instructs?|until|almost|nearly|at\s+(?:most|least|best|worst)|"
    r"up\s+to|for\s+(?:example|instance))\b|\?",
    re.IGNORECASE,
)
# These deny a verdict in their own clause.
DENIED = re.compile(r"\b(?:not|never|no|neither|nor|hardly|rather\s+than|cannot)\b|n['’]t\b", re.IGNORECASE)
CLAUSE = re.compile(r"[,;:]|\b(?:so|and|but|because|which)\b", re.IGNORECASE)
QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”")
NUMBER = r"(?P<number>(?<![\w.,-])[0-9]+(?:\.[0-9]+)?)(?:\s*(?:/|out\s+of)\s*(?P<out_of>[0-9]+(?:\.[0-9]+)?))?"
WHOLE = (
    r"(?:it|this|that|(?:the|this|that)\s+(?:\w+(?:['’]s)?\s+)?(?:answer|response|reply|output|summary|text|conversation|"
    r"dialogue|turn|message|article|submission|agent|assistant|model|one))"
)
# A number that goes on (`4-5`, `4 %`, `4 or 5`, `4 examples`) is another number, or a count of something.
ENDS = (
    rf"(?!\s*(?:[-–—/%½⅓⅔¼¾]|to\b(?!\s+{WHOLE}\b)|or\b|and\b)|[.,]?[0-9]|[A-Za-z])"
    r"(?=\s*(?:stars?\b|points?\b|$|[.,;:!)\"'”]|for\b|because\b|on\s+(?:a|the)\b|due\b|since\b|as\b|in\s+terms\b|to\b|"
    r"(?:is|seems|would\s+be)\s+(?:given|assigned|appropriate|warranted|justified|fair)\b))"
)
SCORE = r"(?:(?:a|an|the)\s+)?(?:(?:final|overall|total)\s+)?(?:score|rating|grade)\s+of\s+"
AMOUNT = rf"(?:{SCORE}|(?:a|an)\s+(?=[0-9.]+\s*(?:/|out\s+of))|(?=[0-9.]+\s+stars?\b))"
STATED = tuple(
    re.compile(form + NUMBER + ENDS, re.IGNORECASE)
    for form in (
        # I would give this answer (a score of) 3
        rf"\bI(?:['’](?:d|ll)|\s+(?:would|will|shall|must))?\s+(?:\w+ly\s+|therefore\s+|thus\s+)?(?:give|rate|score|grade|assign|award)\s+"
        rf"(?:{WHOLE}\s+)?(?:as\s+)?(?:(?:a|an)\s+|{SCORE}|at\s+)?",
        # the answer (is vague and) deserves a score of 3: other things may have scores too
        rf"(?<!like )(?<!such as )\b{WHOLE}\s+(?:(?:is|has|was)\s+[^.,;:\n]{{1,80}}?\s+and\s+)?"
        r"(?:(?:would|should|will|clearly|therefore|thus|only|still|also)\s+)?"
        rf"(?:deserves?|earns?|receives?|merits?|warrants?|gets?)\s+{AMOUNT}",
        # resulting in a score of 2
        rf"\b(?:(?:deserv|earn|receiv|merit|warrant)ing|result(?:s|ing)?\s+in|lead(?:s|ing)?\s+to|hence|thus|therefore),?\s+{AMOUNT}",
        # a score of 2 would be appropriate
        rf"(?:^|[,:]\s*|\bI\s+(?:think|believe|feel)\s+(?:that\s+)?)\W*{SCORE}(?=[0-9.]+\s+(?:is|seems|would\s+be)\s+(?:appropriate|"
        rf"warranted|justified|fair)(?:\W*$|\s+(?:here|because|since|for\s+{WHOLE})\b))",
        # given these errors, the rating is 2; the appropriate score is 2
        r"(?:^|,\s*)(?:given\b[^.\n]{1,100},\s+the\s+|(?:so|thus|therefore|hence),?\s+the\s+|the\s+(?:most\s+)?(?:appropriate|resulting)\s+)"
        rf"(?:score|rating|grade)\s+(?:for\s+{WHOLE}\s+)?(?:is|would\s+be)\s+(?:a\s+|an\s+)?",
        # this is rated (as a) 3
        rf"\b{WHOLE}\s+(?:is|(?:would|can|should)\s+be|was)\s+(?:rated|scored|graded|given)\s+(?:as\s+)?(?:(?:a|an)\s+|{SCORE}|at\s+)?",
        # my score is 3; the final rating would be 3
        r"\b(?:my|(?:the\s+)?(?:final|overall))\s+(?:\w+\s+)?(?:score|rating|grade)\s+(?:is|would\s+be|for\s+"
        rf"{WHOLE}\s+is)\s+(?:a\s+|an\s+)?",
        # this is a 4 out of 5; I'd say it's a 4
        rf"(?:\b{WHOLE}\s+is|\bit['’]s|\bthat['’]s)\s+(?:a|an)\s+(?=[0-9.]+\s*(?:/|out\s+of)|[0-9.]+\s+stars?\b)",
        rf"\bI(?:['’]d|\s+would)\s+(?:say|call)\s+(?:that\s+)?(?:{WHOLE}(?:\s+is|['’]s)?)\s+(?:a|an)\s+",
    )
)
STARS = re.compile(rf"\W*{NUMBER}\s*stars?\W*", re.IGNORECASE)
SCALE = re.compile(
    r"\b(?:on|of|from|using)\s+(?:a|the)\s+(?:scale\s+)?(?:of\s+|from\s+)?\(?[0-9]+\s*(?:-|–|to)\s*[0-9]+\)?"
    r"(?:[-\s]+(?:point\s+)?scale)?|\([0-9]+\s*(?:-|–|to)\s*[0-9]+\)|\b[0-9]+-point\s+scale",
    re.IGNORECASE,
)
LONE = re.compile(rf"\W*{NUMBER}\W*")


def split_sentences(prose: str) -> list[str]:
    return [each.strip() for each in SENTENCE_END.split(prose) if each.strip()]


def stated_numbers(prose: str) -> Iterator[re.Match[str]]:
    """The numbers that sentences state as the judge's verdict on the whole, as matches with `number` and `out_of`."""
    sentences = split_sentences(QUOTED.sub(" ", prose))
    for place, sentence in enumerate(sentences):
        plain = SCALE.sub(" ", sentence)
        # `… hard to follow. 2.`: a number that closes the reply, unless it answers a question or ends a list.
        closes = 0 < place == len(sentences) - 1 and not re.search(r"[0-9?]", sentences[place - 1])
        whole = STARS.fullmatch(plain) or (LONE.fullmatch(plain) if closes else None)
        if whole:
            yield whole
        elif not ELSEWHERE.search(plain):
            found = [match for form in STATED for match in form.finditer(plain)]
            # A second number in the sentence may be another verdict, or what the first one is about.
            spans = {match.span(name) for match in found for name in ("number", "out_of")}
            digits = {each.span() for each in re.finditer(r"[0-9]+(?:\.[0-9]+)?", plain)}
            if digits <= spans:
                yield from (match for match in found if not DENIED.search(_clause_before(plain, match.start())))


def _clause_before(sentence: str, end: int) -> str:
    return CLAUSE.split(sentence[:end])[-1]


ANSWER = r"(?:(?:output|answer|response|option|assistant|model|summary|candidate|reply)\s*)"
PICKED = re.compile(
    rf"(?:(?:therefore|thus|so|hence|overall|in\s+(?:conclusion|summary|short)|to\s+conclude|finally|consequently|as\s+a\s+"
    rf"result|ultimately)\b[,:]?\s*)*(?:I\s+(?:think|believe|conclude|find|would\s+say)\s+(?:that\s+)?)?(?:the\s+)?"
    rf"(?:{ANSWER}\(?[\"'“]?(?P<label>[ab12])[\"'”]?\)?|(?P<place>first|second)\s+(?:{ANSWER}|one\s*))\s*"
    rf"is\s+(?:clearly\s+|overall\s+|slightly\s+|much\s+)?(?:the\s+)?(?:better|preferred|preferable|best|superior|winner)"
    rf"(?:\s+(?:{ANSWER}|one|choice))?(?:\s+overall)?(?:\s+than\s+(?:the\s+)?(?:{ANSWER}\(?[ab12]\)?|(?:other|first|second)(?:\s+(?:{ANSWER}|one))?))?\W*",
    re.IGNORECASE,
)
TIED = re.compile(
    r"(?:(?:therefore|thus|so|hence|overall|in\s+conclusion)\b[,:]?\s*)*(?:it\s+is\s+a\s+tie|it['’]s\s+a\s+tie|(?:the\s+)?(?:two|both)\s+"
    rf"(?:of\s+them\s+)?(?:{ANSWER}|\w+s\s+)?are\s+equally\s+good)\W*",
    re.IGNORECASE,
)


def stated_picks(prose: str) -> Iterator[str]:
    """Which of two answers each sentence calls better: `first`, `second`, `a`, `b`, `1`, `2` or `tie`."""
    for sentence in split_sentences(prose):
        if found := PICKED.fullmatch(sentence):
            yield (found["label"] or found["place"]).lower()
        elif TIED.fullmatch(sentence):
            yield "tie"
