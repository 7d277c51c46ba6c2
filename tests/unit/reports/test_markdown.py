"""Markdown of agents as a tree: what is rendered, what is shown as it was written, and that no word is lost."""

from __future__ import annotations

from itertools import chain
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as some
from markupsafe import escape

from hostile import HOSTILE
from howsure.reports.markdown import NAMES, TAGS, Tree, flat_text, read_markdown, tree_html
from howsure.reports.safe_text import make_inert


def drawn(text: str) -> str | None:
    """As HTML, without the newlines between blocks."""
    tree = read_markdown(text)
    if tree is None:
        return None
    return tree_html(tree, [(flat_text(tree), None)], lambda words, *_: escape(words)).replace("\n", "")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Paid **18** of *20*.", "<p>Paid <strong>18</strong> of <em>20</em>.</p>"),
        ("## Refund\nIt is `done`.", '<p class="heading">Refund</p><p>It is <code>done</code>.</p>'),
        ("- a\n- b\n  1. c", '<ul><li>a</li><li>b<ol><li value="1">c</li></ol></li></ul>'),
        ("3. c\n7. d", '<ol><li value="3">c</li><li value="7">d</li></ol>'),
        (
            "a|b\n-|-\n1|2",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
        ),
        ("```py\nif a < b:\n```", '<pre><span class="language">py</span>if a &lt; b:</pre>'),
        ("> so they *say*", "<blockquote><p>so they <em>say</em></p></blockquote>"),
        ('{"a":[1.50,null]}', "<pre>{  &#34;a&#34;: [    1.50,    null  ]}</pre>"),
        ("one\ntwo **three**", "<p>one<br>two <strong>three</strong></p>"),
    ],
    ids=["emphasis", "heading", "lists", "numbers as written", "table", "code", "quotation", "json", "line breaks"],
)
def test_markdown_is_rendered(text: str, html: str) -> None:
    assert drawn(text) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[pay](https://evil.invalid/x)", '<p>pay<span class="address"> (https://evil.invalid/x)</span></p>'),
        ("[a](javascript:alert(1))", '<p>a<span class="address"> (javascript:alert(1))</span></p>'),
        (
            "![cat](https://evil.invalid/c.png)",
            '<p><span class="picture">cat<span class="address"> (https://evil.invalid/c.png)</span></span></p>',
        ),
        ("*a* <img src=x onerror=alert(1)>", "<p><em>a</em> &lt;img src=x onerror=alert(1)&gt;</p>"),
        ("*a* &#x202e;b &amp; c", "<p><em>a</em> &amp;#x202e;b &amp;amp; c</p>"),
        ("*a*\n\n[hidden]: https://evil.invalid", "<p><em>a</em></p><p>[hidden]: https://evil.invalid</p>"),
    ],
    ids=["link", "script address", "picture", "markup", "entities", "definitions stay in sight"],
)
def test_links_pictures_and_markup_are_words(text: str, html: str) -> None:
    assert drawn(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "Nothing in it. 2 - 1 = 1",
        "| a |\n|---|\n| b | and a cell beyond |",
        "- " * 5_000 + "deep",
        "> " * 30 + "deep",
        "|a" * 500 + "\n" + "|-" * 500 + "\n" + "x\n" * 500,
        "1. a\n" * 4_000,
        "[" * 10_000 + "]" * 10_000,
        "[[" * 700 + "1" + "]]" * 700,
        "***",
    ],
    ids=[
        "plain",
        "cells that would vanish",
        "nested lists",
        "nested quotations",
        "wide table",
        "long list",
        "brackets",
        "deep json",
        "signs only",
    ],
)
def test_what_cannot_be_rendered_whole_is_shown_as_written(text: str) -> None:
    began = process_time()
    assert read_markdown(text) is None
    assert process_time() - began < 2


SCRAPS = [
    "**",
    "*",
    "_",
    "`",
    "```",
    "~~",
    "|",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "# ",
    "[",
    "](",
    ")",
    "![",
    "<",
    ">",
    "---\n",
    "\\",
    "&amp;",
    "{",
    "}",
    '"',
    ":",
    "é",
    "$",
    "a b",
    "word",
    "42",
    "\u202e",
    "\x1b",
]


@given(some.lists(some.sampled_from([*SCRAPS, *HOSTILE]), min_size=1, max_size=30).map("".join))
def test_no_word_is_lost_or_moved_and_only_known_elements_are_made(text: str) -> None:
    shown = make_inert(text)
    tree = read_markdown(shown)
    if tree is None:
        return
    assert [*filter(str.isalpha, flat_text(tree))] == [*filter(str.isalpha, shown)]
    assert flat_text(tree) == make_inert(flat_text(tree))
    assert set(names_in(tree)) <= {*NAMES.values(), *TAGS, "pre", "code", "br"}


def names_in(tree: Tree) -> chain[str]:
    return chain.from_iterable((node[0], *names_in(node[2])) for node in tree if not isinstance(node, str))
