"""The built-in providers: one class for each way of asking, pure functions between our requests and their JSON. They
enter the kit as a plug-in's do."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.llm.base import HttpProvider, ProviderAddress
from howsure.llm.providers.anthropic import AnthropicProvider
from howsure.llm.providers.google import GoogleProvider
from howsure.llm.providers.ollama import OllamaProvider
from howsure.llm.providers.openai import AzureProvider, OpenAiProvider

OPENAI = ProviderAddress(
    url="https://api.openai.com/v1", url_variables=("OPENAI_BASE_URL",), key_variables=("OPENAI_API_KEY",)
)
MISTRAL = ProviderAddress(
    url="https://api.mistral.ai/v1", url_variables=("MISTRAL_BASE_URL",), key_variables=("MISTRAL_API_KEY",)
)
VLLM = ProviderAddress(
    url="http://127.0.0.1:8000/v1", url_variables=("VLLM_BASE_URL",), key_variables=("VLLM_API_KEY",), key_needed=False
)
# A key goes only where its own variable's address points: OPENAI_API_KEY is never sent to an address given here.
COMPATIBLE = ProviderAddress(
    url_variables=("OPENAI_COMPATIBLE_BASE_URL",), key_variables=("OPENAI_COMPATIBLE_API_KEY",), fallback="openai"
)
BUILTIN_PROVIDERS: tuple[HttpProvider, ...] = (
    OpenAiProvider("openai", OPENAI, limit_field="max_completion_tokens"),
    AnthropicProvider(),
    GoogleProvider(),
    AzureProvider(),
    OpenAiProvider("mistral", MISTRAL, seed_field="random_seed", takes_logprobs=False),
    OllamaProvider(),
    OpenAiProvider("vllm", VLLM),
    OpenAiProvider("openai-compatible", COMPATIBLE),
)
BUILTINS_BY_NAME: Mapping[str, HttpProvider] = {provider.name: provider for provider in BUILTIN_PROVIDERS}
