"""Every operation of the OpenAPI description, tried with what fits its schema and with what does not, on real things and
on none: nothing breaks, nothing is answered that the description does not say, and no key is left unasked for.
`API_EXAMPLES=500` tries harder."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth

from api.operations import OPERATIONS, World
from api.shared import Service
from assay.api.app import PREFIX

TRIES = int(os.environ.get("API_EXAMPLES", "50"))
NEGATIVE = max(1, TRIES * 2 // 5)
UNASKED = 3
"""How many requests of an operation are sent again without a key, and with a wrong one."""
ACCEPTED = ["2xx", "400", "404", "409", "412", "422"]
"""What fits the schema may still name what is not there, or say twice what must be said once: the answer says so."""


@cache
def described(base: str, key: str) -> Any:
    schema = schemathesis.openapi.from_url(f"{base}/openapi.json")
    schema.config.update(headers={"Authorization": f"Bearer {key}"})
    schema.config.checks.positive_data_acceptance.expected_statuses = ACCEPTED
    return schema


@pytest.fixture(scope="session")
def world(service: Service) -> World:
    return World(service.asker(organization_id=None))


@pytest.fixture(scope="session")
def session() -> Any:
    with requests.Session() as session:
        yield session


def tried(number: int) -> Callable[..., Any]:
    """So often, and the same each time."""
    return settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda text: text.removeprefix(PREFIX))
def test_an_operation_does_what_its_description_says(
    world: World, session: requests.Session, method: str, path: str
) -> None:
    schema = described(world.ask.service.base, world.ask.key)
    operation = schema[path][method]
    headers = {"Authorization": f"Bearer {world.ask.key}"}
    left = [UNASKED]

    def check(case: Case) -> None:
        response = case.call(session=session, headers=headers, timeout=60)
        left[0] -= 1
        excluded = [] if left[0] >= 0 else [ignored_auth]
        case.validate_response(response, headers=headers, excluded_checks=excluded)

    @tried(TRIES - NEGATIVE)
    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE), real=st.booleans())
    def fitting(case: Case, real: bool) -> None:
        if real:
            case.path_parameters = {**(case.path_parameters or {}), **world.path_parameters(method, path)}
        if real and isinstance(case.body, dict):
            case.body = {**case.body, **world.body_fields(set(case.body))}
        check(case)

    @tried(NEGATIVE)
    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def unfitting(case: Case) -> None:
        check(case)

    fitting()
    if operation.path_parameters or operation.query or operation.body:
        unfitting()
