"""Templates in files of other tools (Jinja, and Nunjucks as far as it is the same), filled in a sandbox: a dataset may
come from anybody. Nothing of the environment, no file and no module can be reached from one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 2_000_000
"""The longest text that a template may become, in characters."""


class TemplateFailed(ValueError):
    """A template that is malformed, or that cannot be filled."""


class _TemplateSandbox(ImmutableSandboxedEnvironment):
    """No attributes that begin with an underscore, no changes of values, and no numbers or texts without a bound."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        sized = (len(each) if hasattr(each, "__len__") else each for each in (left, right))
        if operator == "**" or abs(prod(each for each in sized if isinstance(each, int))) > LONGEST:
            raise SecurityError(f"`{operator}` may become too large here")
        return super().call_binop(context, operator, left, right)


def _as_javascript(value: Any) -> Any:
    """What Nunjucks writes where Jinja writes Python."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict | list) else value


class _NunjucksObject(dict[str, Any]):
    """An object of Nunjucks: `{% for key, value in it %}` goes over its pairs."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())


def _with_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return _NunjucksObject({key: _with_pairs(each) for key, each in value.items()})
    return [_with_pairs(each) for each in value] if isinstance(value, list) else value


def _sandbox(finalize: Callable[[Any], Any] | None, undefined: type[Undefined]) -> _TemplateSandbox:
    made = _TemplateSandbox(finalize=finalize, undefined=undefined, keep_trailing_newline=True, autoescape=False)
    made.globals = {"range": made.globals["range"], "env": {}}  # the sandbox has bounded the range
    made.filters["dump"] = lambda value, *_: json.dumps(value, ensure_ascii=False)
    made.filters["load"] = lambda value: value if isinstance(value, dict | list) else json.loads(value)
    return made


JINJA = _sandbox(None, StrictUndefined)
NUNJUCKS = _sandbox(_as_javascript, Undefined)


FAULTS = (
    TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError,
)  # fmt: skip


@lru_cache(maxsize=512)
def _compiled(sandbox: _TemplateSandbox, text: str) -> Template:
    return sandbox.from_string(text)


def fill(text: str, values: Mapping[str, Any], sandbox: _TemplateSandbox = NUNJUCKS) -> str:
    """The text with these values in it; `TemplateFailed` says why it cannot be."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    if "{% for" in text and sandbox is NUNJUCKS:
        values = {name: _with_pairs(value) for name, value in values.items()}
    pieces: list[str] = []
    length = 0
    with _attributed():
        for piece in _compiled(sandbox, text).generate(values):
            pieces.append(piece)
            length += len(piece)
            if length > LONGEST:
                raise SecurityError(f"it becomes longer than {LONGEST:,} characters")
    return "".join(pieces)


def value_in(text: str, values: Mapping[str, Any]) -> Any:
    """What an expression comes to, such as `choices.text` or `{{ [a, b] }}`; `TemplateFailed` says why it cannot."""
    bare = text.strip().removeprefix("{{").removesuffix("}}")
    with _attributed():
        return JINJA.compile_expression(bare)(values)


@contextmanager
def _attributed() -> Iterator[None]:
    try:
        yield
    except FAULTS as error:
        raise TemplateFailed(f"the template cannot be filled: {getattr(error, 'message', None) or error}") from error


def fill_all(value: Any, values: Mapping[str, Any]) -> Any:
    """Every text in a value, filled."""
    if isinstance(value, dict):
        return {key: fill_all(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [fill_all(each, values) for each in value]
    return fill(value, values) if isinstance(value, str) else value
