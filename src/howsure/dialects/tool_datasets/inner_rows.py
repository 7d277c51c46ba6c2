"""Files of other tools with the rows of a table inside them: items of hosted OpenAI evals, answers that were annotated
with ragas, configurations of Azure AI evaluations, and the registry of OpenAI Evals with the samples that it names.
Each makes its cases of rows that `plain` can read. Conversational goldens of DeepEval have a reader of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from howsure.dialects.importers.base import HashIds
from howsure.dialects.plain import PlainDialect
from howsure.dialects.plain_rows import chat_messages, structured, texts_of
from howsure.dialects.problems import Spot, shown
from howsure.dialects.strict_json import top_level_keys
from howsure.dialects.tables import head_names
from howsure.dialects.tool_datasets.documents import YAML_ENDINGS, Row, ToolDialect, ToolFolder, object_in, wrong_type
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.expectation import Expectation, Goal, IncludedText, JsonOutput, JsonPlace, ReferenceAnswer
from howsure.model.transcript import Role, Transcript

PLAIN = PlainDialect()
_CLASS = re.compile(rb"^[ \t]+class:[ \t]*['\"]?evals\.", re.MULTILINE)
_PROMPT = re.compile(rb"^[ \t]*(choice_strings|choice_scores)[ \t]*:", re.MULTILINE)


Rows = Iterator[tuple[Spot, Row]]


def plain_cases(rows: Iterable[tuple[Spot, Row]], folder: ToolFolder, name: str = "row") -> Iterator[tuple[Spot, Case]]:
    ids = HashIds(name)
    for spot, row in rows:
        try:
            case = PLAIN.case(row)
        except ValueError as error:
            folder.problems.append(spot.problem("invalid", str(error), found=shown(row)))
        else:
            yield spot, replace(case, id=case.id or ids.of(*user_turns(case.input)))


class InnerRows(ToolDialect):
    """A file with the rows of a table inside it: `fits` recognises it by the names of its columns or its keys and by
    its head, `rows` takes them out."""

    def __init__(
        self, name: str, endings: str, fits: Callable[[set[str], bytes], bool], rows: Callable[[ToolFolder], Rows]
    ) -> None:
        self.name, self._endings, self._fits, self._rows = name, endings.split(), fits, rows

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() not in self._endings:
            return False
        return self._fits({*head_names(path, head), *top_level_keys(head.decode("utf-8", "ignore"))}, head)

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        return plain_cases(self._rows(folder), folder)


def hosted_items(folder: ToolFolder) -> Rows:
    """The items of a hosted eval of OpenAI. Once they are graded, they are results, and no dataset."""
    for spot, each in folder.rows(folder.path):
        said = object_in(each.get("sample")).get("output_text")
        for _, item in folder.objects([(spot.below("item"), each.get("item"))]):
            yield spot, {**item, **({"response": said} if said else {})}


def annotated_answers(folder: ToolFolder) -> Rows:
    """Answers by metric of ragas; what the metric and a person said of each stays with the case."""
    document = folder.document(folder.path)
    for metric in object_in(document.value):
        for spot, each in folder.objects(document.elements(metric), "an object with `metric_input`"):
            said: Row = {key: each[key] for key in ("metric_output", "is_accepted") if key in each}
            yield spot, {**object_in(each.get("metric_input")), "metric": metric, **said}


def azure_rows(folder: ToolFolder) -> Rows:
    """The `data` of an Azure AI evaluation with its `data_mapping`; the evaluators are named."""
    document = folder.document(folder.path)
    config = object_in(document.value)
    mapping = object_in(config.get("data_mapping")).items()
    columns = {str(value).strip("{} ").rpartition(".")[2]: key for key, value in mapping}
    for name in config.get("evaluators") or ():
        folder.lack(f"evaluator `{name}`", why="has no counterpart here; name graders with --graders")
    for spot, each in folder.objects(document.elements("data")):
        yield spot, {columns.get(name, name): value for name, value in each.items()}


GRADED = {"grades", "passes", "results"}
INNER_ROWS = (
    InnerRows(
        "openai-evals-items", ".jsonl .ndjson", lambda names, _: "item" in names and not names & GRADED, hosted_items
    ),
    InnerRows(
        "ragas-annotations",
        ".json",
        lambda _, head: head.lstrip()[:1] == b"{" and b'"metric_input"' in head,
        annotated_answers,
    ),
    InnerRows("azure-evaluation", ".json", lambda names, _: {"evaluators", "data"} <= names, azure_rows),
)


class OpenAiRegistry(ToolDialect):
    """`openai-evals-registry`: every eval of the file, which says how its samples are graded (`class: evals.…`)."""

    name = "openai-evals-registry"

    def detect(self, path: Path, head: bytes) -> bool:
        return path.suffix.lower() in YAML_ENDINGS and bool(_CLASS.search(head) or _PROMPT.search(head))

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        spot, evals = Spot(str(folder.path)), object_in(folder.document(folder.path).value)
        known = {name: each for name, each in evals.items() if isinstance(each, dict) and "class" in each}
        if not known and not folder.problems:
            hint = "it tells a judge how to grade; a prompt of your own for the judge goes into a file for --evals"
            message = "this is a prompt for grading, not a dataset"
            folder.problems.append(spot.problem("not-a-dataset", message, hint=hint))
        for name, each in known.items():
            arguments = each.get("args") or {}
            file = arguments.get("samples_jsonl") or arguments.get("test_jsonl")
            if not isinstance(file, str):
                message = f"the eval {name} names no samples"
                folder.problems.append(
                    spot.below(name).problem("missing-field", message, expected="args.samples_jsonl")
                )
                continue
            path = folder.find(file, spot.below(name, "args", "samples_jsonl"), ("../data", "data"))
            prefix = name.partition(".")[0] if len(known) > 1 else "row"
            kind = str(each["class"]).rpartition(":")[2]
            for place, case in plain_cases(folder.rows(path) if path else (), folder, prefix):
                answers = [each for each in case.expectations if isinstance(each, ReferenceAnswer)]
                expected = _graded(kind, answers[0].answers if answers else (), arguments, folder)
                yield place, replace(case, expectations=expected)


def _graded(kind: str, ideal: tuple[str, ...], arguments: Row, folder: ToolFolder) -> tuple[Expectation, ...]:
    """What the class of an eval checks."""
    if kind == "Match" and ideal:
        return (IncludedText(values=ideal, at_start=True),)
    if kind in ("Includes", "FuzzyMatch") and ideal:
        if kind == "FuzzyMatch":
            folder.lack("FuzzyMatch", why="is checked as `includes`, without regard to case")
        return (IncludedText(values=ideal, ignore_case=bool(arguments.get("ignore_case", kind == "FuzzyMatch"))),)
    if kind in ("JsonMatch", "JsonValidator"):
        schema = {"enum": [structured(each) for each in ideal]} if kind == "JsonMatch" else None
        return (JsonOutput(schema=schema, place=JsonPlace.WHOLE),)
    spec = arguments.get("modelgraded_spec") or kind
    folder.lack(f"grading by {spec}", why="is judged as `reference_answer`" if ideal else "has no counterpart here")
    return (ReferenceAnswer(answers=ideal),) if ideal else ()


class ConversationGoldens(ToolDialect):
    """`deepeval-conversations`: a scenario is a simulated user; its turns, where it has them, are a recording."""

    name = "deepeval-conversations"

    def detect(self, path: Path, head: bytes) -> bool:
        names = set(head_names(path, head)) if path.suffix.lower() in (".json", ".jsonl", ".csv") else set()
        return "scenario" in names and bool(names & {"expected_outcome", "turns"})

    def cases(self, folder: ToolFolder) -> Iterator[tuple[Spot, Case]]:
        ids = HashIds("golden")
        for spot, row in folder.rows(folder.path):
            scenario, given, outcome = (
                row.get("scenario"),
                structured(row.get("turns")) or [],
                row.get("expected_outcome"),
            )
            turns = chat_messages(given) if isinstance(given, list) else ()
            if not isinstance(scenario, str) or not scenario.strip():
                folder.problems.append(wrong_type(spot.below("scenario"), "a text", scenario))
                continue
            if len(turns) < len(given):
                expected = "a list of messages with `role` and `content`"
                folder.problems.append(wrong_type(spot.below("turns"), expected, row["turns"]))
                continue
            first = next((turn.content for turn in turns if turn.role is Role.USER), scenario)
            spoken = [turn.content for turn in turns if turn.role is Role.ASSISTANT]
            kept: Row = {key: row[key] for key in row.keys() - {"scenario", "turns", "expected_outcome"} if row[key]}
            if isinstance(kept.get("context"), str):
                kept["context"] = texts_of(kept["context"], "[|]")
            case = Case(
                id=ids.of(scenario, first),
                name=str(kept.pop("name", "")),
                input=Scenario(persona=str(kept.pop("user_description", "")), initial_message=first, goal=scenario),
                expectations=(Goal(text=str(outcome)),) if outcome else (),
                metadata=kept,
                recorded=Transcript(answer=spoken[-1], messages=turns) if spoken else None,
            )
            yield spot, case
