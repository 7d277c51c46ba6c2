"""Mistral: OpenAI's shapes with some names of its own, and no log-probabilities."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from howsure.llm.adapters import openai
from howsure.llm.adapters.openai import answer, headers, url
from howsure.llm.base import Request
from howsure.llm.parts import CallSettings
from howsure.llm.specs import ModelSpec

__all__ = ["answer", "body", "headers", "url"]


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    known = settings if settings.logprobs is None else replace(settings, logprobs=None)
    asked = openai.fields(request, known, longest="max_tokens", seed="random_seed")
    return msgspec.json.encode(asked | {"model": spec.model} | settings.extra)
