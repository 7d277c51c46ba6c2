"""The application: every route, what is done around every request, and the description of it all."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from msgspec import Struct

from assay.api import errors
from assay.api.routes import documents
from assay.api.routes.documents import Shelf
from assay.api.wire import rubrics, test_sets
from assay.model.document import DocumentKind
from assay.services.hosting.host import Host
from assay.version import __version__

PREFIX = "/api/v1"
SHELVES = (
    Shelf(DocumentKind.RUBRIC, "/rubrics", rubrics.RubricGiven, rubrics.RubricShape),
    Shelf(DocumentKind.TEST_SET, "/test-sets", test_sets.TestSetGiven, test_sets.TestSetShape),
    Shelf(DocumentKind.QUESTION_SET, "/question-sets", test_sets.QuestionSetGiven, test_sets.QuestionSetShape),
)


class Access(Struct, frozen=True, kw_only=True):
    """How the service is reached. `keys_needed`: nothing but health is answered without one."""

    keys_needed: bool = False


def create_app(host: Host, access: Access) -> FastAPI:
    app = FastAPI(
        title="Assay",
        version=__version__,
        description="Tells whether an AI agent, bot or model does its job, and how sure it is.",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.host = host
    app.state.keys_needed = access.keys_needed
    errors.install(app)
    app.include_router(_every_route())
    return app


def _every_route() -> APIRouter:
    router = APIRouter(prefix=PREFIX)
    for shelf in SHELVES:
        router.include_router(documents.shelf_router(shelf))
    return router
