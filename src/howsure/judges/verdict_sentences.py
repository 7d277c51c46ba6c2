"""Verdicts that judges write as ordinary sentences: "I would give it a score of 3", "resulting in a score of 2", "this
is a 4 out of 5", "2 stars", "Therefore, Output (a) is better". A sentence counts only if it says one thing about the
whole answer: what is hedged, denied, conditional, quoted from somebody else or has a second number in it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct


class StatedNumber(Struct, frozen=True):
    """A number, and the top of the scale where the judge named it (`4/5`)."""

    value: float
    out_of: float | None = None


SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”)\]]*\s+|\n+|(?<=[。！？])")
# A sentence with one of these is about another case than this one, or what somebody else says.
ELSEWHERE = re.compile(
    r"(?i)\b(?:if|unless|were|could|might|may|maybe|perhaps|possibly|tempted|consider(?:ed|ing)?\s+(?:a|an|giving|rating)|instead|between|"
    r"would\s+have|should\s+have|had|previous(?:ly)?|earlier|initial(?:ly)?|first|other\s+(?:judges?|raters?)|"
    r"says|said|claims?|claimed|wrote|writes|asks?|asked|tells?|told|instructs?|until|almost|nearly|at\s+(?:most|least|"
    r"best|worst)|up\s+to|for\s+(?:example|instance)|(?:according\s+to|by)\s+(?:the|a|an)\s+(?:users?|customers?|reviews?|"
    r"reviewers?|guests?|agents?))\b|\?|^with(?:out)?\b.*\bwould\s+(?!give|rate|score|grade|assign|award)"
)
# `While it could be shorter, I would give it a 4`, `It might confuse some, but I would give it a 4`.
CONCEDED = re.compile(r"(?i)^(?:while|(?:even\s+)?though|although)\b[^,]{1,300},\s*|^.{1,300}?\bbut\s+(?=I\b)")
HEDGE = r"par[ct]ial\w*|teilweise|partly|mostly|somewhat|in\s+part|kind\s+of|(?:argu|prob|poss)\w+bly|maybe|perhaps"
# These deny a verdict in their own clause.
DENIED = re.compile(r"(?i)\b(?:not|never|no|neither|nor|hardly|rather\s+than|cannot)\b|n['’]t\b")
CLAUSE = re.compile(r"(?i)[,;:]|\b(?:so|and|but|because|which)\b")
QUOTED = re.compile(
    r"\"[^\"\n]{0,400}?([.!?]?)\"|“[^“”\n]{0,400}?([.!?]?)”|(?<!\w)['‘][^'‘’\n]{0,400}?([.!?]?)['’](?!\w)"
)
NUMBER = (
    r"(?P<number>(?<![\w.,-])(?>-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)))"
    r"(?:\s*(?:stars?\s+)?(?:/|(?:out\s+)?of)\s*(?P<out_of>(?>[0-9]+(?:\.[0-9]+)?))|\s?(?P<percent>%))?+"
)
WHOLE = (
    r"(?:it|this|that|(?:the|this|that)\s+(?:\w+(?:['’]s)?\s+)?(?:answer|response|reply|output|summary|text|conversation|"
    r"dialogue|turn|message|article|submission|agent|assistant|model|one))"
)
# A number that goes on (`4-5`, `4 %`, `4 or 5`, `4 examples`) is another number, or a count of something.
ENDS = (
    rf"(?!\s*(?:[-–—/%½⅓⅔¼¾]|to\b(?!\s+{WHOLE}\b)|or\b|and\b)|[.,]?[0-9]|[A-Za-z])"
    r"(?=\s*(?:stars?\b|points?\b|$|[.,;:!)\"'”]|for\b|because\b|on\s+(?:a|the)\b|due\b|since\b|as\b|in\s+terms\b|to\b|"
    r"(?:based\s+on|according\s+to|given|overall)\b|"
    r"(?:is|seems|would\s+be)\s+(?:given|assigned|appropriate|warranted|justified|fair)\b))"
)
SCORE = r"(?:(?:an?|the)\s+)?(?:(?:final|overall|total)\s+)?(?:score|rating|grade)\s+of\s+"
AMOUNT = rf"(?:{SCORE}|an?\s+(?=[0-9.]+\s*(?:/|out\s+of))|(?=[0-9./]+\s+(?:out\s+of\s+[0-9]+\s+)?(?:stars?|points?)\b))"
SURE = r"(?:solid|strong|clear|firm)\s+"
LEAD = (
    r"(?:therefore|thus|so|hence|overall|in\s+(?:conclusion|summary|short)|to\s+conclude|finally|consequently|"
    r"ultimately|as\s+a\s+result|tl;?dr)"
)
STATED = tuple(
    re.compile(form + NUMBER + ENDS, re.IGNORECASE)
    for form in (
        # I would give this answer (a score of) 3
        r"\bI(?:(?:['’](?:d|ll)|\s+(?:would|will|shall|must|can\s+only))?\s+(?:\w+ly\s+|therefore\s+|thus\s+)?(?:give|rate|score|grade|assign|award|"
        r"(?:settle|land)\s+on|go\s+with)|\s+(?:gave|rated|scored|graded|assigned|awarded)|(?:['’]ve|\s+have)\s+(?:given|rated|scored|graded|"
        r"assigned|awarded)|(?:['’]m|\s+am)\s+(?:\w+ly\s+|therefore\s+)?(?:giving|rating|scoring|grading|assigning|awarding))[\s:]+"
        rf"(?:{WHOLE}[\s:]+)?(?:as\s+)?(?:an?\s+|{SCORE}|at\s+)?",
        # the answer (is vague and) deserves a score of 3, is rated (as a) 3: other things may have scores too
        rf"(?<!like\s)(?<!such\sas\s)\b{WHOLE}\s+(?:(?:is|has|was)\s+[^.,;:\n]{{1,80}}?\s+and\s+)?(?:(?:would|can|should|will|clearly|"
        rf"therefore|thus|only|still|also)\s+)?(?:(?:deserves?|earns?|receives?|merits?|warrants?|gets?)\s+{AMOUNT}"
        r"|(?:deserves?|earns?|merits?|warrants?|gets?|is\s+worth)\s+a\s+|scores\s+(?:an?\s+|(?=[0-9.]+\s*(?:/|out\s+of)))"
        rf"|(?:is|be|was)\s+(?:rated|scored|graded|given)\s+(?:as\s+)?(?:an?\s+|{SCORE}|at\s+)?)",
        # resulting in a score of 2
        rf"\b(?:(?:deserv|earn|receiv|merit|warrant)ing|result(?:s|ing)?\s+in|lead(?:s|ing)?\s+to|hence|thus|therefore),?\s+{AMOUNT}",
        # a score of 2 would be appropriate
        rf"(?:^|[,:]\s*|\bI\s+(?:think|believe|feel)\s+(?:that\s+)?)\W*{SCORE}(?=[0-9.]+\s+(?:is|seems|would\s+be)\s+(?:appropriate|"
        rf"warranted|justified|fair)(?:\W*$|\s+(?:here|because|since|for\s+{WHOLE})\b))",
        # given these errors, the rating is 2; the appropriate score is 2
        r"(?:^|,\s*)(?:(?:given|based\s+on)\b[^.\n]{1,100},\s+the\s+|(?:so|thus|therefore|hence),?\s+the\s+|the\s+(?:most\s+)?(?:appropriate|resulting)\s+)"
        rf"(?:score|rating|grade)\s+(?:for\s+{WHOLE}\s+)?(?:is|would\s+be)\s+(?:an?\s+)?",
        # my score is 3; the final rating would be 3
        r"\b(?:my|(?:the\s+)?(?:final|overall))\s+(?:\w+\s+)?(?:score|rating|grade)\s+(?:is|would\s+be|for\s+"
        rf"{WHOLE}\s+is)\s+(?:an?\s+)?",
        # this is a 4 out of 5; I'd say it's a 4
        rf"(?:\b{WHOLE}\s+is|\bit['’]s|\bthat['’]s)\s+an?\s+(?:{SURE}|(?=[0-9.]+\s*(?:/|out\s+of)|[0-9.]+\s+stars?\b))",
        rf"\bI(?:['’]d|\s+would)\s+(?:say|call)\s+(?:(?:that\s+)?{WHOLE}(?:\s+is|['’]s)?\s+an?\s+|(?:an?\s+)?)",
    )
)
# `4 stars`, `Overall, 4/5.`, `A solid 4.`, `Rated 4/5.`: the whole of a sentence.
STARS = re.compile(
    rf"(?i)\W*(?:{LEAD}\b[,:]?\s*)*(?:(?:rated|score|rating|grade)\s*:?\s*)?(?:an?\s+)?(?:(?P<sure>{SURE}))?{NUMBER}(?P<stars>\s*stars?)?\W*"
)
LONE = re.compile(rf"(?i)\W*(?:{LEAD}\b,?\s*)?{NUMBER}[^\w?]*")
# The whole of a reply: `4 - mostly coherent`, `4, because it is short`; `Coherence: 4`, `评分：4`.
ONLY = (
    re.compile(rf"(?i){NUMBER}\s*(?:[-–—:,;(]\s*|(?=because\b|since\b))(?=[A-Za-z])[^0-9\n]*"),
    re.compile(
        rf"(?i)\W*(?!(?:confidence|errors?|issues?|count|year|page|step|turn)\b)(?:(?:tl;dr|[^\W\d_]{{2,}})\s*[:：]|score|rating|grade)\s*{NUMBER}[^\w?+%-]*"
    ),
)


def split_sentences(prose: str) -> list[str]:
    return [each.strip() for each in SENTENCE_END.split(prose) if each.strip() and len(each) < 1_000]


def as_number(found: re.Match[str]) -> StatedNumber:
    """The number of a match of `NUMBER`. A percentage is one out of a hundred."""
    out_of = "100" if found["percent"] else found["out_of"]
    return StatedNumber(float(found["number"]), None if out_of is None else float(out_of))


def stated_numbers(prose: str) -> Iterator[StatedNumber]:
    """The numbers that sentences state as the judge's verdict on the whole."""
    yield from (as_number(only) for form in ONLY if (only := form.fullmatch(prose)) and not ELSEWHERE.search(prose))
    sentences = [CONCEDED.sub("", each) for each in split_sentences(QUOTED.sub(r"\1\2\3 ", prose))]
    for place, sentence in enumerate(sentences):
        # `… hard to follow. 2.`: a number that closes the reply, unless it answers a question or ends a list.
        before = sentences[place - 1]
        closes = 0 < place == len(sentences) - 1 and len(prose) > 20 and not re.search(r"[0-9?]", before)
        short = STARS.fullmatch(sentence)
        if short and "?" not in sentence and (short["sure"] or short["stars"] or short["out_of"]):
            yield as_number(short)
        elif closes and (lone := LONE.fullmatch(sentence)) and not lone["percent"]:
            yield as_number(lone)
        elif not ELSEWHERE.search(sentence):
            found = [match for form in STATED for match in form.finditer(sentence)]
            # A second number in the sentence may be another verdict, or what the first one is about.
            spans = {match.span(name) for match in found for name in ("number", "out_of")}
            digits = {each.span() for each in re.finditer(r"[0-9]+(?:\.[0-9]+)?", sentence)}
            if digits <= spans:
                clauses = [CLAUSE.split(sentence[max(0, match.start() - 300) : match.start()])[-1] for match in found]
                yield from (as_number(match) for match, at in zip(found, clauses, strict=True) if not DENIED.search(at))


# How judges set a verdict apart: `[[4]]`, `\\boxed{4}`, `Score: [4]`, `[x] Pass [ ] No`; tags, `[RESULT] 4`, headings.
MARK = re.compile(
    r"(?:\\[\[(]\s{0,9}|\$\$?)?\\{1,2}boxed\{(?:\\{1,2}text\{)?([^{}\n]{1,20})\}{1,2}(?:\s{0,9}\\[\])]|\$\$?)?"
    r"|\[\[ *([\w./<>=]{1,12}) *\]\]|(?:(?<=[a-zA-Z*]:)|(?<=:\*\*)|(?<=RESULT\]))( ?)\[([0-9.]{1,4}(?:/[0-9]+)?)\]"
    r"|\[ \] \w[^\[\n\"]{0,30}|\[[xX]\]"
)
TAGGED = re.compile(
    r"(?i)<(?:(?:final|overall)_)?(?:score|rating|grade|verdict|decision|choice|winner|preference)>([^<>]{1,60})</\w*>"
    r"|<(?:answer|result)>([^<>]{1,60})</\w*>\s*\Z|(?-i:[\[(]RESULT[\])]):?(?=\s)"
)
DECORATION = re.compile(r"[*#]+|```|(?<!\w)_+|_+(?!\w)")
HEADING = re.compile(r"(?im)^[ \t]*((?:final |overall )?(?:score|rating|grade|verdict))[ \t]*\n\s*(?=\S{1,12}[ \t]*$)")
SCALE = re.compile(
    r"(?i)\b(?:on|of|from|using)\s+(?:a|the)\s+(?:scale\s+)?(?:of\s+|from\s+)?\(?[01]\s*(?:-|–|to)\s*([1-9][0-9]*)\)?"
    r"(?:[-\s]+(?:point\s+)?scale)?|[(\[][01]\s*(?:-|–|to)\s*([1-9][0-9]*)[)\]]|\b([0-9]+)-point\s+scale"
    r"|\((?:out\s+of|max\.?)\s*([0-9]+)\)"
)
UNSCALED = re.compile(r"(?<![\w.,/-])(?<!of )(?>[0-9]*\.?[0-9]+)(?!\s*(?:/|of\b|out\b|%|[-–—]\s*[0-9])|[.,]?[0-9])")
TAKEN_BACK = re.compile(
    r"(?im)\b(?:on\s+second\s+thoughts?|scratch\s+that|I\s+take\s+(?:it|that)\s+back|I\s+stand\s+corrected)\b"
    r"|(?:^|[.!?;–—-]\s*|\b(?:but|no|oh|hmm),?\s+)wait\s*[,–—-]|(?:^|[.!?…]\s+|\bhmm,?\s+)actually,?\s+(?=(?:yes|no|[0-9./]+)\W*$)"
)


def unmark(text: str) -> str:
    """The text with marked values in place: `Rating: [[4]]` is `Rating: 4`, and no list."""
    return MARK.sub(lambda found: "".join(each for each in found.groups() if each), text)


def plain_parts(prose: str) -> list[str]:
    """Plain lines, in which a number on a scale of its own says so (`Score (1-10): 4` is `Score: 4/10`), cut where the
    judge changes its mind."""
    plain = TAGGED.sub(lambda found: f"\nverdict: {found[1] or found[2] or ''}\n", prose)
    plain = HEADING.sub(
        r"\1: ", GLYPHS.sub(_count_stars, DECORATION.sub("", plain).replace("\ufe0f", "")).replace("`", '"').strip()
    )
    first, *others = TAKEN_BACK.split("\n".join(map(_name_top, plain.splitlines())))
    return [first, *(part.lstrip(" ,.:;!–—-") for part in others)]


# `★★★★☆`, `★★★★☆ (4/5)`, `⭐⭐⭐⭐ 4/5`
GLYPHS = re.compile(
    r"(?P<full>[★⭐]{1,10}+)(?P<empty>[☆✩]{0,10}+)(?![½★⭐☆✩])(?:\s{0,3}[(\[]?(?P<stated>[0-9]+(?:\.[0-9]+)?)\s?(?:/|out\s+of)"
    r"\s?(?P<top>[0-9]+)[)\]]?)?"
)


def _count_stars(found: re.Match[str]) -> str:
    """The stars as a number; with another number beside them, both. Stars without an end say nothing of the scale."""
    full, every = len(found["full"]), len(found["full"]) + len(found["empty"])
    top = str(every) if found["empty"] else found["top"]
    if top is None:
        return found[0]
    stars = f"{full}/{top}"
    agree = found["stated"] is None or (float(found["stated"]) == full and found["top"] == top)
    return stars if agree else f"{stars}\n{found['stated']}/{found['top']}"


def _name_top(line: str) -> str:
    tops = {found[found.lastindex or 0] for found in SCALE.finditer(line)}
    return UNSCALED.sub(rf"\g<0>/{'/'.join(tops)}", SCALE.sub(" ", line)) if tops else line


LABELLED = re.compile(
    r"(?i)(?:(?<![\"A-Za-z0-9_-])|(?<=\")(?=\w+\"))(?P<label>overall(?:\s+(?:quality|assessment|evaluation|impression|performance))?|score|rating|grade|verdict"
    r"|bewertung|punktzahl|puntuación|calificación|punteggio|pontuação|nota|оценка|评分|得分|分数|評価|スコア)(?:\s+final)?"
    rf"[\"']?\s*+(?:\((?![^()]{{0,40}}\bby\b)[^()\n]{{0,40}}\)\s*+)?[:：=]\s*[\"'“(]?{NUMBER}"
    # A number that goes on (`4-5`, `4+`, `4,5`, `4 to 5`, `3 of 5 facts`, `1 = bad`) is not that number.
    r"(?!-|[.,;!]*[0-9]|[A-Za-z]|[ \t]*(?:[/\\%+=&~½⅓⅔¼¾至到或→>]|[-–—,]?[ \t]*[0-9]|->|or\b|of\b"
    r"|\([^()\n]{0,20}\bto\s+[0-9]|(?:to|and|plus|minus|bis|oder|ou|o|a|e|и|или|до)\s+[0-9]"
    r"|\([^()\n]{0,30}\)[ \t]*(?:to|[-–—])[ \t]*[0-9]"
    r"|(?:would|means?|requires?|needs?|is|are|was)\b|(?:for|before|at\s+first)\b[^.\n]{0,60}[0-9]))"
    r"(?(out_of)(?![ \t]+(?!(?:stars?|points?|because|since|as|for|due|based|given|overall|on|in|with|and|but)\b)"
    r"(?-i:[a-z])))"
)
# `Maximum score: 5`, `the customer's star rating: 4`, `e.g. score: 4` are not the judge's own.
OTHERS_BEFORE = re.compile(
    r"(?i)(?:\b(?:max(?:imum|imal)?|min(?:imum|imal)?|possible|highest|lowest|perfect|ideal|expected|required|previous|"
    r"earlier|initial|average|mean|threshold|confidence|difficulty|star|users?|customers?|guests?|readers?|reviewers?|"
    r"hotel|product|movie|film|book|restaurant|phone)(?:['’]s?)?[ \t]+(?:\w+[ \t]+)?"
    r"|\b(?:example|instance|e\.g\.?)[^\n]{0,20}|\b(?:says|said|wrote|writes|states)[ \t]*:[ \t]*"
    r"|\b(?:a|an|its|their)[ \t]+|['‘“])\Z"
)
# `Score: 4?`, `Score: 4 (or 5 with sources)`, `Score: 4 if we ignore tone`.
DOUBT_AFTER = re.compile(rf"(?i)[\"'”]?\s*+(?:\?|[,(;]?\s*+(?:or|if|unless|{HEDGE})\b)")
# `Overall score: 4`, `Final rating: 4`, `Overall: 4`.
OVERALL = re.compile(r"(?i)\b(?:overall|final|total)\b[^.,:;|\n]*\Z")


def labelled_numbers(prose: str) -> Iterator[StatedNumber]:
    """The numbers after a label; where one of them is overall or final, only those."""
    found = [match for match in LABELLED.finditer(prose) if is_own(prose, match)]
    overall = [match for match in found if OVERALL.search(prose[max(0, match.start() - 40) : match.end("label")])]
    yield from map(as_number, overall or found)


def is_own(prose: str, found: re.Match[str]) -> bool:
    """Whether a labelled value is the judge's, and without a doubt."""
    before = QUOTED.sub(" ", prose[max(0, found.start() - 200) : found.start()]).replace(":\n", ": ")
    line = before.rsplit("\n", 1)[-1]
    quoted = re.search(r"[\"“].|(?<!\w)['‘].", line) or ELSEWHERE.search(SENTENCE_END.split(line)[-1])
    return not (quoted or OTHERS_BEFORE.search(before) or DOUBT_AFTER.match(prose, found.end()))


# A reason may follow, unless it takes something back.
BECAUSE = (
    r"(?:,?\s+(?:because|since|as\s+it|while|whereas)\b(?:(?!\b(?:but|however|(?:al)?though|unless|if)\b)[^?])*+)?"
)
CRITERION = r"(?:the|this)\s+(?:criterion|requirement|condition|rule|check|test)"
RULED = re.compile(
    rf"(?i)(?:(?:{LEAD}\b[,:]?|verdict\s*:)\s*)*(?:I\s+(?:think|believe|conclude|find)\s+(?:that\s+)?)?(?P<ruling>"
    rf"{CRITERION}\s+(?:is(?:n['’]t)?|was|has\s+been)\s+(?:clearly\s+|fully\s+|therefore\s+)?(?:not\s+|un)?(?:met|satisfied|fulfilled)"
    r"|(?:it|this|(?:the|this)\s+(?:answer|response|output|reply|agent|assistant))\s+(?:clearly\s+|fully\s+)?"
    rf"(?:(?:passes|fails)(?:\s+{CRITERION})?|(?:(?:does\s+not|doesn['’]t|fails\s+to)\s+)?(?:meets?|satisf(?:y|ies)|fulfil?ls?)\s+{CRITERION})"
    rf"|(?:(?:I['’]d|I\s+would)\s+say|my\s+(?:answer|verdict|ruling)\s+is)\s+(?:yes|no|pass|fail)){BECAUSE}[^\w?]*"
)
DENYING = re.compile(r"(?i)\b(?:not|un\w+|fails?|no)\b|n['’]t\b")


def stated_rulings(prose: str) -> Iterator[bool]:
    """What sentences say of a yes or no: `The criterion is not met.` What follows a colon is somebody else's."""
    sentences = split_sentences(QUOTED.sub(r"\1\2\3 ", prose))
    for before, sentence in zip(["", *sentences], sentences, strict=False):
        if not before.endswith(":") and (found := RULED.fullmatch(sentence)):
            yield not DENYING.search(found["ruling"])


ANSWER = r"(?:(?:output|answer|response|option|assistant|model|summary|candidate|reply|completion|text|system)\s*)"
LABEL = r"[(\[]?[\"'“]?(?P<label>[ab12])[\"'”]?[)\]]?"
SIDE = rf"(?:the\s+)?(?:{ANSWER}?{LABEL}(?:['’]s\s+{ANSWER})?|(?P<place>first|second)(?:\s+(?:{ANSWER}|one\b))?)"
OTHER = (
    rf"(?:the\s+)?(?:{ANSWER}?\(?(?P<other>[ab12])\)?|(?:other|(?P<other_place>first|second))(?:\s+(?:{ANSWER}|one))?)"
)
TWIST = re.compile(r"(?i)\b(?:while|whereas)\b.*\b(?:better|best|superior|prefer\w*|wins?)\b")
VERDICT = (
    r"(?:final\s+)?(?:choice|verdict|decision|judge?ment|conclusion|pick|preference|winner|"
    rf"(?:preferred|chosen|better)(?:\s+{ANSWER})?)"
)
OPENING = (
    rf"(?:(?:{LEAD}\b[,:]?|{VERDICT}\s*:|(?:while|although|both|neither)\b[^,?]{{1,150}},(?:\s*but\b)?)\s*)*"
    r"(?:I\s+(?:think|believe|conclude|find|would\s+say)\s+(?:that\s+)?)?"
)
TIE = r"(?:(?:a\s+|it\s+is\s+a\s+|it['’]s\s+a\s+|this\s+is\s+a\s+)?(?:tie|draw)|(?:they\s+are\s+)?(?:tied|equal))"
DEGREE = (
    r"(?:(?:very\s+)?(?:slightly|clearly|marginally|narrowly|strongly|decisively|overall)|by\s+a\s+(?:small|slight|narrow|thin|clear|wide|large)\s+"
    r"margin)"
)
PICKED = (
    re.compile(
        rf"(?i){OPENING}{SIDE}\s*(?:wins|is\s+(?:(?:clearly|overall|slightly|marginally|significantly|definitely|much|far)\s+)?(?:the\s+(?:clear\s+)?)?"
        rf"(?:better|preferred|preferable|best|superior|winner)(?:\s+(?:{ANSWER}|one|choice))?"
        rf"|(?:provide[sd]|gives|gave|offer(?:s|ed))\s+(?:a|the)\s+(?:(?:\w+ly|much)\s+)?better\s+{ANSWER})"
        rf"(?:\s+overall)?(?:\s+(?:than|over)\s+{OTHER})?{BECAUSE}[^\w?]*"
    ),
    re.compile(
        rf"(?i){OPENING}(?:(?:I\s+(?:would\s+)?|I['’]d\s+)(?:(?:strongly|slightly)\s+)?(?:prefer|choose|pick|select|go\s+with)\s+"
        rf"|(?:my\s+|the\s+)?{VERDICT}\s*(?::|is)\s*|{VERDICT}\s*:\s*)(?:{SIDE}(?:,?\s+{DEGREE}|\s*\({DEGREE}\))?|(?P<tie>{TIE}))"
        rf"(?:\s+over\s+{OTHER})?{BECAUSE}[^\w?]*"
    ),
)
TIED = re.compile(
    rf"(?i){OPENING}(?:{TIE}|(?:(?:the\s+)?(?:two|both)\s+(?:of\s+them\s+)?(?:{ANSWER}|\w+s\s+)?|{ANSWER}?{LABEL}\s+and\s+{OTHER}\s+)"
    rf"are\s+equally\s+(?:good|bad)|neither\s+(?:{ANSWER}|one\s+)?is\s+better(?:\s+than\s+the\s+other)?)[^\w?]*"
)


def stated_picks(prose: str) -> Iterator[str]:
    """Which of two answers each sentence calls better: `first`, `second`, `a`, `b`, `1`, `2` or `tie`."""
    for sentence in split_sentences(prose):
        found = next((match for form in PICKED if (match := form.fullmatch(sentence))), None)
        if TIED.fullmatch(sentence) or (found and found.groupdict().get("tie")):
            yield "tie"
        elif found and not TWIST.search(sentence, found.end("label" if found["label"] else "place")):
            own = (found["label"] or found["place"]).lower()
            if own != (found["other"] or found["other_place"] or "").lower():
                yield own
