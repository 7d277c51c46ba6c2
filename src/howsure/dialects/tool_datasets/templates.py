"""Templates in files of other tools (Jinja, and Nunjucks as far as it is the same), filled in a sandbox: a dataset may
come from anybody. Nothing of the environment, no file and no module can be reached from one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from math import prod
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

LONGEST = 2_000_000
"""The longest text that a template may become, in characters."""
MOST_WORK = 10_000_000
"""What one template may look at and make: characters, ELEMENT for each value, and STEP for each call and each turn of a
loop."""
STEP, ELEMENT = 500, 20
PRODUCTS = (
    "join", "indent", "center", "ljust", "rjust", "zfill", "expandtabs", "batch", "slice", "wordwrap",
    "to_bytes",
)  # fmt: skip
"""What these make may be as large as the product of what they are given."""
FORMATS = ("format", "format_map")
FILTERS = (
    "abs", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape", "first", "float",
    "format", "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min",
    "random", "reject", "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice", "sort",
    "string", "title", "tojson", "trim", "truncate", "unique", "upper", "urlencode", "wordcount", "wordwrap",
)  # fmt: skip
_WIDE = re.compile(r"[0-9]{4}|\*|\{[^{}]*\{")
"""A field of a format that is wide, or whose width another value says."""
_left: ContextVar[list[int]] = ContextVar("howsure_template_work")


class TemplateFailed(ValueError):
    """A template that is malformed, or that cannot be filled."""


def _size(value: Any) -> int:
    sized = isinstance(value, str | bytes | list | tuple | dict | set | frozenset | range)
    return len(value) if sized else abs(value) if isinstance(value, int) else 1


def _spend(*values: Any) -> None:
    """Take a step, and what these values hold, from what the template may still do."""
    left, waiting = _left.get(), list(values)
    left[0] -= STEP
    while waiting:
        each = waiting.pop()
        left[0] -= ELEMENT + (0 if isinstance(each, int) else _size(each))
        if left[0] < 0:
            raise SecurityError("it takes more work than a template may")
        waiting += each if isinstance(each, list | tuple | set) else ()
        waiting += (part for pair in each.items() for part in pair) if isinstance(each, dict) else ()


def _measured(name: str, function: Any) -> Callable[..., Any]:
    """A filter, a test or a method that takes what it is given, and what it makes, from the work."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        values = [*given[getattr(function, "jinja_pass_arg", None) is not None :], *named.values()]
        # The sandbox wraps `format` of a text.
        owner = getattr(getattr(function, "__wrapped__", function), "__self__", None)
        _check_swelling(name, [owner, *values] if isinstance(owner, str) else values)
        _spend(owner, *values)
        made = function(*given, **named)
        made = list(made) if isinstance(made, Iterator) else made
        _spend(made)
        return made

    return call


def _check_swelling(name: str, values: list[Any]) -> None:
    most = 0
    if name in PRODUCTS and len(values) > 1:
        most = (_size(values[0]) + 1) * max(map(_size, values[1:]))
    elif name == "replace" and len(values) > 2:
        most = (str(values[0]).count(str(values[1])) + 1) * len(str(values[2]))
    elif name in FORMATS and values:
        written = str(values[0])
        fields = written.count("%") + written.count("{")
        most = LONGEST + 1 if _WIDE.search(written) else fields * max(map(_size, values[1:]), default=0)
    if most > LONGEST:
        raise SecurityError(f"`{name}` may become too large here")


def _turns(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        _spend()
        yield each


class _WorkCounter(NodeTransformer):
    """Puts what a template does without a call under the same count."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        node.iter = self._through("turns", node.iter)
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return self._through("concatenated", nodes.List(node.nodes))

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        node.expr = self._through("compared", node.expr)
        for each in node.ops:
            each.expr = self._through("compared", each.expr)
        return self.generic_visit(node)

    def _through(self, name: str, value: Any) -> nodes.Filter:
        return nodes.Filter(value, name, [], [], None, None)


class _TemplateSandbox(ImmutableSandboxedEnvironment):
    """No attributes that begin with an underscore, no changes of values, and nothing without a bound."""

    intercepted_binops = frozenset(("*", "**", "+", "%"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or (operator == "*" and abs(prod(map(_size, (left, right)))) > LONGEST):
            raise SecurityError(f"`{operator}` may become too large here")
        if operator == "%" and isinstance(left, str):
            _check_swelling("format", [left, *(right if isinstance(right, tuple) else (right,))])
        _spend(left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, function: Any, /, *given: Any, **named: Any) -> Any:
        if not self.is_safe_callable(function):
            raise SecurityError(f"{function!r} is not safely callable")
        name = getattr(function, "__name__", "")
        return context.call(_measured(name, function) if name else function, *given, **named)

    def from_string(self, source: str | nodes.Template, *options: Any, **named: Any) -> Template:
        tree = self.parse(source) if isinstance(source, str) else source
        counted = _WorkCounter().visit(tree).set_environment(self)
        return super().from_string(counted, *options, **named)


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


def _as_nunjucks(value: Any) -> Any:
    if isinstance(value, dict):
        return _NunjucksObject({key: _as_nunjucks(each) for key, each in value.items()})
    return [_as_nunjucks(each) for each in value] if isinstance(value, list) else value


def _sandbox(shown: Callable[[Any], Any], undefined: type[Undefined]) -> _TemplateSandbox:
    def finalize(value: Any) -> Any:
        _spend(value)
        return shown(value)

    made = _TemplateSandbox(finalize=finalize, undefined=undefined, keep_trailing_newline=True, autoescape=False)
    made.globals = {"range": made.globals["range"], "env": {}}  # the sandbox has bounded the range
    own: dict[str, Callable[..., Any]] = {
        "dump": lambda value, *_: json.dumps(value, ensure_ascii=False),
        "load": lambda value: value if isinstance(value, dict | list) else json.loads(value),
        "compared": lambda value: value,
    }
    own["concatenated"] = lambda values: "".join(map(str, values))
    filters: dict[str, Callable[..., Any]] = {**{name: made.filters[name] for name in FILTERS}, **own}
    made.filters = {name: _measured(name, each) for name, each in filters.items()} | {"turns": _turns}
    made.tests = {name: _measured(name, each) for name, each in made.tests.items()}
    return made


JINJA = _sandbox(lambda value: value, StrictUndefined)
NUNJUCKS = _sandbox(_as_javascript, Undefined)


FAULTS = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, NameError,
          RecursionError, MemoryError)  # fmt: skip


@lru_cache(maxsize=512)
def _compiled(sandbox: _TemplateSandbox, text: str) -> Template:
    return sandbox.from_string(text)


def fill(text: str, values: Mapping[str, Any], sandbox: _TemplateSandbox = NUNJUCKS) -> str:
    """The text with these values in it; `TemplateFailed` says why it cannot be."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    if "{% for" in text and sandbox is NUNJUCKS:
        values = {name: _as_nunjucks(value) for name, value in values.items()}
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
    before = _left.set([MOST_WORK])
    try:
        yield
    except FAULTS as error:
        raise TemplateFailed(f"the template cannot be filled: {getattr(error, 'message', None) or error}") from error
    finally:
        _left.reset(before)


def fill_all(value: Any, values: Mapping[str, Any]) -> Any:
    """Every text in a value, filled."""
    if isinstance(value, dict):
        return {key: fill_all(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [fill_all(each, values) for each in value]
    return fill(value, values) if isinstance(value, str) else value
