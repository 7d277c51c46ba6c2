"""Which model, where it is, and which variable holds its key."""

from __future__ import annotations

import pytest

from howsure.errors import ConfigInvalid, UnknownName
from howsure.llm.base import ModelSpec
from howsure.llm.specs import is_loopback, key_of, parse_model

KEYS = {
    "OPENAI_API_KEY": "k-openai",
    "ANTHROPIC_API_KEY": "k-anthropic",
    "GOOGLE_API_KEY": "k-google",
    "AZURE_OPENAI_API_KEY": "k-azure",
    "AZURE_OPENAI_ENDPOINT": "https://ours.openai.azure.com/",
    "MISTRAL_API_KEY": "k-mistral",
}


@pytest.mark.parametrize(
    ("text", "provider", "model", "base_url", "variable"),
    [
        ("openai:gpt-5", "openai", "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (" OpenAI: gpt-5 ", "openai", "gpt-5", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("anthropic:claude", "anthropic", "claude", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        (
            "gemini:gemini-2.5-pro",
            "google",
            "gemini-2.5-pro",
            "https://generativelanguage.googleapis.com",
            "GOOGLE_API_KEY",
        ),
        ("azure:our-gpt", "azure", "our-gpt", "https://ours.openai.azure.com", "AZURE_OPENAI_API_KEY"),
        ("mistral:large", "mistral", "large", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        ("ollama:llama3.2:3b", "ollama", "llama3.2:3b", "http://127.0.0.1:11434", ""),
        ("vllm:Qwen/Qwen3", "vllm", "Qwen/Qwen3", "http://127.0.0.1:8000/v1", ""),
        ("vllm:q@http://gpu:9000/v1/", "vllm", "q", "http://gpu:9000/v1", ""),
        ("openai:a@b@https://proxy/v1", "openai", "a@b", "https://proxy/v1", "OPENAI_API_KEY"),
        ("openai-compatible:m@http://localhost:1/v1", "openai-compatible", "m", "http://localhost:1/v1", ""),
    ],
)
def test_a_model_is_provider_and_name(text: str, provider: str, model: str, base_url: str, variable: str) -> None:
    spec = parse_model(text, KEYS)
    assert (spec.provider, spec.model, spec.base_url, spec.key_variable) == (provider, model, base_url, variable)


@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        ("openai:gpt-5", {}, "model 'openai:gpt-5': set OPENAI_API_KEY in the environment"),
        ("openai:gpt-5", {"OPENAI_API_KEY": "  "}, "model 'openai:gpt-5': set OPENAI_API_KEY in the environment"),
        ("google:gemini", {}, "model 'google:gemini': set GOOGLE_API_KEY or GEMINI_API_KEY in the environment"),
        (
            "azure:mine",
            {},
            "model 'azure:mine': set AZURE_OPENAI_ENDPOINT (or write `@https://…` behind the model)"
            " and AZURE_OPENAI_API_KEY in the environment",
        ),
        (
            "openai-compatible:m",
            {},
            "model 'openai-compatible:m': set OPENAI_COMPATIBLE_BASE_URL (or write `@https://…` behind the model)"
            " and OPENAI_COMPATIBLE_API_KEY in the environment",
        ),
        (
            "gpt-5",
            {},
            "model 'gpt-5': expected `provider:model`, such as `openai:gpt-5`; providers: openai, anthropic, google,"
            " azure, mistral, ollama, vllm, openai-compatible",
        ),
        ("openai: ", {}, "model 'openai:': expected a model's name after `openai:`"),
    ],
)
def test_what_is_missing_is_named(text: str, environ: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_model(text, environ)
    assert str(caught.value) == message


def test_an_unknown_provider_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="unknown model provider 'opnai'; known: anthropic, azure, google"):
        parse_model("opnai:gpt-5", {})


@pytest.mark.parametrize(
    "address",
    [
        "https://me:hunter2@host/v1",
        "https://host/v1?key=hunter2",
        "https://host/v1#hunter2",
        "https://hunter2:port",
        "https://",
        "https://host:0/hunter2",
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_model(f"openai:gpt@{address}", KEYS)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigInvalid) as again:
        parse_model("openai:gpt", KEYS | {"OPENAI_BASE_URL": address})
    assert "hunter2" not in str(again.value)


def test_a_password_is_not_repeated_when_the_provider_is_missing() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_model("gpt@https://me:hunter2@host/v1", KEYS)
    assert "hunter2" not in str(caught.value)


def test_the_address_in_the_spec_wins_over_the_environment() -> None:
    environ = KEYS | {"OPENAI_BASE_URL": "http://env/v1"}
    assert parse_model("openai:m", environ).base_url == "http://env/v1"
    assert parse_model("openai:m@http://spec/v1", environ).base_url == "http://spec/v1"


def test_the_key_of_openai_is_not_sent_to_a_compatible_server_elsewhere() -> None:
    with pytest.raises(ConfigInvalid, match="OPENAI_COMPATIBLE_API_KEY"):
        parse_model("openai-compatible:m@https://elsewhere/v1", KEYS)


def test_a_compatible_server_named_by_openais_variables_gets_their_key() -> None:
    spec = parse_model("openai-compatible:m", KEYS | {"OPENAI_BASE_URL": "https://gateway/v1"})
    assert (spec.base_url, spec.key_variable) == ("https://gateway/v1", "OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("given", "base_url"),
    [
        ("127.0.0.1:11500", "http://127.0.0.1:11500"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("gpu-box:11434", "http://gpu-box:11434"),
        ("https://ollama.example/", "https://ollama.example"),
    ],
)
def test_ollama_may_be_named_as_its_makers_do(given: str, base_url: str) -> None:
    assert parse_model("ollama:llama3", {"OLLAMA_HOST": given}).base_url == base_url


def test_an_address_without_scheme_is_https_so_that_no_key_goes_in_the_clear() -> None:
    spec = parse_model("azure:m", KEYS | {"AZURE_OPENAI_ENDPOINT": "ours.openai.azure.com"})
    assert spec.base_url == "https://ours.openai.azure.com"


@pytest.mark.parametrize(
    ("environ", "version"),
    [
        ({}, "2024-10-21"),
        ({"OPENAI_API_VERSION": "2025-01-01"}, "2025-01-01"),
        ({"OPENAI_API_VERSION": "2025-01-01", "AZURE_OPENAI_API_VERSION": "2025-02-02"}, "2025-02-02"),
    ],
)
def test_azure_has_a_version(environ: dict[str, str], version: str) -> None:
    assert parse_model("azure:m", KEYS | environ).api_version == version


def test_the_key_is_read_by_name_and_never_part_of_the_spec() -> None:
    spec = parse_model("openai:gpt", {"OPENAI_API_KEY": "sk-marked\n"})
    assert key_of(spec, {"OPENAI_API_KEY": "sk-marked\n"}) == "sk-marked"
    assert "sk-marked" not in repr(spec)
    assert key_of(ModelSpec(provider="ollama", model="m", base_url="http://127.0.0.1"), {}) == ""


@pytest.mark.parametrize("key", ["two words", "new\nline", "schlüssel", "nul\x00"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_and_not_repeated(key: str) -> None:
    spec = parse_model("openai:gpt", {"OPENAI_API_KEY": key})
    with pytest.raises(ConfigInvalid) as caught:
        key_of(spec, {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY" in str(caught.value)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:8/v1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8", True),
        ("http://localhost", True),
        ("http://judge.localhost", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example", False),
    ],
)
def test_this_machine_is_known(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback
