"""What is done with every request: the caller is identified, JSON is read strictly (no NaN, no half characters, no
endless nesting), a POST with an `Idempotency-Key` is done once. What such a POST creates has an id
made from the key, so that a crash between doing and answering makes no duplicate."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_args, get_origin
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
from fastapi import Depends
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Cookie, Header
from fastapi.params import Path as PathParameter
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from howsure.api.access import identify_caller
from howsure.api.bodies import RunOptionsBody
from howsure.api.errors import field_place, problem_code, shape_problems
from howsure.api.middleware import UPLOADS
from howsure.dialects.strict_json import parse_json
from howsure.errors import MAX_PROBLEMS, DatasetInvalid, PlanRefused, Problem
from howsure.model.document import DocumentKind
from howsure.model.run_request import RunRequest
from howsure.services.host.json_limits import check_nul
from howsure.services.host.keys import Caller
from howsure.services.host.request_checks import RequestFaults
from howsure.services.host.run_requests import document
from howsure.services.host.uploads import spool_upload
from howsure.services.workspace import Host
from howsure.store.logs import IdempotentAnswer

IDEMPOTENCY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
MAX_KEY_LENGTH = 200

Do = Callable[[Request], Coroutine[Any, Any, Response]]


def key_of(request: Request) -> str:
    """The key that a POST names; "" where it names none."""
    key = request.headers.get(IDEMPOTENCY_HEADER, "") if request.method == "POST" else ""
    if len(key) > MAX_KEY_LENGTH or not key.isprintable() or not key.isascii():
        raise HTTPException(422, f"{IDEMPOTENCY_HEADER}: expected at most {MAX_KEY_LENGTH} printable ASCII characters")
    return key


def new_id(request: Request) -> str:
    """The id of what this request creates."""
    key = key_of(request)
    made = uuid5(NAMESPACE_URL, f"howsure:{_whose(request)}:{request.url.path}:{key}") if key else uuid4()
    # What the audit log names.
    request.state.subject = str(made)
    return str(made)


def _whose(request: Request) -> str:
    """Keys are the caller's own: another caller, who may do less, is never given what this one was answered."""
    caller: Caller = request.state.caller
    return f"{caller.within.home}/{caller.id}"


def store_instead(request: Request, body: Any) -> None:
    """What a repeated request is answered, where the first answer holds something that is shown once."""
    request.state.kept = msgspec.json.encode(body)


async def answer_once(request: Request, do: Do) -> Response:
    """Answer a request, or give the answer that it got before. The caller is known by now."""
    key = key_of(request)
    if not key:
        return await do(request)
    host: Host = request.app.state.host
    content = getattr(request.state, "upload_hash", b"") or await request.body()
    request_hash = sha256(b"\n".join((request.method.encode(), str(request.url).encode(), content))).hexdigest()
    before = await host.store.answers.begin(_whose(request), key, request_hash)
    if before is not None:
        headers = {**msgspec.json.decode(before.headers, type=dict[str, str]), REPLAYED_HEADER: "true"}
        return Response(before.body, before.status, headers)
    stored: IdempotentAnswer | None = None
    try:
        response = await do(request)
        if response.status_code < 400:
            headers = {name: value for name, value in response.headers.items() if name != "content-length"}
            stored = IdempotentAnswer(
                response.status_code, msgspec.json.encode(headers), getattr(request.state, "kept", bytes(response.body))
            )
    finally:
        await host.store.answers.end(_whose(request), key, stored)
    return response


READING = ("GET", "HEAD", "OPTIONS")
LARGE_BODY = 64 * 1024
"""A smaller one cannot have problems enough to matter."""
MANY = 10 * MAX_PROBLEMS
# One thread for all large bodies: reading one holds the interpreter, and others are answered between two of them.
_CHECKS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="howsure-bodies")


async def _in_turn(work: Callable[..., Any], *args: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_CHECKS, work, *args)


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = read_json(body) if len(body) < LARGE_BODY else await _in_turn(read_json, body)
        return self._json


Judge = Callable[[Request, dict[str, Any]], Awaitable[Sequence[Problem]]]


def judged_by(judge: Judge) -> Any:
    """For a route whose body means more than its shape says. Where the shape is wrong, `judge` tells what else is wrong
    with it, so that one answer has all of it."""

    async def keep(request: Request) -> None:
        request.state.judge = judge

    return Depends(keep)


Check = Callable[[Request, Any, RequestFaults], Coroutine[Any, Any, None]]


def also_checked(model: type[BaseModel], check: Check) -> list[Any]:
    """The dependency of a route that collects the faults of the fields that are well-formed."""

    async def judge(request: Request, body: dict[str, Any]) -> Sequence[Problem]:
        faults = RequestFaults()
        await check(request, well_formed(model, body), faults)
        # Of a version nothing is known where the id beside it is not well-formed.
        told = [(each, each.field.removesuffix("_version")) for each in faults.problems()]
        return [each for each, name in told if name == each.field or f"{name}_id" not in body]

    return [judged_by(judge)]


async def _all_problems(request: Request, error: RequestValidationError) -> DatasetInvalid:
    found = shape_problems(error)
    judge: Judge | None = getattr(request.state, "judge", None)
    further = await judge(request, error.body) if judge is not None and isinstance(error.body, dict) else ()
    known = {each.field for each in found}
    return DatasetInvalid("request", [*found, *(each for each in further if each.field not in known)])


Given = TypeVar("Given", bound=BaseModel)


def well_formed(model: type[Given], body: Mapping[str, Any]) -> Given:
    """The fields of a body that have their shape. Others have their default; without one, they are None."""
    values: dict[str, Any] = dict.fromkeys(name for name, field in model.model_fields.items() if field.is_required())
    for name, field in model.model_fields.items():
        with suppress(ValidationError):
            if name in body:
                values[name] = TypeAdapter[Any](field.rebuild_annotation()).validate_python(body[name])
    return model.model_construct(**values)


class StrictRoute(APIRoute):
    """A route whose caller is identified."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known, repeatable = query_names(self)

        async def strictly(plain: Request) -> Response:
            request = StrictRequest(plain.scope, plain.receive)
            request.state.caller = await identify_caller(request)
            _check_type(request)
            _check_query(request, known, repeatable)
            async with received_body(request):
                # Read here: the framework takes whatever is wrong with a body for one that cannot be parsed.
                if self.body_field is not None and await request.body() and _sends_json(request):
                    value = await request.json()
                    if len(await request.body()) > LARGE_BODY:
                        await _in_turn(count_problems, self.body_field.field_info.annotation, value)
                try:
                    return await answer_once(request, answer)
                except RequestValidationError as error:
                    raise await _all_problems(request, error) from None

        return strictly


def query_names(route: APIRoute) -> tuple[frozenset[str], frozenset[str]]:
    """The parameters that a route reads from the address, and those among them that may be sent several times."""
    elsewhere = (PathParameter, Header, Cookie)
    fields = [each for each in get_flat_params(route.dependant) if not isinstance(each.field_info, elsewhere)]
    lists = frozenset(each.alias for each in fields if _is_list(each.field_info.annotation))
    return frozenset(each.alias for each in fields), lists


def _is_list(kind: Any) -> bool:
    return any(get_origin(each) is list for each in (kind, *get_args(kind)))


def _check_query(request: Request, known: frozenset[str], repeatable: frozenset[str]) -> None:
    """A parameter that nothing reads is a mistake of its sender: what it asks for would not happen. So is one that is
    sent twice where one value is read."""
    sent = Counter(name for name, _ in request.query_params.multi_items())
    listed = f"this address takes {', '.join(sorted(known))}" if known else "this address takes none"
    problems = [
        Problem(code="unknown-parameter", field=name[:200], message=f"there is no such parameter; {listed}")
        for name in sorted(sent.keys() - known)
    ]
    problems += [
        Problem(code="too-many", field=name, message=f"this parameter is sent {number} times: send it once")
        for name, number in sorted(sent.items())
        if number > 1 and name in known - repeatable
    ]
    if problems:
        raise DatasetInvalid("query", problems)


def count_problems(model: type[BaseModel], value: Any) -> None:
    """DatasetInvalid for a large body with more problems than are listed, before the framework builds all of them. Long
    lists are checked piece by piece, so that other threads have their turn."""
    if not isinstance(value, dict):
        return
    if len(value) > MAX_PROBLEMS:
        raise DatasetInvalid("body", [Problem(code="too-many-fields", message=f"{len(value):,} fields are too many")])
    problems: list[Problem] = []
    number = 0
    for name, field in model.model_fields.items():
        given, adapter = value.get(name), TypeAdapter[Any](field.rebuild_annotation())
        size = len(given) if isinstance(given, list) else 1
        for start in range(0, size, MAX_PROBLEMS) if isinstance(given, list | dict) else ():
            try:
                adapter.validate_python(given[start : start + MAX_PROBLEMS] if isinstance(given, list) else given)
            except ValidationError as error:
                number += error.error_count()
                if len(problems) < MAX_PROBLEMS and error.error_count() < MANY:
                    problems += _listed(error, name, start if isinstance(given, list) else None)
    if number > MAX_PROBLEMS:
        raise DatasetInvalid("body", problems[:MAX_PROBLEMS], number - len(problems[:MAX_PROBLEMS]))


def _listed(error: ValidationError, name: str, start: int | None) -> list[Problem]:
    """The problems of a field, or of a part of it that begins at `start`."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    places = [each["loc"] if start is None else (start + int(each["loc"][0]), *each["loc"][1:]) for each in found]
    return [
        Problem(code=problem_code(each["type"]), field=field_place(("", name, *place)), message=each["msg"])
        for each, place in zip(found, places, strict=True)
    ]


@asynccontextmanager
async def received_body(request: Request) -> AsyncIterator[None]:
    """Wait for the body: an upload is then a file at `request.state.upload`, any other body is in memory. It is read
    here, because the framework reports every fault during receiving as a body that cannot be parsed."""
    if request.scope["path"] not in UPLOADS:
        await request.body()
        yield
        return
    with TemporaryDirectory() as folder:
        request.state.upload = Path(folder) / "upload"
        request.state.upload_hash = await spool_upload(request.stream(), request.state.upload)
        yield


def read_json(body: bytes) -> Any:
    """The value; DatasetInvalid with every problem and its place, as a file would have it."""
    check_nul(body)
    value, problems = parse_json(body, file="")
    if problems:
        raise DatasetInvalid("body", problems)
    return value


def _sends_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _check_type(request: Request) -> None:
    """A browser sends forms and plain text to any address without caller; JSON it does not."""
    if request.method in READING:
        return
    media_type = request.headers.get("content-type", "")
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    allowed = ("application/json", "application/x-ndjson", "application/octet-stream", "text/csv", "application/jsonl")
    if has_body and not media_type.lower().startswith(allowed):
        raise HTTPException(415, f"send JSON (content-type application/json), not {media_type or 'nothing'}")


RENAMED = {"eval_model": "judge", "initial_payload": "state"}
"""Fields of a body that have another name in a run request."""


def run_request(
    body: RunOptionsBody, cases: tuple[str, ...], agent_id: str | None, faults: RequestFaults, criteria_from: str = ""
) -> RunRequest:
    """Every field of the body that a run request has; `cases` names the documents that hold the cases."""
    for name in ("rubric", "test_set", "question_set"):
        with faults.of(f"{name}_version"):
            if getattr(body, f"{name}_version", None) and not getattr(body, f"{name}_id", None):
                raise PlanRefused(f"{name}_version: say of which one, with {name}_id")
    fields = {RENAMED.get(name, name): tuple(value) if isinstance(value, list) else value for name, value in body}
    known: dict[str, Any] = {
        name: value for name, value in fields.items() if name in RunRequest.__struct_fields__ and value is not None
    }
    config = document(DocumentKind.GRADERS, body.config_id)
    further = (document(DocumentKind.RUBRIC, key) for key in body.rubric_ids)
    rubrics = (document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version), *further)
    return RunRequest(
        **known,
        datasets=cases,
        criteria_from=criteria_from,
        rubric=" ".join(filter(None, rubrics)),
        agent=document(DocumentKind.AGENT, agent_id),
        graders=(config,) if config else None,
        filters={"id": tuple(body.item_ids)} if body.item_ids else {},
    )
