"""Data that can stand inside a page."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode

import pytest

from howsure.reports.html.case_data import compress, embed_json, escape_json


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "&lt;", "<", ">", "&", "\u2028", '"\\', "ü 🚚"])
def test_embedded_json_holds_no_sign_that_could_end_it_and_reads_back(text: str) -> None:
    shown = str(embed_json({"said": text}))
    assert not {"<", ">", "&"} & set(shown)
    assert json.loads(shown) == {"said": text}


def test_what_is_escaped_already_stays_as_it_is() -> None:
    assert json.loads(str(escape_json(b'["\\u003c \\\\u003c"]'))) == ["< \\u003c"]


def test_packed_data_is_letters_alone_reads_back_and_is_the_same_every_day() -> None:
    data = json.dumps(["</script>" * 1000]).encode()
    assert gzip.decompress(b64decode(str(compress(data)))) == data
    assert compress(data) == compress(data)
    assert len(compress(data)) < len(data) / 20
    assert set(str(compress(data))) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
