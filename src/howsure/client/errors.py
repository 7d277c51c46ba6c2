"""What a client raises, one class for each thing that a caller might do about it.

ServiceError
├── Unauthorized      401: no key, or one that opens nothing
├── Forbidden         403: the key lacks a scope
├── ResourceNotFound  404; also a `howsure.errors.NotFound`
├── Conflicting       409; also a `howsure.errors.Conflict`
├── VersionConflict   412: somebody else changed the document; read it again
├── Invalid           400, 413, 415, 422: `problems` lists all that is wrong; also a `howsure.InputError`
├── Unavailable       502, 503, 504, or no connection; tried again where that does no harm
├── WaitedTooLong     a run did not end in the time it was given
└── ServiceError      anything else: 500, or an answer that is not the service's
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from howsure.errors import Conflict, HowsureError, InputError, NotFound

SHOWN = 5
"""How many problems the message of an error tells; `problems` has them all."""


class RequestProblem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with what was sent, and where."""

    message: str
    code: str = ""
    field: str = ""
    line: int | None = None
    column: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line is not None else ""
        where = " ".join(part for part in (line, f"`{self.field}`" if self.field else "") if part)
        return f"{where}{': ' if where else ''}{self.message}{f' ({self.hint})' if self.hint else ''}"


class ServiceError(HowsureError):
    """The service could not do what was asked. `kind` is stable; `detail` is a sentence for a person."""

    retry_after = 0.0
    """Seconds to wait before the next try, as the service asks."""

    def __init__(
        self,
        detail: str,
        *,
        kind: str = "",
        status: int | None = None,
        problems: Sequence[RequestProblem] = (),
        request_id: str = "",
    ) -> None:
        self.detail = detail
        self.kind = kind
        self.status = status
        self.problems = tuple(problems)
        self.request_id = request_id
        further = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        listed = "; ".join(map(str, self.problems[:SHOWN]))
        super().__init__(f"{detail}: {listed}{further}" if listed else detail)


class Unauthorized(ServiceError):
    """The service does not know who asks."""


class Forbidden(ServiceError):
    """The key may not do that."""


class ResourceNotFound(ServiceError, NotFound):
    """There is no such thing, or the key may not see it."""


class Conflicting(ServiceError, Conflict):
    """It cannot be done to what is there now."""


class VersionConflict(ServiceError, Conflict):
    """The document is not at the version that was read."""


class Invalid(ServiceError, InputError):
    """What was sent is wrong; `problems` says where."""


class Unavailable(ServiceError):
    """The service cannot be reached, or cannot work just now."""


class WaitedTooLong(ServiceError, TimeoutError):
    """The wait ended before the run did; the run continues."""


KINDS: dict[int, type[ServiceError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: ResourceNotFound,
    409: Conflicting,
    412: VersionConflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


class _ErrorBody(Struct, frozen=True):
    """The body of every error of the service."""

    error: str
    detail: str
    problems: list[RequestProblem] | None = None


def error_of(status: int, body: bytes, place: str, request_id: str = "") -> ServiceError:
    """The error that an answer says. What is not the service's own (a proxy's page, a redirect) is named as that."""
    kind = KINDS.get(status, ServiceError)
    try:
        answer = msgspec.json.decode(body, type=_ErrorBody)
    except (msgspec.DecodeError, UnicodeDecodeError):
        detail = f"{place} answered {status}, and not as the service does: is this the service's address?"
        return kind(detail, status=status, request_id=request_id)
    return kind(answer.detail, kind=answer.error, status=status, problems=answer.problems or (), request_id=request_id)


def unreadable(place: str, error: Any) -> ServiceError:
    return ServiceError(f"the answer of {place} cannot be read: {error}", kind="unreadable")
