"""Which model: `provider:model`, with `@https://…` behind it where it is not at the provider's usual address.

Parsing finds the address and the *name* of the environment variable that holds the key, and says what is missing. The
key itself never enters a `ModelSpec`: it is read once, by `key_of`, when the door makes a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from howsure.errors import ConfigInvalid, UnknownName
from howsure.model.calls import Provider as Provider

AZURE_VERSION = "2024-10-21"
#: A model's own name may hold `@` and `:`; an address begins with its scheme.
ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)


class Place(NamedTuple):
    """A provider's usual address, the variables that name another, and those that may hold the key."""

    url: str
    url_variables: tuple[str, ...]
    key_variables: tuple[str, ...]
    key_needed: bool = True


PLACES: Mapping[Provider, Place] = {
    Provider.OPENAI: Place("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",)),
    Provider.ANTHROPIC: Place("https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), ("ANTHROPIC_API_KEY",)),
    Provider.GOOGLE: Place(
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_GEMINI_BASE_URL",),
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ),
    Provider.AZURE: Place("", ("AZURE_OPENAI_ENDPOINT",), ("AZURE_OPENAI_API_KEY",)),
    Provider.MISTRAL: Place("https://api.mistral.ai/v1", ("MISTRAL_BASE_URL",), ("MISTRAL_API_KEY",)),
    Provider.OLLAMA: Place("http://127.0.0.1:11434", ("OLLAMA_HOST",), ("OLLAMA_API_KEY",), key_needed=False),
    Provider.VLLM: Place("http://127.0.0.1:8000/v1", ("VLLM_BASE_URL",), ("VLLM_API_KEY",), key_needed=False),
    # A key goes only where its own variable's address points: OPENAI_API_KEY is never sent to an address given here.
    Provider.OPENAI_COMPATIBLE: Place("", ("OPENAI_COMPATIBLE_BASE_URL",), ("OPENAI_COMPATIBLE_API_KEY",)),
}
ALIASES = {"gemini": "google", "azure-openai": "azure", "azure_openai": "azure", "mistralai": "mistral",
           "openai_compatible": "openai-compatible"}  # fmt: skip


class Access(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a setting may say about the way to a model: its address, the variable with its key, Azure's API version."""

    base_url: str = ""
    key_variable: str = ""
    api_version: str = ""


class ModelSpec(Struct, frozen=True, kw_only=True):
    """A model, where it is, and the variable that holds its key (empty: it needs none). Safe to print and store."""

    provider: Provider
    model: str
    base_url: str
    key_variable: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        return f"{self.provider.value}:{self.model}"


def parse(text: str, environ: Mapping[str, str], access: Access | None = None) -> ModelSpec:
    """`openai:gpt-5`, `ollama:llama3.2:3b`, `openai-compatible:judge@http://127.0.0.1:8080/v1`."""
    given = access or Access()
    provider, name, address = _parts(text)
    place = _companion(PLACES[provider], provider, given.base_url or address, environ)
    url = given.base_url or address or _first(environ, place.url_variables)[1] or place.url
    base_url = _address(url, f"{provider.value}:{name}", plain=provider is Provider.OLLAMA) if url else ""
    key_variable = _key_variable(place, given, environ, base_url)
    missing = _missing(place, base_url, key_variable, environ)
    if missing:
        raise ConfigInvalid(f"model {text!r}: set {' and '.join(missing)} in the environment")
    return ModelSpec(
        provider=provider,
        model=name,
        base_url=base_url,
        key_variable=key_variable if environ.get(key_variable) else "",
        api_version=_api_version(given, environ) if provider is Provider.AZURE else "",
    )


def key_of(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    """The key; empty where none is needed."""
    key = environ.get(spec.key_variable, "").strip() if spec.key_variable else ""
    # What cannot stand in a header would otherwise come back inside the HTTP library's error.
    if not all("!" <= character <= "~" for character in key):
        raise ConfigInvalid(f"{spec.key_variable}: a key is printable ASCII without spaces; this value is not")
    return key


def is_loopback(base_url: str) -> bool:
    """Whether the model is on this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(text: str) -> tuple[Provider, str, str]:
    road, *address = ADDRESS.split(text.strip(), maxsplit=1)
    prefix, colon, name = road.partition(":")
    known = [provider.value for provider in Provider]
    if not colon:
        raise ConfigInvalid(
            f"model {road!r}: expected `provider:model`, such as `openai:{road}`; providers: {', '.join(known)}"
        )
    word = ALIASES.get(prefix.strip().lower(), prefix.strip().lower())
    if word not in known:
        raise UnknownName("model provider", prefix, known)
    if not name.strip():
        raise ConfigInvalid(f"model {road!r}: expected a model's name after `{prefix}:`")
    return Provider(word), name.strip(), address[0] if address else ""


def _companion(place: Place, provider: Provider, address: str, environ: Mapping[str, str]) -> Place:
    """Compatible servers are often named by OpenAI's own pair of variables: then the key is of that pair, too."""
    if provider is not Provider.OPENAI_COMPATIBLE or address or _first(environ, place.url_variables)[1]:
        return place
    if not environ.get("OPENAI_BASE_URL"):
        return place
    return PLACES[Provider.OPENAI]


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    found = next((name for name in names if environ.get(name, "").strip()), "")
    return found, environ[found].strip() if found else ""


def _address(url: str, who: str, *, plain: bool) -> str:
    """The address without a slash at its end. One that may carry a secret is refused, and not repeated. Without a
    scheme it is https, unless the model is on this machine or its makers write `host:port` (`plain`)."""
    if "://" not in url:
        url = f"http://{url}" if plain or is_loopback(f"http://{url}") else f"https://{url}"
    split = _split(url)
    if split is None:
        raise ConfigInvalid(f"model {who!r}: its address is none; expected one such as https://host/v1")
    if split.username or split.password or split.query or split.fragment:
        raise ConfigInvalid(
            f"model {who!r}: its address may hold no password, `?` or `#`; put the key into an environment variable"
        )
    return _reachable(split).geturl().rstrip("/")


def _split(url: str) -> SplitResult | None:
    try:
        split = urlsplit(url)
        port_fits = split.port is None or split.port > 0
    except ValueError:
        return None
    return split if port_fits and split.scheme in ("http", "https") and split.hostname else None


def _reachable(split: SplitResult) -> SplitResult:
    """`0.0.0.0` says where a server listens; a client cannot connect to it everywhere."""
    return (
        split._replace(netloc=split.netloc.replace("0.0.0.0", "127.0.0.1", 1)) if split.hostname == "0.0.0.0" else split
    )


def _key_variable(place: Place, given: Access, environ: Mapping[str, str], base_url: str) -> str:
    """The variable that holds the key, or ought to; empty where none is needed."""
    if given.key_variable:
        return given.key_variable
    held = _first(environ, place.key_variables)[0]
    needed = place.key_needed and not is_loopback(base_url)
    return held or (place.key_variables[0] if needed else "")


def _missing(place: Place, base_url: str, key_variable: str, environ: Mapping[str, str]) -> list[str]:
    missing = []
    if not base_url:
        missing.append(f"{place.url_variables[0]} (or write `@https://…` behind the model)")
    if key_variable and not environ.get(key_variable, "").strip():
        others = [name for name in place.key_variables if name != key_variable and key_variable in place.key_variables]
        missing.append(" or ".join([key_variable, *others]))
    return missing


def _api_version(given: Access, environ: Mapping[str, str]) -> str:
    found = _first(environ, ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"))[1]
    return given.api_version or found or AZURE_VERSION
