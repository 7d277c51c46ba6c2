"""Secrets removed from text: known keys, and what looks like one in headers, addresses and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[secret]"
SHORTEST = 4
"""Shorter "keys" stand in every other word; hiding them would make texts unreadable and protect nobody."""
LOOKS_SECRET = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?|\bbearer\s+(?=\S{16})"
    r"|\b(?:x-goog-|x-)?api-key[\"']?\s*[:=]\s*[\"']?|[?&](?:api[-_]?)?key=|://[^/\s:@]+:(?=[^/\s@]+@))"
    r"(?P<secret>[^\s\"',;&@]+)",
    re.IGNORECASE,
)
KEYS = re.compile(r"\b(?:sk-[\w-]{16,}|AIza[\w-]{30,}|gsk_\w{20,})")


class Redactor:
    """Removes secrets from text: those it was given, and what looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        if len(secret) >= SHORTEST:
            self._secrets |= {secret, quote(secret, safe="")}

    def clean(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return KEYS.sub(HIDDEN, LOOKS_SECRET.sub(lambda match: match["name"] + HIDDEN, text))
