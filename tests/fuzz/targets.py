"""The table of fuzzing targets: every parser of bytes that come from outside. `make fuzz` and test_targets.py use it; a
dialect, an importer or a provider that has no row fails a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from yaml import YAMLError

from fuzz import identities, seeds, service
from fuzz.target import Target, as_text, as_value, folder, in_file, kept, storable
from howsure import config
from howsure.client.connection import ServiceAnswer
from howsure.client.errors import ServiceError
from howsure.client.pages import read_answer as read_service_answer
from howsure.client.pages import read_list
from howsure.dialects import datasets
from howsure.dialects.agent_files import read_agent, read_rubric
from howsure.dialects.base import Importer
from howsure.dialects.responses import RecordedResponse, read_responses
from howsure.dialects.strict_json import element_lines, head_keys, parse_json
from howsure.dialects.tool_datasets.templates import JINJA, NUNJUCKS, TemplateFailed, fill, value_in
from howsure.dialects.tool_results.base import ResultsReader
from howsure.engine.attempt import attempt as try_case
from howsure.engine.candidates import CandidateRepeat
from howsure.errors import ConfigInvalid, HowsureError
from howsure.graders.base import BindableGrader, GraderContext
from howsure.graders.custom_eval_file import read_evals
from howsure.graders.definitions import read_definitions
from howsure.judges.base import Judge, JudgeReply, Question
from howsure.judges.batches import read_batch_reply
from howsure.judges.documents import read_text
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.pairwise import read_pick
from howsure.judges.recording_files import read_recording
from howsure.judges.replies import read_check, read_rating, read_share
from howsure.judges.rulings import UnparsableReply
from howsure.kit.plugins import builtin_kit
from howsure.llm.budget import parse_budget
from howsure.llm.client import UNREADABLE
from howsure.llm.providers import BUILTIN_PROVIDERS
from howsure.llm.retry import response_failure
from howsure.llm.specs import parse_model
from howsure.llm.transport import HttpRequest, HttpResponse
from howsure.matching.conditions import condition_problems, evaluate_condition
from howsure.matching.values import LENIENT, STRICT, check_matcher
from howsure.model.case import Case
from howsure.model.run_request import RunRequest
from howsure.model.score import LIKERT, UNIT, Part
from howsure.model.transcript import Span
from howsure.policies.gates import read_gate
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.allowed_hosts import allows_host, may_connect
from howsure.services.host.uploads import content_with_case, content_without_case
from howsure.services.import_results import ImportRequest, ImportTally, ResultsConversion, ResultsFile
from howsure.services.judge.labels import looks_like_labels, read_labels
from howsure.services.run.participants import parse_target
from howsure.services.run.plan import rules_for
from howsure.services.triage.root_causes import read_draft
from howsure.targets.adk.events import read_reply, read_state
from howsure.targets.adk.spans import read_spans
from howsure.targets.answer_parts import UnreadableAnswer
from howsure.targets.base import Closing, TargetRequest
from howsure.targets.bot_answers import BotAnswer, read_answer
from howsure.targets.chat.tools import read_chat_settings
from howsure.targets.command.target import plan_command, read_line
from howsure.targets.http.plan import plan_http_target
from howsure.targets.http.replies import BotResponse, ResponseReader
from howsure.testing import ScriptedTarget
from howsure.traces.read import read_trace
from howsure.users.live_users import read_user_move
from howsure.wire.runs import Run

KIT = builtin_kit(builtin_profiles())
Read = Callable[[Path], object]


def read_dataset(path: Path, dialect: Importer) -> None:
    """As `validate` and `run` do: what is valid can be read, and stored."""
    report = datasets.validate(path, dialect)
    assert all(problem.code and problem.message and str(problem) for problem in (*report.problems, *report.warnings))
    if report.valid:
        for case in datasets.read_cases(path, dialect, report):
            storable(case)


def read_any(path: Path) -> None:
    read_dataset(path, datasets.detect(path, list(KIT.dialects), list(KIT.importers)))


def _dialect_targets() -> Iterator[Target]:
    for kind, registered, examples in (
        ("dialect", KIT.dialects, seeds.DIALECTS),
        ("importer", KIT.importers, seeds.IMPORTS),
    ):
        for dialect in registered:
            files = examples.get(dialect.name, ())
            for ending in sorted({Path(name).suffix for name, _ in files}):
                named = [(name, content) for name, content in files if Path(name).suffix == ending]
                yield Target(
                    name=f"{kind} {dialect.name} {ending}",
                    seeds=tuple(content for _, content in named),
                    parse=in_file(named[0][0], partial(read_dataset, dialect=dialect)),
                )
    every = [file for group in (seeds.DIALECTS, seeds.IMPORTS) for files in group.values() for file in files]
    for ending in (".json", ".jsonl", ".csv"):
        mixed = tuple(content for name, content in every if name.endswith(ending))
        yield Target(name=f"detect {ending}", seeds=mixed, parse=in_file(f"data{ending}", read_any))


def read_results(path: Path, reader: ResultsReader) -> None:
    """As `howsure import` does."""
    conversion = ResultsConversion(ResultsFile(path, reader, (path,)), ImportRequest(), ImportTally())
    for batch in conversion.batches():
        storable(batch)


def _results_targets() -> Iterator[Target]:
    for reader in KIT.results_readers:
        if reader.name in seeds.RESULTS:
            file, content = seeds.RESULTS[reader.name]
            parse = in_file(file, partial(read_results, reader=reader))
            yield Target(name=f"results {reader.name}", seeds=(content,), parse=parse)
    for name, (file, content) in seeds.MORE_RESULTS.items():
        parse = in_file(file, partial(read_results, reader=KIT.results_readers[name.split()[0]]))
        yield Target(name=f"results {name}", seeds=(content,), parse=parse)


def read_strictly(data: bytes) -> None:
    value, problems = parse_json(data, file="f")
    head_keys(data)
    if not problems:
        storable(value)
        if isinstance(value, dict):
            for key in value:
                element_lines(data.decode("utf-8-sig"), key)


def read_recorded(path: Path) -> None:
    for item in read_responses(path):
        if isinstance(item, RecordedResponse):
            storable(item)


def read_evals_of(path: Path) -> None:
    for spec in read_evals(path):
        storable(spec)


FILES = (
    Target(name="strict json", seeds=seeds.MATCHES + seeds.BOT_ANSWERS, parse=read_strictly),
    Target(name="responses .jsonl", seeds=seeds.RESPONSES, parse=in_file("responses.jsonl", read_recorded)),
    Target(
        name="responses .json",
        seeds=tuple(b"[" + b",".join(each.splitlines()) + b"]" for each in seeds.RESPONSES),
        parse=in_file("responses.json", read_recorded),
    ),
    Target(
        name="judge recordings",
        seeds=seeds.RECORDINGS,
        parse=in_file("judge.jsonl", lambda path: storable(read_recording(path)[0])),
    ),
    Target(
        name="labels",
        seeds=(seeds.LABELS,),
        parse=in_file("labels.jsonl", lambda path: looks_like_labels(path) and storable(read_labels(path, KIT))),
    ),
    Target(
        name="rubric files",
        seeds=(seeds.demo("test-set/rubric.json"),),
        parse=in_file("rubric.json", lambda path: storable(read_rubric(path, str))),
    ),
    Target(
        name="agent files",
        seeds=(seeds.demo("test-set/agent.json"),),
        parse=in_file("agent.json", lambda path: storable(read_agent(path, str))),
    ),
    Target(name="custom evals", seeds=seeds.EVALS, parse=in_file("evals.yaml", read_evals_of)),
    Target(
        name="metric definitions",
        seeds=seeds.DEFINITIONS,
        parse=in_file("definitions.json", lambda path: storable(read_definitions(path, str))),
    ),
    Target(
        name="settings",
        seeds=seeds.SETTINGS,
        parse=in_file(
            "howsure.yaml",
            lambda path: config.profiles(
                config.load(path.parent, {}, path), {each.name: each for each in builtin_profiles()}
            ),
        ),
    ),
    Target(
        name="attachments",
        seeds=(seeds.demo("legal/attachments/courier-data-agreement.txt"), seeds.PDF),
        parse=in_file("document.pdf", lambda path: storable(read_text(path))),
    ),
)


def read_verdict(content: Any) -> None:
    """A reply as every kind of question reads it."""
    readers: tuple[Callable[[Any], object], ...] = (
        lambda reply: read_rating(reply, LIKERT, whole=True),
        lambda reply: read_rating(reply, UNIT),
        read_check,
        read_share,
        read_pick,
        read_draft,
    )
    for read in readers:
        try:
            kept(read(content))
        except (UnparsableReply, RecursionError):
            continue
    read_batch_reply(JudgeReply(content=content), (Part(id="c1", text="one"), Part(id="c2", text="two")), read_check)


_BOT = TargetRequest(name="bot", rest="http://host/chat", environ={"KEY": "secret"})


def keep_answer(answer: BotAnswer) -> None:
    kept(answer.reply)
    kept(Closing(state=answer.state, spans=answer.spans))


def _http_reader(**settings: Any) -> Callable[[bytes], object]:
    reader = ResponseReader(plan_http_target(msgspec.structs.replace(_BOT, settings=settings)))
    request = HttpRequest(method="POST", url="http://host/chat", headers={})
    return lambda body: keep_answer(reader.read_answer(BotResponse(request=request, status=200, body=body)))


def read_program_line(data: bytes) -> None:
    plan = plan_command(TargetRequest(name="program", rest="true", folder=folder(), environ={"PATH": "/usr/bin:/bin"}))
    keep_answer(read_line(data, plan))


def read_refusal(data: bytes) -> object:
    head, _, body = data.partition(b"\n")
    headers = {"retry-after": head.decode("latin-1")}
    return response_failure(HttpResponse(429, headers, body or data), lambda: datetime.now(UTC))


def read_client_answer(data: bytes) -> None:
    answer = ServiceAnswer(200, {}, data, "GET /runs")
    for read in (read_service_answer, read_list):
        try:
            read(Run, answer)
        except ServiceError:
            continue


def read_adk_events(value: Any) -> None:
    """Events as the client of ADK servers lets them through."""
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        kept(read_reply(value))
    kept(Closing(state=read_state(value)))


def read_adk_trace(value: Any) -> None:
    spans = read_spans(value)
    kept(Closing(spans=spans))
    read_trace(spans or ())


REPLIES = (
    Target(name="judge replies", seeds=seeds.VERDICTS, parse=as_text(read_verdict)),
    Target(name="judge replies as objects", seeds=seeds.VERDICTS, parse=as_value(read_verdict)),
    Target(
        name="simulated users' replies",
        seeds=seeds.VERDICTS,
        parse=as_text(lambda text: kept(read_user_move(text))),
        answers=(UnparsableReply, RecursionError),
    ),
    Target(name="bot answers", seeds=seeds.BOT_ANSWERS, parse=_http_reader()),
    Target(
        name="bot answers by paths",
        seeds=seeds.BOT_ANSWERS,
        parse=_http_reader(
            answer="choices[0].message.content",
            tool_calls="choices[*].message.tool_calls",
            tool_call={"name": "function.name?"},
            usage="usage?",
            state="state?",
            agent="agents?",
            error="error?",
        ),
    ),
    Target(
        name="bot streams sse",
        seeds=seeds.STREAMS,
        parse=_http_reader(stream="sse", delta="delta", usage="usage?", error="error?"),
    ),
    Target(
        name="bot streams ndjson",
        seeds=seeds.STREAMS,
        parse=_http_reader(stream="ndjson", delta="delta", tool_calls="tool_calls?", state="state?"),
    ),
    Target(
        name="what functions return",
        seeds=seeds.BOT_ANSWERS,
        parse=as_value(lambda value: keep_answer(read_answer(value))),
        answers=(HowsureError, UnreadableAnswer),
    ),
    Target(name="lines of programs", seeds=seeds.BOT_ANSWERS, parse=read_program_line),
    *(
        Target(
            name=f"provider {provider.name}",
            seeds=seeds.PROVIDERS.get(provider.name, seeds.PROVIDERS["openai"]),
            parse=lambda body, provider=provider: kept(provider.read_reply(body)),  # type: ignore[misc]
            answers=UNREADABLE,
        )
        for provider in BUILTIN_PROVIDERS
    ),
    Target(name="providers' refusals", seeds=tuple(b"3\n" + each for each in seeds.REFUSALS), parse=read_refusal),
    Target(
        name="adk events",
        seeds=seeds.ADK_EVENTS,
        parse=as_value(read_adk_events),
    ),
    Target(
        name="adk traces",
        seeds=seeds.ADK_TRACES,
        parse=as_value(read_adk_trace),
    ),
    Target(
        name="spans",
        seeds=seeds.SPANS,
        parse=lambda data: read_trace(msgspec.json.decode(data, type=list[Span])),
        answers=(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
    ),
    Target(name="answers of the service", seeds=(seeds.text([{"id": "r"}]),), parse=read_client_answer),
)


def match(value: Any) -> None:
    if not isinstance(value, dict) or check_matcher(value.get("expected")):
        return
    for comparer in (STRICT, LENIENT):
        comparer.match(value.get("expected"), value.get("actual"))
        comparer.differences(value.get("expected"), value.get("actual"), "")


def hold(check: Any) -> None:
    if not list(condition_problems(check)):
        state = {"status": "open", "note": "aaa!", "at": "2024-01-01", "n": 4, "tags": ["a"]}
        kept(evaluate_condition(check, state, datetime(2024, 6, 1, tzinfo=UTC)))


def search(data: bytes) -> None:
    pattern, _, text = data.partition(b"\x00")
    given = {"$regex": pattern.decode("utf-8", "replace")}
    if not check_matcher(given):
        STRICT.match(given, text.decode("utf-8", "replace"))


def plan_bot(data: bytes) -> None:
    """A block of `targets:` as its YAML is read."""
    try:
        block = config.load_yaml(data.decode("utf-8", "replace"))[1]
    except YAMLError:
        return
    if isinstance(block, dict) and all(isinstance(name, str) for name in block):
        for read in (plan_http, read_chat):
            with suppress(ConfigInvalid):
                read(block)


def plan_http(block: dict[str, Any]) -> None:
    plan_http_target(TargetRequest(name="bot", settings=block, environ={"KEY": "secret"}))


def read_chat(block: dict[str, Any]) -> None:
    read_chat_settings("bot", block)


def fill_template(text: str) -> None:
    values = {"x": "hello", "xs": [1, 2, 3], "choices": ["a", "b"], "doc": "word \n" * 1_000}
    for sandbox in (JINJA, NUNJUCKS):
        with suppress(TemplateFailed):
            fill(text, values, sandbox)
    with suppress(TemplateFailed):
        value_in(text, values)


def guard(data: bytes) -> None:
    host, _, entry = data.decode("utf-8", "replace").partition("\x00")
    allows_host((entry,), host, 80)
    may_connect((entry,), host, host, 80)


def change_dataset(path: Path) -> None:
    """A stored dataset, which was found valid, with a case more and a case less."""
    dialect = datasets.detect(path, list(KIT.dialects))
    if datasets.validate(path, dialect).valid:
        content_with_case(path.read_bytes(), {"id": "new"})
        content_without_case(path.read_bytes(), 0)


LANGUAGES = (
    Target(name="matchers", seeds=seeds.MATCHES, parse=as_value(match)),
    Target(name="conditions", seeds=seeds.CONDITIONS, parse=as_value(hold)),
    Target(name="patterns", seeds=seeds.PATTERNS, parse=search),
    Target(name="gate expressions", seeds=seeds.GATES, parse=as_text(read_gate)),
    Target(name="budgets", seeds=seeds.BUDGETS, parse=as_text(parse_budget)),
    Target(name="model names", seeds=seeds.MODELS, parse=as_text(lambda text: parse_model(text, {}))),
    Target(name="target names", seeds=seeds.TARGETS, parse=as_text(lambda text: parse_target(text, KIT, {}))),
    Target(name="target settings", seeds=seeds.TARGET_BLOCKS, parse=plan_bot),
    Target(name="templates", seeds=seeds.TEMPLATES, parse=as_text(fill_template)),
    Target(name="host lists", seeds=seeds.HOSTS, parse=guard),
    *(
        Target(
            name=f"changed datasets {ending}",
            seeds=tuple(each for files in seeds.DIALECTS.values() for name, each in files if name.endswith(ending)),
            parse=in_file(f"data{ending}", change_dataset),
        )
        for ending in (".json", ".jsonl", ".csv")
    ),
)


class GraderBroke(Exception):
    """A grader or a pass rule raised something over an answer."""


def _demo_cases() -> Iterator[Case]:
    for name, files in seeds.DIALECTS.items():
        for file, content in files[:1]:
            path = folder() / file
            path.write_bytes(content)
            yield from list(datasets.read_cases(path, KIT.dialects[name]))[:4]


class AnsweredCases:
    """Cases of every dialect, whose target says what it is told to say; graded by every built-in grader, and by a
    judge."""

    def __init__(self, judge: Judge) -> None:
        path = folder() / "rubric.json"
        path.write_bytes(seeds.demo("test-set/rubric.json"))
        context = GraderContext(judge=judge, rubric=read_rubric(path), contracts=KIT.contracts)
        graders = (each.bind(context) if isinstance(each, BindableGrader) else each for each in KIT.graders)
        self._graders = tuple(graders)
        self._cases = [msgspec.structs.replace(case, recorded=None) for case in _demo_cases()]
        self._rules = rules_for(RunRequest(), KIT)

    def answer(self, text: str) -> None:
        for case in self._cases:
            target = ScriptedTarget(*[text] * 20)
            result = asyncio.run(try_case(case, CandidateRepeat(target=target, graders=self._graders), self._rules))
            broken = [each for each in result.failures if each.kind in ("GraderFailed", "PolicyFailed")]
            if broken:
                raise GraderBroke(str(broken))
            storable(result)


class RepeatingJudge:
    """Says the same to every question."""

    name = "repeating"
    reply: Any = ""

    async def ask(self, question: Question) -> JudgeReply:
        return JudgeReply(content=self.reply, judge=self.name)


JUDGE = RepeatingJudge()
_answered: dict[str, AnsweredCases] = {}


def grade_answer(text: str) -> None:
    _answered.setdefault("offline", AnsweredCases(OfflineJudge())).answer(text)


def grade_with_reply(reply: Any) -> None:
    JUDGE.reply = reply
    _answered.setdefault("judged", AnsweredCases(JUDGE)).answer("The parcel ships on Friday.")


TARGETS: tuple[Target, ...] = (
    *_dialect_targets(),
    *_results_targets(),
    *FILES,
    *REPLIES,
    *LANGUAGES,
    Target(name="agents' answers", seeds=seeds.ANSWERS, parse=as_text(grade_answer), seconds=30.0, share=4.0),
    Target(name="judges of graders", seeds=seeds.VERDICTS, parse=as_text(grade_with_reply), seconds=30.0, share=2.0),
    Target(name="judges' objects", seeds=seeds.VERDICTS, parse=as_value(grade_with_reply), seconds=30.0, share=2.0),
    *service.TARGETS,
    *identities.TARGETS,
)
BY_NAME: Mapping[str, Target] = {target.name: target for target in TARGETS}
