"""The application: every route, what is done around every request, and the description of it all."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, FastAPI
from msgspec import Struct
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from howsure.api import bodies, errors
from howsure.api.access import ORGANIZATION_HEADER
from howsure.api.audit import AuditMiddleware
from howsure.api.counters import PREFIX as PREFIX
from howsure.api.counters import Counters
from howsure.api.http_answers import HttpAnswers
from howsure.api.middleware import BODY_SECONDS, CHUNK_SECONDS, RequestLimits, RequestMiddleware
from howsure.api.openapi import DescribedApp, operation_id
from howsure.api.pages import NEXT_CURSOR
from howsure.api.requests import IDEMPOTENCY_HEADER
from howsure.api.routes import admin, analyses, bots, datasets, discovery, documents, labels, runs, webhooks
from howsure.api.routes.documents import DocumentRoutes
from howsure.model.document import DocumentKind
from howsure.services.host.run_views import RunViews
from howsure.services.host.throttles import ATTEMPTS_BY_ADDRESS, RATE_HEADERS, RequestRates, SignInThrottle
from howsure.services.workspace import Host
from howsure.version import __version__
from howsure.wire.documents import EvaluatorConfig, QuestionSet, Rubric, TestSet

DOCUMENT_ROUTES = (
    DocumentRoutes(DocumentKind.RUBRIC, "/rubrics", bodies.RubricGiven, Rubric),
    DocumentRoutes(DocumentKind.TEST_SET, "/test-sets", bodies.TestSetGiven, TestSet),
    DocumentRoutes(DocumentKind.QUESTION_SET, "/question-sets", bodies.QuestionSetGiven, QuestionSet),
    DocumentRoutes(DocumentKind.GRADERS, "/evaluator-configs", bodies.ConfigGiven, EvaluatorConfig),
)


class ServiceAccess(Struct, frozen=True, kw_only=True):
    """How the service is reached. `keys_needed`: only health is answered without a key. `host_names`: the host names it
    answers to; empty: any. `wrong_keys`: how many wrong keys one address may send within five minutes."""

    keys_needed: bool = False
    host_names: tuple[str, ...] = ()
    wrong_keys: int = ATTEMPTS_BY_ADDRESS
    chunk_seconds: float = CHUNK_SECONDS
    body_seconds: float = BODY_SECONDS


def create_app(host: Host, access: ServiceAccess) -> FastAPI:
    app = DescribedApp(
        title="Howsure",
        version=__version__,
        description="Tells whether an AI agent, bot or model does its job, and how sure it is.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
    )
    app.state.host = host
    app.state.run_views = RunViews(host.store)
    app.state.keys_needed = access.keys_needed
    app.state.counters = Counters()
    rules = host.rules
    app.state.wrong_keys = SignInThrottle(by_address=access.wrong_keys)
    app.state.rates = RequestRates(rules.requests_per_minute) if rules.requests_per_minute else None
    errors.install(app)
    if rules.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(rules.origins),
            allow_methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                *("Authorization", "Content-Type", "If-Match", "If-None-Match", "X-API-Key"),
                *(IDEMPOTENCY_HEADER, ORGANIZATION_HEADER),
            ],
            expose_headers=["ETag", "Link", "Location", NEXT_CURSOR, "Retry-After", *RATE_HEADERS],
        )
    # One by one: nested routers are copied, route by route, at each level.
    for router in routers():
        app.include_router(router, prefix=PREFIX)
    return app


def create_service(host: Host, access: ServiceAccess, pages: ASGIApp | None = None) -> ASGIApp:
    """The application with everything around it, ready to be served; `pages` answers what is not the API's."""
    app = create_app(host, access)
    limits = RequestLimits(
        largest_body=host.rules.largest_body,
        largest_json=host.rules.largest_json,
        hosts=access.host_names,
        proxies=host.rules.proxies,
        chunk_seconds=access.chunk_seconds,
        body_seconds=access.body_seconds,
    )

    api = HttpAnswers(app)

    async def api_or_pages(scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope.get("path", "").startswith(f"{PREFIX}/")
        await (api if pages is None or is_api else pages)(scope, receive, send)

    audited = AuditMiddleware(api if pages is None else api_or_pages, host.store)
    return RequestMiddleware(audited, limits, app.state.counters)


def routers() -> Iterator[APIRouter]:
    for shelf in DOCUMENT_ROUTES:
        yield documents.document_router(shelf)
    yield from (runs.stream_router, runs.router, labels.router, runs.evaluation_router, datasets.router)
    yield from (
        analyses.router,
        bots.router,
        discovery.router,
        webhooks.router,
        admin.bulk_router,
        admin.router,
        admin.health_router,
        admin.metrics_router,
    )
