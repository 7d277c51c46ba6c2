"""A target's block in `howsure.yaml`, read strictly, with every wrong setting in one error; and the secrets that
settings name, kept out of messages and answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from howsure.errors import ConfigInvalid
from howsure.llm.redact import HIDDEN, Redactor
from howsure.targets.base import TargetRequest

Block = TypeVar("Block", bound=Struct)

VARIABLE = re.compile(r"\$\{(?P<name>[^}]*)\}")
SECRET = re.compile(r"authorization|cookie|(^|[-_])(api[-_]?key|token|secret)($|[-_])", re.IGNORECASE)


class SettingProblems:
    """The wrong settings so far, each with its place."""

    def __init__(self, request: TargetRequest) -> None:
        self._place = f"targets.{request.name}"
        self.messages: list[str] = []

    def add(self, field: str, message: str) -> None:
        self.messages.append(f"`{self._place}.{field}`: {message}")

    def raise_if_any(self) -> None:
        if self.messages:
            raise ConfigInvalid("; ".join(self.messages))


def read_block(values: Mapping[str, Any], block: type[Block], problems: SettingProblems) -> Block:
    """The block; a wrong setting is added to `problems` and keeps its default."""
    known = {one.name: one.type for one in fields(block)}
    valid: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean `{close[0]}`? " if close else ""
            problems.add(name, f"is not a setting; {hint}known: {', '.join(known)}")
            continue
        try:
            valid[name] = msgspec.convert(value, known[name])
        except msgspec.ValidationError as error:
            problems.add(name, str(error))
    return block(**valid)


def request_block(request: TargetRequest, rest: str, block: type[Block], problems: SettingProblems) -> Block:
    """The block of a request; what follows the kind in `--target kind:…` is the setting `rest`."""
    settings = {name: value for name, value in request.settings.items() if name != "kind"}
    return read_block({**settings, rest: request.rest} if request.rest else settings, block, problems)


def check_seconds(field: str, seconds: float, problems: SettingProblems) -> None:
    if not 0 < seconds < float("inf"):
        problems.add(field, f"expected a number of seconds above 0, found {seconds}")


class Headers(Struct, frozen=True):
    """Headers as they are sent, and the values in them that came from the environment: these are secret."""

    filled: dict[str, str]
    secrets: tuple[str, ...] = ()


def filled_headers(headers: Mapping[str, str], environ: Mapping[str, str], problems: SettingProblems) -> Headers:
    """Headers with every `${NAME}` replaced from the environment. A secret that stands in the file is refused."""
    filled: dict[str, str] = {}
    secrets: list[str] = []
    for name, value in headers.items():
        variables = [match["name"] for match in VARIABLE.finditer(value)]
        if not variables and SECRET.search(name):
            problem = "a secret may not stand in a file; put it into the environment and write ${NAME_OF_THE_VARIABLE}"
            problems.add(f"headers.{name}", problem)
        for variable in variables:
            if not environ.get(variable):
                problem = f"the environment has no {variable!r}; set it, or write the name of another variable"
                problems.add(f"headers.{name}", problem)
        secrets += [environ.get(variable, "") for variable in variables]
        filled[name] = VARIABLE.sub(lambda match: environ.get(match["name"], ""), value)
    return Headers(filled, tuple(secrets))


SHORTEST = 8
"""Shorter values (a region, a tenant) are words that a bot may say by itself: they are hidden in errors only."""


class Secrets:
    """Hides known secrets: in errors, with whatever looks like one; in answers, the known ones alone."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value.strip() for value in values} - {""}
        # "Bearer xyz" as one variable: the key alone is a secret too.
        known |= {word for value in known for word in value.split() if len(word) >= 2 * SHORTEST}
        self._redactor = Redactor(known)
        self._known = sorted((value for value in known if len(value) >= SHORTEST), key=len, reverse=True)
        self._bytes = [form for value in self._known for form in _forms(value)]

    def clean(self, message: str) -> str:
        """A message for people, cleaned."""
        return self._redactor.clean(message)

    def clean_text(self, text: str) -> str:
        for value in self._known:
            text = text.replace(value, HIDDEN)
        return text

    def clean_bytes(self, body: bytes) -> bytes:
        """A body as it came, cleaned."""
        for form in self._bytes:
            if form in body:
                body = body.replace(form, HIDDEN.encode())
        return body


def _forms(value: str) -> list[bytes]:
    """As it is, and as JSON writes it."""
    plain = value.encode("utf-8", "surrogatepass")
    try:
        written = msgspec.json.encode(value)[1:-1]
    except UnicodeEncodeError:
        return [plain]
    return [plain] if written == plain else [plain, written]
