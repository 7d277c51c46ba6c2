"""Renders texts of agents: Markdown and JSON become a tree of a few known elements. No HTML of foreign text is parsed
and no attribute is kept: links and pictures become words with their address beside them. The tree holds every letter
and digit of the text in its order; where the parser would hide, drop or move one (cells beyond a table's head, lists
nested too deep), there is no tree and the text is shown as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import TypeAlias, TypeVar

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup
from msgspec import DecodeError, json

from howsure.reports.safe_text import make_inert

Node: TypeAlias = "str | tuple[str, int, tuple[Node, ...]]"
"""A text; or an element: its name, its number (of a list's item, else 0), and what is in it."""
Tree: TypeAlias = tuple[Node, ...]
T = TypeVar("T")

MAX_NODES = 1500
MAX_COLUMNS = 12
MAX_NESTING = 12
"""The deepest nesting of elements: six nested lists."""
NAMES = {"paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li"}
PLAIN = ("heading", "blockquote", "hr", "strong", "em", "s", "table", "thead", "tbody", "tr", "th", "td")
NAMES |= {name: name for name in PLAIN}
CLASSES = {name: f'span class="{name}"' for name in ("language", "address", "picture")}
# Headings of agents are not headings of the page.
TAGS = {**CLASSES, "heading": 'p class="heading"'}
SIGNS = re.compile(r"[*_`~|\[{<]|^[ \t]*(?:[#>+-]|\d{1,9}[.)]|={3})", re.MULTILINE)
SAID = re.compile(r"[^\s\\*_`~|#<>+=\[\]()!.:\"'-]")
"""Characters that no rule of Markdown takes away."""


def read_markdown(text: str) -> Tree | None:
    """The tree of an inert text; None if the text is plain, or if a tree would lose a part of it."""
    characters, lines = SAID.findall(text), text.split("\n")
    large = max(len(lines), text.count("[")) > MAX_NODES or max(line.count("|") for line in lines) > 2 * MAX_COLUMNS
    if large or not characters or not SIGNS.search(text):
        return None
    tree = _json_tree(text) or tuple(_nodes(SyntaxTreeNode(_parser().parse(text))))
    nodes = [*_walk(tree)]
    is_plain = {node[0] for node in nodes if not isinstance(node, str)} <= {"p", "br"}
    spoken = "".join(node if isinstance(node, str) else str(node[1] or "") for node in nodes)
    return None if is_plain or len(nodes) > 3 * MAX_NODES or SAID.findall(spoken) != characters else tree


def flat_text(tree: Tree) -> str:
    """The words of a tree, in which quotes are searched and differences are marked."""
    return "".join(node for node in _walk(tree) if isinstance(node, str))


def tree_html(tree: Tree, pieces: Iterable[tuple[str, T]], write: Callable[[str, T, bool], Markup]) -> Markup:
    """The tree as HTML. `pieces` are all of its flat text, each with what `write` needs to write it; `write` is also
    told whether the piece begins here, for one may reach over several elements."""
    rest = [(text, about, True) for text, about in pieces if text][::-1]

    def parts(nodes: Tree) -> Iterator[str]:
        for node in nodes:
            text = node if isinstance(node, str) else ""
            while text:
                piece, about, begins = rest.pop()
                yield write(piece[: len(text)], about, begins)
                if len(piece) > len(text):
                    rest.append((piece[len(text) :], about, False))
                text = text[len(piece) :]
            if not isinstance(node, str):
                name, number, inner = node
                yield f'<li value="{number:d}">' if number else f"<{TAGS.get(name, name)}>"
                yield from parts(inner)
                yield "" if name in ("hr", "br") else f"</{TAGS.get(name, name).split()[0]}>"

    return Markup("".join(parts(tree)))


def _walk(tree: Tree) -> Iterator[Node]:
    for node in tree:
        yield node
        yield from () if isinstance(node, str) else _walk(node[2])


def _json_tree(text: str) -> Tree:
    """An object or a list with its members on lines of their own; None if the text is neither, or is nested too
    deep."""
    with suppress(DecodeError, RecursionError):
        pretty = json.format(text, indent=2) if text.lstrip()[:1] in ("{", "[") else ""
        return (("pre", 0, (pretty,)),) if pretty and len(pretty) <= 10 * len(text) + 100 else ()
    return ()


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and strikes. Off: HTML; definitions of links, which would not be seen; entities, which
    could become any character; code by indentation, which agents seldom mean."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline", "reference", "entity", "code"])
    # An address is shown as it was written, never followed, so any is allowed.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return parser


def _nodes(parent: SyntaxTreeNode) -> Iterator[Node]:
    """Blocks are separated by newlines, in the searchable words too."""
    for node in parent.children:
        kind, inner = node.type, tuple(_nodes(node))
        text = "" if node.is_nested else make_inert(node.content)
        if kind in ("text", "text_special"):
            yield text
        elif kind in ("softbreak", "hardbreak"):
            yield from (("br", 0, ()), "\n")
        elif kind == "code_inline":
            yield "code", 0, (text,)
        elif kind == "fence":
            info = make_inert(node.info.strip())
            yield "pre", 0, (*([("language", 0, (info, "\n"))] if info else []), text.removesuffix("\n"))
            yield "\n"
        elif kind == "image":
            yield "picture", 0, (text, *_address(node))
        elif kind in NAMES and not node.hidden:
            number = int(node.info) if kind == "list_item" and node.info.isdecimal() else 0
            yield NAMES[kind], number, inner
            yield from ["\n"] if node.block else ()
        else:
            yield from (*inner, *(_address(node) if kind == "link" else ()))


def _address(node: SyntaxTreeNode) -> Tree:
    """The address of a link or a picture, as words; nothing if the words of the link are the address."""
    said = " ".join(str(node.attrs[name]) for name in ("href", "src", "title") if node.attrs.get(name))
    return (("address", 0, (f" ({make_inert(said)})",)),) if said and node.info != "auto" else ()
