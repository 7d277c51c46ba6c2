"""Azure OpenAI: OpenAI's chat completions at a deployment's address, with a header of its own for the key."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from howsure.llm.adapters import openai
from howsure.llm.adapters.openai import answer
from howsure.llm.base import Request
from howsure.llm.parts import CallSettings
from howsure.llm.specs import ModelSpec

__all__ = ["answer", "body", "headers", "url"]


def url(spec: ModelSpec) -> str:
    deployment = quote(spec.model, safe="")
    return f"{spec.base_url}/openai/deployments/{deployment}/chat/completions?api-version={quote(spec.api_version)}"


def headers(spec: ModelSpec, key: str) -> dict[str, str]:
    return {"api-key": key} if key else {}


def body(spec: ModelSpec, request: Request, settings: CallSettings) -> bytes:
    """The address names the deployment, so the body names no model."""
    return msgspec.json.encode(openai.fields(request, settings, longest="max_completion_tokens") | settings.extra)
