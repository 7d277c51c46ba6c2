"""Sentences for people in place of the wording of programs. Why a case has its verdict: "The answer misses the
deadline: the judge gave 0.20, 0.70 is needed"; the names of graders in words; and advice without options of the command
line. Texts of agents, users and judges are never rewritten."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from howsure.model.result import Result
from howsure.model.score import Direction, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import (
    AS_IMPORTED,
    COMPOSITE,
    CRITERIA,
    NEEDS_A_JUDGE,
    NOTHING_TO_DECIDE,
    RUBRIC,
    deciding_grades,
)
from howsure.reports.safe_text import one_line

MAX_REASON = 200
SENTENCE_END = re.compile(r"(?<=[^\s.]{3}[.!?])\s+(?=[A-ZÀ-Þ0-9“\"])")
ENDED = re.compile(r"[.!?…][\"'”’»)]*$")
TOOL_SAYS = re.compile(rf"{AS_IMPORTED}: (?P<tool>.+) says (?P<verdict>\w+)")
NAMES = {COMPOSITE: "weighted total", "mcq": "multiple choice", "output_contract": "output format"}
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)
def grader_name(name: str) -> str:
    """A grader in words: `tool_usage_accuracy_judged` is "tool usage accuracy, judged", and `TaskAdherenceExplain`
    "task adherence". A name with spaces stays as it is. Kinds of failures are named in the same way."""
    words = name.removesuffix("Explain") or name
    if name in NAMES or not re.fullmatch(r"[\w@^,:%+-]+", name):
        return NAMES.get(name, name)
    if "_" not in words and name.isidentifier() and (words != name or CAMEL.search(words)):
        words = CAMEL.sub("_", words).lower()
    return re.sub("_judged$", ", judged", words).replace("_", " ").strip() or name


def sentences(result: Result) -> tuple[str, ...]:
    """Why the result has its verdict. A reason without a sentence of its own stays in the words of the policy."""
    deciding, found = deciding_grades(result), list[str]()
    imported = bool(result.reasons) and result.reasons[0].startswith(AS_IMPORTED)
    if result.verdict is Verdict.FAILED:
        found = [_told(grade, imported) for grade in deciding if isinstance(grade, Score) and grade.passed is False]
    elif result.verdict is Verdict.ERRORED and not result.failures:
        broken = [each for each in deciding if isinstance(each, Unscored) and each.why is UnscoredReason.ERROR]
        found = [f"{_subject(each)} could not be judged: {_reason(each)}." for each in broken]
    single = {f"{grade.name} ": grade for grade in deciding if isinstance(grade, Score) and not grade.part}
    # Why a tool says so is said before that it does.
    reasons = (*result.reasons[1:], result.reasons[0]) if imported else result.reasons
    told = [_sentence(reason, single, imported) for reason in reasons if reason != AS_IMPORTED or len(reasons) == 1]
    return tuple(found) or tuple(told)


def headline(result: Result, limit: int) -> str:
    """The first sentence, and how many more there are."""
    first, *rest = sentences(result) or ("",)
    if not rest:
        return one_line(first, limit)
    more = f" And {len(rest)} more {'reason' if len(rest) == 1 else 'reasons'}."
    return f"{_ended(one_line(first, max(limit - len(more) - 1, 20)))}{more}"


def _ended(text: str) -> str:
    """The text with a full stop, where it does not end a sentence already."""
    return text if not text or ENDED.search(text) else f"{text}."


def _told(score: Score, imported: bool) -> str:
    """`imported`: the score is a tool's, whose name is that of its judge."""
    reason = _reason(score)
    because = f": {reason}" if reason else ""
    if score.part is not None and score.name in (CRITERIA, RUBRIC):
        kind = "It does not meet" if score.name == CRITERIA else "It breaks the rule"
        return _ended(f"{kind} “{one_line(score.part.text or score.part.id, MAX_REASON)}”{because}")
    # A check that only holds or does not says nothing by its number.
    holds_or_not = score.pass_mark == score.scale.high and score.value in (score.scale.low, score.scale.high)
    if reason and holds_or_not and (not score.judge or score.stated_pass is not None):
        return _ended(f"{_subject(score)}{because}")
    if score.judge and reason:
        return f"{reason[:1].upper()}{reason[1:]}: {_given(score, imported)}."
    return _ended(f"{_measured(score, imported)}{because}")


def _measured(score: Score, imported: bool) -> str:
    """`Reference answer is 0.20, 0.70 is needed`."""
    return f"{_subject(score)}{':' if score.judge else ''} {_given(score, imported)}"


def _given(score: Score, imported: bool) -> str:
    """`the judge gave 0.20, 0.70 is needed`, with enough decimals to show that two numbers differ."""
    mark = score.value if score.pass_mark is None else score.pass_mark
    figures = ((f"{score.value:.{decimals}f}", f"{mark:.{decimals}f}") for decimals in range(2, 7))
    value, needed = next((pair for pair in figures if pair[0] != pair[1] or score.value == mark), (score.value, mark))
    # Some tools name the score again: `inspect:includes`.
    giver = one_line(score.judge.removesuffix(f":{score.name}"), 80) if imported else "the judge"
    given = f"{giver} gave {value}" if score.judge else f"is {value}"
    if score.stated_pass is not None:
        return f"{given} and says {'pass' if score.stated_pass else 'fail'}"
    return f"{given}, {f'at most {needed} is allowed' if score.direction is Direction.LOWER else f'{needed} is needed'}"


def _sentence(reason: str, single: dict[str, Score], imported: bool) -> str:
    """A policy's reason; one that names a grader and two numbers as a sentence."""
    if said := TOOL_SAYS.fullmatch(reason):
        return f"{said['tool']} says that it {said['verdict']}."
    if reason == NOTHING_TO_DECIDE:
        return "Nothing to decide: no measured value has a pass mark."
    if reason.startswith(f"{NEEDS_A_JUDGE}: "):
        names = map(grader_name, reason.removeprefix(f"{NEEDS_A_JUDGE}: ").split(", "))
        return f"It needs a judge: {', '.join(names)} could not be decided without one."
    score = next((score for start, score in single.items() if reason.startswith(start)), None)
    return _told(score, imported) if score else reason


def _subject(grade: Grade) -> str:
    name = grader_name(one_line(grade.name, MAX_REASON))
    about = f" “{one_line(grade.part.text or grade.part.id, 80)}”" if grade.part else ""
    return f"{name[:1].upper()}{name[1:]}{about}"


def _reason(grade: Grade) -> str:
    """The first sentence of the reason, without its full stop."""
    return one_line(SENTENCE_END.split(one_line(grade.reason, 4 * MAX_REASON))[0], MAX_REASON).rstrip(". ")


MAPPED = r"--map (\w+)=('[^']*'|[^\s,;]+)"
CHOOSE_MODEL = "; name a model in `eval_model`"
ADVICE = (
    (
        r"Name a file with --responses, or a live --target\.(?: With --partial, what was recorded is graded\.)?",
        "Choose under “how the agent is reached” who answers them.",
        "Name who answers them in `target`.",
    ),
    (
        r"Name a file of whole conversations, or run:RUN, with --responses\.",
        "Bring a file of whole conversations.",
        "Upload whole conversations as a dataset.",
    ),
    (
        r"`howsure run --responses` grades its answers again where they are",
        "grade its answers again where they are",
        "grade its answers again where they are",
    ),
    (r"; name (?:one|what it is) with --(?:dialect|from)", "", "; name it in `dialect`"),
    (
        r", not yet a dataset; make one of it with `howsure convert .*?`",
        ", not yet a dataset: bring it in as a test set",
        ", not yet a dataset: bring it in as a test set",
    ),
    (r"; use --judge MODEL or --graders -\S+", "; choose a judge that is a model", CHOOSE_MODEL),
    (r": use --graders .*?(?= and --judge|$)", "", ""),
    (r" and --judge MODEL", "; a judge that is a model could check it", CHOOSE_MODEL),
    (r" \(--graders \+NAME adds one\)", "", " (an evaluator config adds one)"),
    (r"; say which to compare with --candidate A=B", "", ""),
    (r": say --candidate\b", ": choose runs that have one", ": choose runs that have one"),
    (r": AGENT or --dataset NAME", "", ""),
    (r": --repeat (\d+)\.", r": try each case \1 times.", r": `repeat` \1."),
    (
        r" are graded with --responses",
        " are brought in as a file of finished conversations",
        " are uploaded as a dataset of finished conversations",
    ),
    (r"; --no-cache does without", "", ""),
    (r"name it with --map input=.*?, or call it", "call it", "call it"),
    (r"say which: --map .*", "rename one of them", "rename one of them"),
    (rf", which {MAPPED} names", ", which the columns chosen name", r", which `map` \1 names"),
    (rf"{MAPPED}", r"the column \2 as the \1", r'`map`: {"\1": "\2"}'),
    (r"`howsure retry`", "retry the run", "`POST /runs/{run_id}/retry`"),
)
"""The advice of the command line; that of the pages; that of the API."""
ON_PAGES = {
    "target": "how the agent is reached",
    "responses": "a file of answers",
    "judge": "the judge",
    "repeat": "how often each case is tried",
    "limit": "how many cases at most",
    "budget": "the most to spend",
    "until-sure": "stop when sure",
    "dialect": "the kind of file",
    "from": "the kind of file",
}
FIELDS = {
    "judge": "`eval_model`",
    "max-concurrency": "`concurrency`",
    "graders": "the evaluator config",
    "gate": "`gates`",
    "filter": "`item_ids`",
    "state": "`initial_payload`",
    "component-id": "`component_ids`",
    "rubric": "`rubric_id`",
    "agent": "`bot_id`",
    "responses": "recorded answers",
    **{name: f"`{name}`" for name in ("target", "repeat", "limit", "budget", "dialect", "map", "match", "engine")},
    **{name: f"`{name.replace('-', '_')}`" for name in ("simulator", "profile", "until-sure", "component-scope")},
}
"""The names of options on pages and in the API, for advice that is not listed above; others keep their own name."""
PARAMETERS = {
    **{name.strip("`").replace("_", "-"): name for name in FIELDS.values() if name.startswith("`")},
    **{name: f"`{name}`" for name in ("judge", "graders", "state", "responses", "partial", "rubric", "agent")},
    "max-concurrency": "`concurrency`",
    "gate": "`gates`",
    "filter": "`filters`",
    "candidate": "`candidates`",
}
"""The names of options in Python."""
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
COMMAND = re.compile(r"(`howsure [^`]*`)")


def page_words(text: str) -> str:
    """The sentence of a service in the words of pages and reports, without options: advice names what to choose on a
    page. A whole command to copy (in backquotes) stays."""
    return _without_options(text, [(pattern, words) for pattern, words, _ in ADVICE], ON_PAGES)


def field_words(text: str) -> str:
    """The same in the words of the API: what to send in which field."""
    return _without_options(text, [(pattern, words) for pattern, _, words in ADVICE], FIELDS)


def parameter_words(text: str) -> str:
    """The same in the words of Python: the parameters of `evaluate`."""
    return _without_options(text, [(MAPPED, r'map={"\1": "\2"}')], PARAMETERS)


def _without_options(text: str, advice: Iterable[tuple[str, str]], names: Mapping[str, str]) -> str:
    if "--" not in text and "`howsure " not in text:
        return text
    for pattern, words in advice:
        text = re.sub(pattern, words, text)
    parts = COMMAND.split(text)
    parts[::2] = [OPTION.sub(lambda it: names.get(it[1], it[1].replace("-", " ")), each) for each in parts[::2]]
    return "".join(parts)


def note_words(text: str, graders: Collection[str] = ()) -> str:
    """The same for notes of a run or a case, where a name in backquotes is a grader's; names in `graders` are
    recognised without them."""
    known = re.sub(r"`(\w+)`", lambda found: grader_name(found[1]), page_words(text))
    return re.sub(r"\w+", lambda found: grader_name(found[0]) if found[0] in graders else found[0], known)
