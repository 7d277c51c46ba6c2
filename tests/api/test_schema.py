"""Every operation of the OpenAPI description, tried with what fits its schema and with what does not, on real things
and on none, on both databases: nothing breaks, nothing is answered that the description does not say, and no key is
left unasked for. `make test` sends what is meant; `make test-thorough` all the rest, `API_TRIES` times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from api.operations import OPERATIONS, World, a_bot
from api.shared import AGENT, Service
from howsure.api.access import ORGANIZATION_HEADER
from howsure.api.app import PREFIX
from howsure.api.requests import IDEMPOTENCY_HEADER

TRIES = int(os.environ.get("API_TRIES", "200"))
DRAWN = max(4, TRIES // 10)
"""How many at least are drawn at random, beside those that go to the bounds of every field."""
UNASKED = 2
"""How many requests of an operation are sent again without a key, and with a wrong one."""
ACCEPTED = ["2xx", "400", "404", "409", "412", "422"]
"""What fits the schema may still name what is not there, or say twice what must be said once: the answer says so."""
FRESH = 6
"""How many things are made for a DELETE to take away."""
STEERED = ("/cancel", "/pause", "/resume", "/retry", "/undelete")
"""What a finished run cannot do any more."""
LONG = 1000
"""Text as long as it may be takes seconds to draw; `test_hostile.py` sends it."""


@cache
def described(base: str) -> Any:
    found = requests.get(f"{base}/openapi.json", timeout=60).json()
    schema = schemathesis.openapi.from_dict(without_long_text(found))
    schema.config.update(base_url=base.removesuffix(PREFIX))
    schema.config.checks.positive_data_acceptance.expected_statuses = ACCEPTED
    return schema


def without_long_text(value: Any) -> Any:
    match value:
        case dict():
            kept = {name: without_long_text(each) for name, each in value.items()}
            return {name: each for name, each in kept.items() if not (name == "maxLength" and each > LONG)}
        case list():
            return [without_long_text(each) for each in value]
        case _:
            return value


@schemathesis.serializer("application/x-ndjson", "text/csv")
def as_it_is(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


class Bench:
    """A service with real things, and whoever tries it."""

    def __init__(self, service: Service) -> None:
        self.world = World(service.asker(organization_id=None))
        # Organisations of other tests have this agent too: whoever sees them all needs one of their own.
        assert self.world.ask("PUT", f"/bots/{AGENT}/context", a_bot(), X_Organization="").status == 200
        self.base = service.base.removesuffix(PREFIX)
        self._headers = {"Authorization": f"Bearer {self.world.ask.key}"}
        self._session = requests.Session()

    def close(self) -> None:
        self._session.close()

    def check(self, case: Any, *, unasked: bool) -> int:
        response = case.call(self.base, session=self._session, headers=self._headers, timeout=60)
        excluded = [] if unasked else [ignored_auth]
        if response.status_code == 403 and ORGANIZATION_HEADER in (case.headers or {}):
            excluded.append(positive_data_acceptance)  # whoever speaks for one organisation may not do everything
        case.validate_response(
            response, headers=self._headers, excluded_checks=excluded, transport_kwargs={"base_url": self.base}
        )
        return int(response.status_code)


@pytest.fixture(scope="module")
def benches(services: Callable[[str], Service]) -> Iterator[list[Bench]]:
    found = [Bench(services(kind)) for kind in ("sqlite", "postgresql")]
    yield found
    for bench in found:
        bench.close()


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


class Trial:
    """Tries one operation."""

    def __init__(self, benches: list[Bench], method: str, path: str) -> None:
        self._benches = benches
        self._method = method
        self._path = path
        self.statuses: set[int] = set()
        self.number = 0
        self._fresh = FRESH

    def on_both(self, case: Any, *, real: bool) -> None:
        self.number += 1
        if case.meta is not None:
            self._named(case)
        for bench in self._benches:
            if real:
                self._filled(case, bench.world)
            self.statuses.add(bench.check(case, unasked=self.number <= UNASKED))

    def _named(self, case: Any) -> None:
        """Sent under the name of another request, it would be refused for that alone."""
        if case.headers and IDEMPOTENCY_HEADER in case.headers and case.meta.generation.mode is GenerationMode.POSITIVE:
            case.headers[IDEMPOTENCY_HEADER] = f"{self._path} {self.number}"

    def _filled(self, case: Any, world: World) -> None:
        """Real things are there without an organisation."""
        self._fresh -= 1
        if case.headers:
            case.headers.pop(ORGANIZATION_HEADER, None)
        if self._method != "DELETE" or self._fresh >= 0:
            case.path_parameters = {**(case.path_parameters or {}), **world.path_parameters(self._method, self._path)}
        if isinstance(case.body, dict):
            case.body = {**case.body, **world.body_fields(set(case.body))}


every_operation = pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda text: text.removeprefix(PREFIX))


@every_operation
def test_an_operation_takes_what_it_is_meant_to(benches: list[Bench], method: str, path: str) -> None:
    operation = described(benches[0].world.ask.service.base)[path][method]
    trial = Trial(benches, method, path)
    for wanted in benches[0].world.good_requests(method, path):
        trial.on_both(operation.Case(**wanted), real=True)
    assert {status // 100 for status in trial.statuses} == {4 if path.endswith(STEERED) else 2}


@pytest.mark.thorough
@every_operation
def test_an_operation_does_what_its_description_says(benches: list[Bench], method: str, path: str) -> None:
    schema = described(benches[0].world.ask.service.base)
    operation = schema[path][method]
    trial = Trial(benches, method, path)
    for case in at_the_bounds(schema, operation):
        fits = case.meta.generation.mode is GenerationMode.POSITIVE
        trial.on_both(case, real=fits and trial.number % 2 == 0)

    @tried(max(DRAWN, TRIES - trial.number))
    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE), real=st.booleans())
    def drawn(case: Any, real: bool) -> None:
        trial.on_both(case, real=real)

    drawn()


def at_the_bounds(schema: Any, operation: Any) -> list[Any]:
    """At, just within and just beyond the bounds of every field, without it, with another type in it …; of very many,
    every so manyeth."""
    modes, config = list(GenerationMode), schema.config.generation_for(operation=operation)
    found = list(schema.iter_coverage_cases(operation, generation_modes=modes, generation_config=config))
    return found[:: 1 + len(found) // (2 * TRIES)]
