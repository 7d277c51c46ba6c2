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
    r"says|said|claims?|claimed|wrote|writes|asks?|asked|tells?|told|instructs?|until|almost|nearly|at\s+(?:most|least|"
    r"best|worst)|up\s+to|for\s+(?:example|instance)|(?:according\s+to|by)\s+(?:the|a|an)\s+(?:users?|customers?|reviews?|"
    r"reviewers?|guests?|agents?))\b|\?|^with(?:out)?\b[^,]{1,60},[^,]*\bwould\s+(?!give|rate|score|grade|assign|award)",
    re.IGNORECASE,
)
# These deny a verdict in their own clause.
DENIED = re.compile(r"\b(?:not|never|no|neither|nor|hardly|rather\s+than|cannot)\b|n['’]t\b", re.IGNORECASE)
CLAUSE = re.compile(r"[,;:]|\b(?:so|and|but|because|which)\b", re.IGNORECASE)
QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”")
NUMBER = (
    r"(?P<number>(?<![\w.,-])[0-9]+(?:\.[0-9]+)?)"
    r"(?:\s*(?:stars?\s+)?(?:/|out\s+of)\s*(?P<out_of>[0-9]+(?:\.[0-9]+)?))?"
)
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
AMOUNT = (
    rf"(?:{SCORE}|(?:a|an)\s+(?=[0-9.]+\s*(?:/|out\s+of))|(?=[0-9.]+\s+(?:out\s+of\s+[0-9]+\s+)?(?:stars?|points?)\b))"
)
SURE = r"(?:solid|strong|clear|firm)\s+"
LEAD = (
    r"(?:therefore|thus|so|hence|overall|in\s+(?:conclusion|summary|short)|to\s+conclude|finally|consequently|"
    r"ultimately|as\s+a\s+result)"
)
STATED = tuple(
    re.compile(form + NUMBER + ENDS, re.IGNORECASE)
    for form in (
        # I would give this answer (a score of) 3
        r"\bI(?:(?:['’](?:d|ll)|\s+(?:would|will|shall|must))?\s+(?:\w+ly\s+|therefore\s+|thus\s+)?(?:give|rate|score|grade|assign|award|"
        r"(?:settle|land)\s+on|go\s+with)|(?:['’]m|\s+am)\s+(?:\w+ly\s+|therefore\s+)?(?:giving|rating|scoring|grading|assigning|awarding))[\s:]+"
        rf"(?:{WHOLE}[\s:]+)?(?:as\s+)?(?:(?:a|an)\s+|{SCORE}|at\s+)?",
        # the answer (is vague and) deserves a score of 3: other things may have scores too
        rf"(?<!like )(?<!such as )\b{WHOLE}\s+(?:(?:is|has|was)\s+[^.,;:\n]{{1,80}}?\s+and\s+)?"
        r"(?:(?:would|should|will|clearly|therefore|thus|only|still|also)\s+)?"
        rf"(?:(?:deserves?|earns?|receives?|merits?|warrants?|gets?)\s+{AMOUNT}|(?:deserves?|earns?|merits?|warrants?|gets?|is\s+worth)\s+a\s+)",
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
        rf"(?:\b{WHOLE}\s+is|\bit['’]s|\bthat['’]s)\s+(?:a|an)\s+(?:{SURE}|(?=[0-9.]+\s*(?:/|out\s+of)|[0-9.]+\s+stars?\b))",
        rf"\b{WHOLE}\s+scores\s+(?:(?:a|an)\s+)?(?=[0-9.]+\s*(?:/|out\s+of))",
        rf"\bI(?:['’]d|\s+would)\s+(?:say|call)\s+(?:that\s+)?(?:{WHOLE}(?:\s+is|['’]s)?)\s+(?:a|an)\s+",
    )
)
# `4 stars`, `Overall, 4/5.`, `A solid 4.`, `Rated 4/5.`: the whole of a sentence.
STARS = re.compile(
    rf"\W*(?:{LEAD}\b[,:]?\s*)*(?:rated\s+|rating\s*:\s*)?(?:(?:a|an)\s+)?(?:(?P<sure>{SURE}))?{NUMBER}(?P<stars>\s*stars?)?\W*",
    re.IGNORECASE,
)
SCALE = re.compile(
    r"\b(?:on|of|from|using)\s+(?:a|the)\s+(?:scale\s+)?(?:of\s+|from\s+)?\(?[0-9]+\s*(?:-|–|to)\s*[0-9]+\)?"
    r"(?:[-\s]+(?:point\s+)?scale)?|\([0-9]+\s*(?:-|–|to)\s*[0-9]+\)|\b[0-9]+-point\s+scale",
    re.IGNORECASE,
)
LONE = re.compile(rf"\W*{NUMBER}\W*")


def split_sentences(prose: str) -> list[str]:
    return [each.strip() for each in SENTENCE_END.split(prose) if each.strip() and len(each) < 1_000]


def stated_numbers(prose: str) -> Iterator[re.Match[str]]:
    """The numbers that sentences state as the judge's verdict on the whole, as matches with `number` and `out_of`."""
    sentences = split_sentences(QUOTED.sub(" ", prose))
    for place, sentence in enumerate(sentences):
        plain = SCALE.sub(" ", sentence)
        # `… hard to follow. 2.`: a number that closes the reply, unless it answers a question or ends a list.
        closes = 0 < place == len(sentences) - 1 and not re.search(r"[0-9?]", sentences[place - 1])
        short = STARS.fullmatch(plain)
        if short and "?" not in plain and (short["sure"] or short["stars"] or short["out_of"]):
            yield short
        elif closes and (lone := LONE.fullmatch(plain)):
            yield lone
        elif not ELSEWHERE.search(plain):
            found = [match for form in STATED for match in form.finditer(plain)]
            # A second number in the sentence may be another verdict, or what the first one is about.
            spans = {match.span(name) for match in found for name in ("number", "out_of")}
            digits = {each.span() for each in re.finditer(r"[0-9]+(?:\.[0-9]+)?", plain)}
            if digits <= spans:
                yield from (match for match in found if not DENIED.search(_clause_before(plain, match.start())))


def _clause_before(sentence: str, end: int) -> str:
    return CLAUSE.split(sentence[:end])[-1]


# `Maximum score: 5`, `the customer's star rating: 4`, `e.g. score: 4` are not the judge's own.
OTHERS_BEFORE = re.compile(
    r"(?:\b(?:max(?:imum|imal)?|min(?:imum|imal)?|possible|highest|lowest|perfect|ideal|expected|required|previous|"
    r"earlier|initial|average|mean|threshold|confidence|difficulty|star|users?|customers?|guests?|readers?|reviewers?|"
    r"hotel|product|movie|film|book|restaurant|phone)(?:['’]s?)?[ \t]+(?:\w+[ \t]+)?"
    r"|\b(?:example|instance|e\.g\.?)[,:]?[ \t]*[\"'“]?)$",
    re.IGNORECASE,
)
# `Score: 4?`, `Score: 4 (or 5 with sources)`, `Score: 4 if we ignore tone`.
DOUBT_AFTER = re.compile(r"[\"'”]?\s*(?:\?|[,(;]?\s*(?:or|if|unless|maybe|perhaps|possibly|probably)\b)", re.IGNORECASE)


def is_own(prose: str, found: re.Match[str]) -> bool:
    """Whether a labelled value is the judge's, and without a doubt."""
    return not OTHERS_BEFORE.search(prose, 0, found.start()) and not DOUBT_AFTER.match(prose, found.end())


RULED = re.compile(
    rf"(?:{LEAD}\b[,:]?\s*)*(?:I\s+(?:think|believe|conclude|find)\s+(?:that\s+)?)?(?:"
    r"(?:the|this)\s+(?:criterion|requirement|condition|rule|check)\s+(?:is|was|has\s+been)\s+(?:clearly\s+|fully\s+|therefore\s+)?"
    r"(?:not\s+|un)?(?:met|satisfied|fulfilled)"
    r"|(?:it|this|(?:the|this)\s+(?:answer|response|output|reply))\s+(?:clearly\s+)?(?:passes|fails)"
    r"(?:\s+(?:the|this)\s+(?:criterion|requirement|rule|check|test))?"
    r"|(?:(?:I['’]d|I\s+would)\s+say|my\s+(?:answer|verdict|ruling)\s+is)\s+(?:yes|no))[\s.!]*",
    re.IGNORECASE,
)
DENYING = re.compile(r"\b(?:not|un\w+|fails|no)\b", re.IGNORECASE)


def stated_rulings(prose: str) -> Iterator[bool]:
    """What sentences say of a yes or no: `The criterion is not met.` What follows a colon is somebody else's."""
    sentences = split_sentences(QUOTED.sub(" ", prose))
    for before, sentence in zip(["", *sentences], sentences, strict=False):
        if not before.endswith(":") and RULED.fullmatch(sentence):
            yield not DENYING.search(sentence)


ANSWER = r"(?:(?:output|answer|response|option|assistant|model|summary|candidate|reply)\s*)"
LABEL = r"\(?[\"'“]?(?P<label>[ab12])[\"'”]?\)?"
SIDE = rf"(?:the\s+)?(?:{ANSWER}{LABEL}(?:['’]s\s+{ANSWER})?|(?P<place>first|second)(?:\s+(?:{ANSWER}|one\b))?)"
OTHER = (
    rf"(?:the\s+)?(?:{ANSWER}\(?(?P<other>[ab12])\)?|(?:other|(?P<other_place>first|second))(?:\s+(?:{ANSWER}|one))?)"
)
# A reason may follow, unless it takes something back.
BECAUSE = (
    r"(?:,?\s+(?:because|since|as\s+it)\b"
    r"(?:(?!\b(?:but|however|although|though|while|whereas|except|unless|if)\b)[^?])*)?"
)
PICKED = (
    re.compile(
        rf"(?:{LEAD}\b[,:]?\s*)*(?:I\s+(?:think|believe|conclude|find|would\s+say)\s+(?:that\s+)?)?{SIDE}\s*"
        r"(?:is\s+(?:clearly\s+|overall\s+|slightly\s+|much\s+)?(?:the\s+)?(?:better|preferred|preferable|best|superior|winner)"
        rf"(?:\s+(?:{ANSWER}|one|choice))?(?:\s+overall)?(?:\s+than\s+{OTHER})?|wins){BECAUSE}[^\w?]*",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:{LEAD}\b[,:]?\s*)*(?:(?:I\s+(?:would\s+)?|I['’]d\s+)(?:prefer|choose|pick|select|go\s+with)\s+|(?:my\s+|the\s+)?(?:final\s+)?"
        rf"(?:choice|verdict|pick|preference|winner)\s*(?::|is)\s*)(?:{SIDE}|{LABEL.replace('label', 'letter')})"
        rf"(?:\s+over\s+{OTHER})?{BECAUSE}[^\w?]*",
        re.IGNORECASE,
    ),
)
TIED = re.compile(
    rf"(?:{LEAD}\b[,:]?\s*)*(?:it\s+is\s+a\s+tie|it['’]s\s+a\s+tie|(?:the\s+)?(?:two|both)\s+"
    rf"(?:of\s+them\s+)?(?:{ANSWER}|\w+s\s+)?are\s+equally\s+good)[^\w?]*",
    re.IGNORECASE,
)
BRACKETED = re.compile(r"\[\[\s*([AB12])\s*\]\]", re.IGNORECASE)


def stated_picks(prose: str) -> Iterator[str]:
    """Which of two answers each sentence calls better: `first`, `second`, `a`, `b`, `1`, `2` or `tie`."""
    for sentence in split_sentences(prose):
        for form in PICKED:
            if found := form.fullmatch(sentence):
                groups = found.groupdict()
                own = (groups.get("letter") or groups["label"] or groups["place"]).lower()
                if own != (groups["other"] or groups["other_place"] or "").lower():
                    yield own
        if TIED.fullmatch(sentence):
            yield "tie"
