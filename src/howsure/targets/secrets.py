"""Keeping secrets out of what is kept: the values that came from the environment, wherever a bot may repeat them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from howsure.llm.redact import HIDDEN, Redactor

SHORTEST = 8
"""Shorter values (a region, a tenant) are words a bot may say of its own accord: they are hidden in errors only."""


class Secrets:
    """Hides the secrets it was told of: in errors, with whatever looks like one; in answers, those alone."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value.strip() for value in values} - {""}
        # "Bearer xyz" as one variable: the key alone is a secret too.
        known |= {word for value in known for word in value.split() if len(word) >= 2 * SHORTEST}
        self._redactor = Redactor(known)
        self._known = sorted((value for value in known if len(value) >= SHORTEST), key=len, reverse=True)
        self._bytes = [form for value in self._known for form in _forms(value)]

    def clean(self, message: str) -> str:
        """A message for people."""
        return self._redactor.clean(message)

    def clean_text(self, text: str) -> str:
        for value in self._known:
            text = text.replace(value, HIDDEN)
        return text

    def clean_bytes(self, body: bytes) -> bytes:
        """A body as it came."""
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
