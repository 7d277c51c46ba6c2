"""Hypothesis strategies for JSON values, as strict files hold them: no half characters, no NaN."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

characters = st.characters(codec="utf-8")
texts = st.text(characters, max_size=12)
filled = texts.filter(lambda text: bool(text.strip()))
"""Texts that are not blank."""
case_ids = filled.filter(lambda text: "\0" not in text)
"""Texts that a case may be named by."""
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), texts
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
plain_keys = texts.filter(lambda key: not key.startswith("$"))
literals: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_keys, inner, max_size=3), max_leaves=6
)
"""Values without anything that could be taken for a matcher."""
objects = st.dictionaries(texts, values, max_size=3)
