"""A row of the net: small files, one option or key, what is seen with it, and what is seen without it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

Files = Mapping[str, Any]
Expected = Mapping[str, Any]


class Row(Struct, frozen=True):
    """One effect of one option or key, observed from outside.

    `of` is the option or argument with its command (`run --limit`, `show CASE`), or a key of howsure.yaml as
    docs/settings.md lists it (`profiles.*.marks`). `given` is what is typed at the end of `run` (or at `{given}`), or
    for a key what stands in howsure.yaml; `other` is what is given on the other side, where that is more than nothing.
    `expect` holds with `given` and does not hold with `other`; `absent` says what holds there instead.

    `files` are beside those of the `world`: text as it is, a list as lines of JSON, anything else as JSON. `before`
    are commands that both sides run first (`! ` before one that does not end with 0), `look` is one that is run after
    it and looked at in its place. A `slow` row starts processes of its own, and is run through the installed command
    alone. `guards` names the mend of issue 17 whose loss the row would notice.

    What may be expected: `exit` (0 where nothing is said); `out`, `err` (one text or several that must be there; `no
    out`, `no err`: must not); `file NAME` and `no file NAME` (text in it, "" for the file itself; NAME may hold `*`);
    `verdicts` by case; `scores` by `case grader`; `flags` by case; `has PATH` (a text in the value there); `is json`;
    and anything else is a dotted path into the JSON on stdout, `#` at its end for a length.
    """

    of: str
    shows: str
    given: str
    run: str
    expect: Expected
    absent: Expected = field(default_factory=dict)
    other: str = ""
    world: str = "legal"
    files: Files = field(default_factory=dict)
    settings: str = ""
    before: tuple[str, ...] = ()
    look: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    slow: bool = False
    guards: str = ""

    @property
    def is_key(self) -> bool:
        return " " not in self.of and not self.of.startswith("-")

    def side(self, given: str) -> Side:
        """What is run with this in the place of the option."""
        command = self.run.replace("{given}", "" if self.is_key else given)
        if not self.is_key and "{given}" not in self.run:
            command = f"{command} {given}"
        settings = "\n".join(filter(None, (self.settings, given if self.is_key else "")))
        files = {**self.files, **({"howsure.yaml": settings} if settings else {})}
        return Side(
            world=self.world,
            files=json.dumps(files, ensure_ascii=False),
            before=self.before,
            command=command.strip(),
            look=self.look,
            env=json.dumps(self.env),
            stdin=self.stdin,
        )


class Side(Struct, frozen=True, kw_only=True):
    """One of the two runs of a row. Equal sides are run once."""

    world: str
    files: str
    before: tuple[str, ...]
    command: str
    look: str
    env: str
    stdin: str


def file_bytes(content: Any) -> bytes:
    """Text as it is (or in base64, where it says so), a list as lines of JSON, anything else as JSON."""
    if isinstance(content, str):
        return b64decode(content[7:]) if content.startswith("base64:") else content.encode()
    if isinstance(content, list):
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in content).encode()
    return json.dumps(content, ensure_ascii=False).encode()
