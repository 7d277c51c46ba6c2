"""Which column of a plain table is what: the names that people give to the input, the expected answer, the answer that
was given and so on. `--map input=question` wins over names; two candidate columns are a problem, never a guess."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from howsure.dialects.base import Importer
from howsure.dialects.problems import Spot, did_you_mean
from howsure.errors import ConfigInvalid, PlanRefused, Problem
from howsure.model.expectation import AnswerMatch

INPUT, EXPECTED, RESPONSE, ID, METADATA = "input", "expected", "response", "id", "metadata"
ROLES: dict[str, tuple[str, ...]] = {
    INPUT: (
        *("input", "question", "query", "prompt", "userinput", "messages", "usermessage", "userquestion", "q"),
        *("userquery", "userprompt", "utterance", "instruction", "conversations"),
    ),
    EXPECTED: (
        *("expected", "answer", "answers", "ideal", "target", "reference", "groundtruth", "correct", "answerkey"),
    ),
    RESPONSE: ("response", "output", "completion", "prediction", "responsetext"),
    "choices": ("choices", "options"),
    "criteria": ("criteria", "successcriteria", "expectedfacts", "expectations"),
    "rubric": ("rubric", "guidelines"),
    "context": ("context",),
    "retrieved_contexts": ("retrievedcontexts", "retrievedcontext", "retrievalcontext", "contexts"),
    "tools": ("tools", "tooldefinitions", "availabletools"),
    "expected_tools": ("expectedtools", "expectedtoolcalls", "referencetoolcalls"),
    ID: ("id", "caseid", "exampleid", "questionid", "sampleid"),
    "tags": ("tags",),
    METADATA: ("metadata",),
}
"""What a column can be, and the names it goes by, without capitals and separators."""
_ROLE_OF = {name: role for role, names in ROLES.items() for name in names}
_OTHER_NAMES = (
    (RESPONSE, r"(actual|model|bot|agent|ai|llm|generated|predicted|chatbot|assistant|system)"
               r"(answer|output|response|completion|reply|result)|generation|predictions?|predicted|pred"),
    (EXPECTED, r"(expected|correct|gold|golden|ideal|reference)(answer|output|response)s?"),
    (EXPECTED, r"(gold|golden|expected|correct|ideal|reference|true|target|right|desired)"
               r"(answer|output|response|result|completion|value|label|text|option|choice|solution)?s?"
               r"|labels?|solution|groundtruths|truth"),
    (INPUT, r"(?!system).+(question|query|prompt|request)|(user|customer)(text|says|turn)|problem|task|text|sentence"
            r"|turns|conversation|dialogue|dialog|request|instructions|questiontext"),
)  # fmt: skip
"""Names by their parts. The later ones say less: they count where no other column has the role, and as the input only
beside an answer."""
_CERTAIN = 2
"""How many of them, from the first, say it for sure."""
_CATEGORIES = ("label", "labels")
_OTHERS = tuple((role, re.compile(pattern)) for role, pattern in _OTHER_NAMES)
_OPTION = re.compile(r"(?:option|choice|answer|opt)([a-j]|10|[1-9])|([a-j])")
_FAMILIES = {"inputs.": INPUT, "input.": INPUT, "outputs.": EXPECTED, "expected.": EXPECTED, "expectations.": EXPECTED}
"""Columns that begin so are parts of an object: `inputs.question`."""
NESTED = tuple(family.rstrip(".") for family in _FAMILIES)
_SEPARATORS = re.compile(r"[\s_\-]+")
_MOST_LISTED = 8


class TableOptions(Struct, frozen=True, kw_only=True):
    """How a user wants plain tables to be read: roles to columns ("": no column has this role), and the program that
    compares the answers."""

    map: dict[str, str] = field(default_factory=dict)
    match: AnswerMatch | None = None

    def __bool__(self) -> bool:
        return bool(self.map or self.match)


@runtime_checkable
class TableDialect(Protocol):
    """A dialect that reads tables as the user wants them."""

    def with_table_options(self, options: TableOptions) -> Any: ...

    def describe(self, path: Path) -> str:
        """Which column is what."""
        ...


class TableColumns(Struct, frozen=True):
    """The columns by role, and the problems that keep a table from being read. `options`: columns with one choice
    each, by its letter or number."""

    roles: dict[str, str]
    rest: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    def describe(self, labels: Collection[str] = ()) -> str:
        """`question → input, answer → expected; labels: topic; kept as metadata: score`."""
        choices = [f"{', '.join(self.options.values())} → choices"] if self.options else []
        parts = [", ".join([*(f"{column} → {role}" for role, column in self.roles.items()), *choices])]
        named = [column for column in self.rest if column.strip()]
        short = [column for column in named if column.removeprefix("metadata.") in labels]
        for title, columns in (("labels", short), ("kept as metadata", [each for each in named if each not in short])):
            more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
            parts += [f"{title}: {', '.join(columns[:_MOST_LISTED])}{more}"] if columns else []
        return "; ".join(parts)


def check_map(pairs: Mapping[str, str]) -> None:
    """ConfigInvalid for a role that there is not."""
    for role in pairs.keys() - ROLES.keys():
        known = "; ".join(filter(None, (", ".join(ROLES), did_you_mean(role, ROLES))))
        raise ConfigInvalid(f"--map {role}={pairs[role]}: {role!r} is not one of {known}")


def check_table(path: Path, reader: Importer, options: TableOptions) -> None:
    """PlanRefused where options for tables are given for a file that is none."""
    if options and not isinstance(reader, TableDialect):
        option = "--map" if options.map else "--match"
        raise PlanRefused(f"{option} is for plain tables, and {path} is a file of the dialect {reader.name}")


@lru_cache(maxsize=4096)
def plain_name(column: str) -> str:
    """The name without capitals and separators: `Ground-Truth` is `groundtruth`."""
    return _SEPARATORS.sub("", column.strip().lower())


def role_of(column: str) -> tuple[str, bool]:
    """The role of a column by its name ("": none), and whether the name is unambiguous."""
    name = plain_name(column)
    for family, role in _FAMILIES.items():
        if name.startswith(family):
            inner, certain = role_of(name.removeprefix(family))
            inner = inner if certain else ""
            same = inner == role or (role, inner) == (EXPECTED, RESPONSE)  # in a dataset, outputs are the reference
            own = same or inner in ("", ID, METADATA) or (role, inner) == (EXPECTED, INPUT)
            return (role, same) if own else (inner, True)
    if name in _ROLE_OF or name in NESTED:
        return _ROLE_OF.get(name) or _FAMILIES[f"{name}."], name in _ROLE_OF
    place = next((place for place, (_, pattern) in enumerate(_OTHERS) if pattern.fullmatch(name)), None)
    return ("", False) if place is None else (_OTHERS[place][0], place < _CERTAIN)


def find_columns(columns: Sequence[str], mapped: Mapping[str, str], spot: Spot) -> TableColumns:
    """The role of each column. A column that has none is metadata, and a label where it is short."""
    roles: dict[str, str] = {}
    problems: list[Problem] = []
    for role, wanted in mapped.items():
        found = [each for each in columns if each == wanted] or [
            each for each in columns if wanted and plain_name(each) == plain_name(wanted)
        ]
        if found:
            roles[role] = found[0]
        elif wanted:
            message = f"there is no column `{wanted}`, which --map {role}={wanted} names"
            hint = did_you_mean(wanted, columns) or f"the columns are {_listed(columns)}"
            problems.append(spot.problem("missing-field", message, expected=wanted, hint=hint))
    roles = {role: column for role, column in _of_retrieval(columns).items() if role not in mapped} | roles
    options = {} if "choices" in mapped else _options(columns, roles.values())
    free = [each for each in columns if each not in (*roles.values(), *options.values())]
    for role in [each for each in ROLES if each not in mapped and each not in roles]:
        candidates = _candidates(role, free)
        if len(candidates) > 1:
            problems.append(_ambiguous(role, candidates, roles, spot))
        if candidates:
            roles[role] = candidates[0]
    if "choices" in roles:
        options = {}
    label = roles.get(EXPECTED, "")
    if plain_name(label) in _CATEGORIES and EXPECTED not in mapped and role_of(roles.get(INPUT, ""))[1]:
        del roles[EXPECTED]  # beside a question, a label says of which kind it is
    if INPUT not in roles and not problems:
        problems.append(no_input(columns, spot))
    ordered = {role: roles[role] for role in ROLES if role in roles}
    taken = {*roles.values(), *options.values()}
    return TableColumns(ordered, tuple(each for each in columns if each not in taken), tuple(problems), options)


def _candidates(role: str, columns: Sequence[str]) -> list[str]:
    """The columns that have this role by their names: those whose names say so for sure, or else any."""
    named = [(column, sure) for column in columns for found, sure in [role_of(column)] if found == role]
    found = [column for column, sure in named if sure] or [column for column, _ in named]
    if len(found) > 1 and role in (ID, "tags", METADATA):
        found = [next((each for each in found if plain_name(each) == role), found[0])]
    return found


def _of_retrieval(columns: Sequence[str]) -> dict[str, str]:
    """Where passages stand beside an answer and the truth, the answer is what was said: tables of retrieval have it
    so."""
    names = {plain_name(each): each for each in columns}
    truth = next((names[each] for each in ("groundtruth", "groundtruths", "reference") if each in names), "")
    passages = any(each in names for each in ROLES["retrieved_contexts"])
    if not (truth and passages and "answer" in names) or any(role_of(each)[0] == RESPONSE for each in columns):
        return {}
    return {RESPONSE: names["answer"], EXPECTED: truth}


def _options(columns: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """Columns with one choice each, such as `option_a` or `A`: from the first letter on, and without a gap."""
    found = {(match[1] or match[2]).upper(): each for each in columns if (match := _OPTION.fullmatch(plain_name(each)))}
    run = [*found] in ([*"ABCDEFGHIJ"[: len(found)]], [str(number + 1) for number in range(len(found))])
    return found if len(found) > 1 and run and not {*found.values()} & {*taken} else {}


def _ambiguous(role: str, candidates: Sequence[str], roles: Mapping[str, str], spot: Spot) -> Problem:
    listed = " and ".join(f"`{each}`" for each in candidates)
    hint = f"say which: --map {role}={quote(candidates[0])} or --map {role}={quote(candidates[1])}"
    answers = [each for each in candidates if plain_name(each) == "answer"]
    if role == EXPECTED and answers:
        other = next(each for each in candidates if each not in answers)
        hint += f"; if {answers[0]} is what the agent said: --map expected={quote(other)} --map response={answers[0]}"
    if role == INPUT and {"instruction", "input"} <= {plain_name(each) for each in candidates}:
        hint += "; if input is what the instruction is about: --map input=instruction --map context=input"
    return spot.problem("ambiguous-column", f"{listed} could each be the {role}", expected=role, hint=hint)


def no_input(columns: Sequence[str], spot: Spot) -> Problem:
    named = [each for each in columns if each.strip()]
    likely = [each for each in named if role_of(each)[0] == INPUT] or [each for each in named if not role_of(each)[0]]
    column = quote(likely[0]) if likely else "COLUMN"
    message = f"no column says what the user asks; the columns are {_listed(named)}"
    hint = f"name it with --map input={column}, or call it input, question, query, prompt"
    if any(each.endswith("?") or each.isdecimal() for each in named):
        hint = "the first line looks like data: write the names of the columns above it, such as question,answer"
    elif len(named) == 1 and len(list(columns)) > 1:
        hint = "the first line looks like a title: take out what stands above the names of the columns"
    return spot.problem("no-input-column", message, expected="input", hint=hint)


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _MOST_LISTED} more" if len(columns) > _MOST_LISTED else ""
    return ", ".join(f"`{each[:60]}`" for each in columns[:_MOST_LISTED]) + more


def may_have_input(columns: Iterable[str]) -> bool:
    """Whether one of the columns could be the input, by its name. An object under `inputs` has it inside."""
    known = [role_of(column) for column in columns]
    answered = any(role in (EXPECTED, RESPONSE, "criteria", "rubric") for role, _ in known)
    return any(role == INPUT and (sure or answered) for role, sure in known) or any(
        plain_name(column) in NESTED[:2] for column in columns
    )
