"""One adapter for each way of asking: pure functions between our requests and a provider's JSON."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.llm.adapters import anthropic, azure, google, mistral, ollama, openai
from howsure.llm.specs import Provider
from howsure.llm.wire import Adapter

ADAPTERS: Mapping[Provider, Adapter] = {
    Provider.OPENAI: openai,
    Provider.OPENAI_COMPATIBLE: openai,
    Provider.VLLM: openai,
    Provider.AZURE: azure,
    Provider.MISTRAL: mistral,
    Provider.ANTHROPIC: anthropic,
    Provider.GOOGLE: google,
    Provider.OLLAMA: ollama,
}
