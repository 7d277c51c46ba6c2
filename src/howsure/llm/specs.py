"""Which model: `provider:model`, with `@https://…` behind it where it is not at the provider's usual address.

Parsing finds the address and the *name* of the environment variable that holds the key, and says what is missing. The
key itself never enters a `ModelSpec`: `key_of` reads it once, when the client opens a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec.structs import replace

from howsure.errors import ConfigInvalid, UnknownName
from howsure.llm.base import HttpProvider, ModelSpec, Provider, ProviderAddress
from howsure.llm.providers import BUILTINS_BY_NAME

#: A model's own name may hold `@` and `:`; an address begins with its scheme.
ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
ALIASES = {"gemini": "google", "azure-openai": "azure", "azure_openai": "azure", "mistralai": "mistral",
           "openai_compatible": "openai-compatible"}  # fmt: skip

Providers = Mapping[str, Provider | HttpProvider]


def parse_model(text: str, environ: Mapping[str, str], providers: Providers = BUILTINS_BY_NAME) -> ModelSpec:
    """`openai:gpt-5`, `ollama:llama3.2:3b`, `openai-compatible:judge@http://127.0.0.1:8080/v1`, or a plug-in's
    `myname:model`."""
    name, model, given_url = _split_spec(text, providers)
    spec = ModelSpec(provider=name, model=model)
    provider = providers[name]
    if not isinstance(provider, HttpProvider):
        if given_url:
            raise ConfigInvalid(f"model {text!r}: the provider {name!r} takes no address")
        return spec
    address = _choose_address(provider.address, given_url, environ, providers)
    url = given_url or _first_set(environ, address.url_variables)[1] or address.url
    base_url = _checked_url(url, str(spec), plain_http=address.plain_http) if url else ""
    # The variable that holds the key, or ought to; empty where none is needed.
    needed = address.key_needed and not is_loopback(base_url)
    variable = _first_set(environ, address.key_variables)[0] or (address.key_variables[0] if needed else "")
    missing = [] if base_url else [f"{address.url_variables[0]} (or write `@https://…` behind the model)"]
    if variable and not environ.get(variable, "").strip():
        missing.append(" or ".join(dict.fromkeys((variable, *address.key_variables))))
    if missing:
        raise ConfigInvalid(f"model {text!r}: set {' and '.join(missing)} in the environment")
    return replace(
        spec,
        base_url=base_url,
        key_variable=variable if environ.get(variable) else "",
        api_version=_first_set(environ, address.version_variables)[1] or address.version,
    )


def key_of(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    """The key; empty where none is needed."""
    key = environ.get(spec.key_variable, "").strip() if spec.key_variable else ""
    # What cannot stand in a header would otherwise come back inside the HTTP library's error.
    if not all("!" <= character <= "~" for character in key):
        raise ConfigInvalid(f"{spec.key_variable}: a key is printable ASCII without spaces; this value is not")
    return key


def is_loopback(base_url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split_spec(text: str, providers: Providers) -> tuple[str, str, str]:
    """The provider's name, the model's, and the address behind them, if there is one."""
    spec, *address = ADDRESS.split(text.strip(), maxsplit=1)
    prefix, colon, model = spec.partition(":")
    known = list(providers)
    if not colon:
        raise ConfigInvalid(
            f"model {spec!r}: expected `provider:model`, such as `openai:{spec}`; providers: {', '.join(known)}"
        )
    name = prefix.strip()
    if name not in known:
        name = ALIASES.get(name.lower(), name.lower())
    if name not in known:
        raise UnknownName("model provider", prefix, known)
    if not model.strip():
        raise ConfigInvalid(f"model {spec!r}: expected a model's name after `{prefix}:`")
    return name, model.strip(), address[0] if address else ""


def _choose_address(
    address: ProviderAddress, given_url: str, environ: Mapping[str, str], providers: Providers
) -> ProviderAddress:
    """Compatible servers are often named by OpenAI's own pair of variables: then the key is of that pair, too."""
    other = providers.get(address.fallback)
    if given_url or _first_set(environ, address.url_variables)[1] or not isinstance(other, HttpProvider):
        return address
    return other.address if any(environ.get(name) for name in other.address.url_variables) else address


def _first_set(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    """The first of these variables that is set, and its value."""
    name = next((name for name in names if environ.get(name, "").strip()), "")
    return name, environ[name].strip() if name else ""


def _checked_url(url: str, model: str, *, plain_http: bool) -> str:
    """The address without a slash at its end. One that may carry a secret is refused, and not repeated. Without a
    scheme it is https, unless the model is on this machine or its makers write `host:port` (`plain_http`)."""
    if "://" not in url:
        url = f"http://{url}" if plain_http or is_loopback(f"http://{url}") else f"https://{url}"
    try:
        split = urlsplit(url)
        port_is_valid = split.port != 0
    except ValueError:
        split, port_is_valid = urlsplit(""), False
    if not port_is_valid or split.scheme not in ("http", "https") or not split.hostname:
        raise ConfigInvalid(f"model {model!r}: its address is none; expected one such as https://host/v1")
    if split.username or split.password or split.query or split.fragment:
        raise ConfigInvalid(
            f"model {model!r}: its address may hold no password, `?` or `#`; put the key into an environment variable"
        )
    if split.hostname == "0.0.0.0":
        # It says where a server listens; a client cannot connect to it everywhere.
        split = split._replace(netloc=split.netloc.replace("0.0.0.0", "127.0.0.1", 1))
    return split.geturl().rstrip("/")
