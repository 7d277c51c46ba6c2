"""What comes from a provider of identities, and the cookie of a sign-in that is under way, as fuzzing targets."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from fuzz import seeds
from fuzz.target import Target, as_value, storable
from howsure.config import GroupRole, OidcSettings
from howsure.model.access_scope import AccessRole
from howsure.services.host.oidc import OidcProvider, SignInAttempt

ISSUER = "https://id.example.org"
KEY = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"})
SETTINGS = OidcSettings(
    issuer=ISSUER,
    client_id="howsure",
    client_secret="${SECRET}",
    roles={"readers": GroupRole(role=AccessRole.VIEWER, organization="acme")},
)
METADATA = {
    "issuer": ISSUER,
    **{
        name: f"{ISSUER}/{name}"
        for name in (
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
            "end_session_endpoint",
        )
    },
    "response_types_supported": ["code"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["RS256"],
}


class ScriptedProvider(OidcProvider):
    """Answers with documents instead of asking somebody."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(SETTINGS, {"SECRET": "s"})
        self._told = told

    async def _fetch(self, method: str, url: str, **options: Any) -> Any:
        if url.endswith("openid-configuration"):
            return {**METADATA, **self._part("metadata")}
        return self._part({"token_endpoint": "tokens", "jwks_uri": "keys"}.get(url.rpartition("/")[2], "user"))

    def _part(self, name: str) -> dict[str, Any]:
        part = self._told.get(name)
        return part if isinstance(part, dict) else {}


def sign_in(told: Any) -> None:
    """The whole way of one sign-in; whoever comes in has a name and grants."""
    if not isinstance(told, dict):
        return
    attempt, now = SignInAttempt.begin("/"), int(time.time())
    usual = {"iss": ISSUER, "aud": "howsure", "iat": now, "exp": now + 300, "nonce": attempt.derive("nonce")}
    claims = told.get("claims")
    try:
        token = jwt.encode(
            {"alg": "RS256", "kid": "k1"}, {**usual, **(claims if isinstance(claims, dict) else {})}, KEY
        )
    except (ValueError, TypeError, RecursionError):
        return
    replaced = json.dumps(told).replace('"@token"', json.dumps(token)).replace('"@key"', KEY_TEXT)
    provider, query = ScriptedProvider(json.loads(replaced)), {"state": attempt.derive("state"), "code": "c"}

    async def come() -> None:
        await provider.authorization_url(attempt, f"{ISSUER}/back")
        await provider.logout_url("/")
        identity = await provider.identity(attempt, query, f"{ISSUER}/back")
        storable([provider.caller(identity, grant).name for grant in provider.grants(identity)])

    asyncio.run(come())


KEY_TEXT = json.dumps(KEY.as_dict(private=False))


def read_attempt(data: bytes) -> None:
    for cookie in (data.decode("latin-1"), urlsafe_b64encode(data).decode()):
        if attempt := SignInAttempt.read(cookie):
            attempt.derive("state")


TARGETS = (
    Target(name="answers of providers of identities", seeds=(seeds.PROVIDED,), parse=as_value(sign_in)),
    Target(name="sign-ins under way", seeds=seeds.ATTEMPTS, parse=read_attempt),
)
