"""Signing in at a provider by OpenID Connect: the authorization code flow with PKCE. The provider says who the user is
and which groups they are in; the settings say what a group may do here. A user is identified by issuer and subject;
name and e-mail address are only displayed. No token is stored."""

from __future__ import annotations

import hmac
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from howsure.config import OidcSettings
from howsure.errors import ConfigInvalid, InputError
from howsure.model.access_scope import AccessScope
from howsure.services.host.keys import Caller
from howsure.services.host.roles import SCOPES_OF
from howsure.store.keys import KeyScope

Json = dict[str, Any]
DISCOVERY = "/.well-known/openid-configuration"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Signatures by a key that only the provider has: never `none`, never one by a shared secret."""
KEY_TYPES = ("RSA", "EC")
IDENTITY = "oidc:"
"""The prefix of the ids of callers who signed in at a provider."""
ATTEMPT_SECONDS = 600
METADATA_SECONDS = 3600
KEYS_AGAIN_SECONDS = 60
"""The shortest time between two fetches of the provider's keys because of a token with an unknown key."""
LEEWAY_SECONDS = 60
TIMEOUT_SECONDS = 10.0
MAX_BYTES = 512 * 1024
MAX_NAME = 100


class SignInRefused(InputError):
    """The user cannot sign in; the message is shown to them."""


class ProviderUnavailable(SignInRefused):
    """The provider does not answer as it should."""


class SignInAttempt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sign-in at the provider, kept in a cookie of the browser. State, nonce and code verifier are derived from its
    secret, so that an answer of the provider is valid only in the browser that started it."""

    secret: str
    begun: int
    after: str
    choice: str = ""

    @classmethod
    def begin(cls, after: str, choice: str = "") -> SignInAttempt:
        return cls(secret=token_urlsafe(32), begun=int(time()), after=after, choice=choice)

    @classmethod
    def read(cls, cookie: str) -> SignInAttempt | None:
        """None if the cookie is missing, not ours, or too old."""
        try:
            attempt = msgspec.json.decode(urlsafe_b64decode(cookie.encode("ascii")), type=cls)
        except (ValueError, msgspec.DecodeError):
            return None
        return attempt if 0 <= int(time()) - attempt.begun < ATTEMPT_SECONDS and len(attempt.secret) >= 43 else None

    @property
    def cookie(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode(self)).decode()

    def derive(self, purpose: str) -> str:
        text = f"{purpose}|{self.begun}|{self.choice}|{self.after}"
        return hmac.new(self.secret.encode(), text.encode(), sha256).hexdigest()

    def is_state(self, state: str) -> bool:
        return hmac.compare_digest(state.encode("utf-8", "replace"), self.derive("state").encode())


class Grant(Struct, frozen=True):
    """The role that a user's groups give in one organisation, for all or some of its agents."""

    within: AccessScope
    scopes: frozenset[KeyScope]

    @property
    def words(self) -> str:
        place = "every organisation" if self.within.organization_id is None else self.within.organization_id
        agents = "" if self.within.agent_ids is None else f", agents {', '.join(self.within.agent_ids)}"
        return f"{place}{agents}"


class OidcIdentity(Struct, frozen=True):
    """The user who signed in at the provider."""

    subject: str
    name: str
    groups: tuple[str, ...]


def is_oidc_caller(caller: Caller) -> bool:
    return caller.id.startswith(IDENTITY)


class OidcProvider:
    """The provider of the settings. Its description and its keys are fetched when they are needed, and kept a while."""

    def __init__(self, settings: OidcSettings, environ: Mapping[str, str], clock: Callable[[], float] = time) -> None:
        variable = settings.client_secret.removeprefix("${").removesuffix("}")
        if variable and not environ.get(variable):
            raise ConfigInvalid(f"service.oidc.client_secret: the environment has no {variable!r}")
        self.settings = settings
        self._secret = environ.get(variable, "") if variable else ""
        self._clock = clock
        self._metadata: tuple[float, Json] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Where the browser is sent."""
        metadata = await self._described()
        url: str = prepare_grant_uri(
            metadata["authorization_endpoint"],
            self.settings.client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=" ".join(dict.fromkeys(("openid", *self.settings.scopes))),
            state=attempt.derive("state"),
            nonce=attempt.derive("nonce"),
            code_challenge=create_s256_code_challenge(attempt.derive("verifier")),
            code_challenge_method="S256",
        )
        return url

    async def logout_url(self, after: str) -> str:
        """Where the browser is sent to sign out there, too; "" where there is no such page."""
        endpoint = (await self._described()).get("end_session_endpoint") if self.settings.logout else None
        if not isinstance(endpoint, str):
            return ""
        query = urlencode({"client_id": self.settings.client_id, "post_logout_redirect_uri": after})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    async def identity(self, attempt: SignInAttempt, answer: Mapping[str, str], redirect_uri: str) -> OidcIdentity:
        """The identity that the provider confirms. `answer` is the query with which the browser came back."""
        metadata = await self._described()
        if not attempt.is_state(answer.get("state", "")):
            raise SignInRefused("this answer does not belong to a sign-in of this browser: begin again")
        promised = metadata.get("authorization_response_iss_parameter_supported") is True
        if answer.get("iss", self.settings.issuer if not promised else "") != self.settings.issuer:
            raise SignInRefused("this answer comes from another provider: begin again")
        if not answer.get("code"):
            raise SignInRefused(f"{self.settings.name} did not sign you in: {_plain(answer.get('error', 'no reason'))}")
        tokens = await self._tokens(metadata, attempt, answer["code"], redirect_uri)
        claims = await self._verified(metadata, str(tokens.get("id_token", "")), attempt.derive("nonce"))
        if self.settings.groups_claim not in claims and tokens.get("access_token"):
            claims = {**await self._user_info(metadata, str(tokens["access_token"]), claims["sub"]), **claims}
        groups = claims.get(self.settings.groups_claim, ())
        listed = (groups,) if isinstance(groups, str) else groups if isinstance(groups, list) else ()
        named = next((claims[each] for each in ("name", "preferred_username", "email") if claims.get(each)), "")
        return OidcIdentity(claims["sub"], _plain(str(named)), tuple(each for each in listed if isinstance(each, str)))

    def grants(self, identity: OidcIdentity) -> list[Grant]:
        """The grants of the user's groups, one for each organisation and its agents. Roles of the same place add up;
        those of different places do not mix."""
        found: dict[AccessScope, frozenset[KeyScope]] = {}
        for group in identity.groups:
            if given := self.settings.roles.get(group):
                within = AccessScope(organization_id=given.organization, agent_ids=given.agents)
                found[within] = found.get(within, frozenset()) | set(SCOPES_OF[given.role])
        return [Grant(within, scopes) for within, scopes in found.items()]

    def caller(self, identity: OidcIdentity, grant: Grant) -> Caller:
        """The caller's name ends with a hash of the identity, so that two users with the same name can be told
        apart."""
        key = f"{IDENTITY}{self.settings.issuer}#{identity.subject}"
        name = f"{identity.name or 'somebody'} ({sha256(key.encode()).hexdigest()[:8]})"
        return Caller(name, grant.scopes, grant.within, key)

    async def _described(self) -> Json:
        """The provider's description of itself."""
        now = self._clock()
        if self._metadata is None or now - self._metadata[0] > METADATA_SECONDS:
            described = OpenIDProviderMetadata(await self._fetch("GET", self.settings.issuer.rstrip("/") + DISCOVERY))
            try:
                described.validate()
            except (ValueError, TypeError) as error:
                raise ProviderUnavailable(f"{self.settings.name} describes itself wrongly: {error}") from None
            if described["issuer"] != self.settings.issuer:
                raise ProviderUnavailable(f"{self.settings.name} names another issuer than the settings do")
            self._metadata = (now, dict(described))
        return self._metadata[1]

    async def _tokens(self, metadata: Json, attempt: SignInAttempt, code: str, redirect_uri: str) -> Json:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.derive("verifier"),
            "client_id": self.settings.client_id,
        }
        ways, headers = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"], {}
        if self._secret and "client_secret_basic" in ways:
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        elif self._secret:
            form["client_secret"] = self._secret
        return await self._fetch("POST", metadata["token_endpoint"], data=form, headers=headers)

    async def _verified(self, metadata: Json, id_token: str, nonce: str) -> Json:
        """The claims of an ID token that is signed by the provider, for us, for this attempt, and now."""
        try:
            try:
                token = jwt.decode(id_token, await self._key_set(metadata), algorithms=ALGORITHMS)
            except InvalidKeyIdError:
                # The provider may have a new key.
                token = jwt.decode(id_token, await self._key_set(metadata, anew=True), algorithms=ALGORITHMS)
            expected: Json = {
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
                "sub": {"essential": True},
            }
            params = {"nonce": nonce, "client_id": self.settings.client_id}
            claims = CodeIDToken(token.claims, token.header, expected, params)
            claims.validate(int(self._clock()), LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError) as error:
            raise SignInRefused(f"{self.settings.name} sent no valid ID token ({type(error).__name__})") from None
        if not isinstance(claims["sub"], str):
            raise SignInRefused(f"{self.settings.name} does not say who you are")
        return dict(claims)

    async def _key_set(self, metadata: Json, *, anew: bool = False) -> KeySet:
        now = self._clock()
        if self._keys is None or (anew and now - self._keys[0] > KEYS_AGAIN_SECONDS):
            found = (await self._fetch("GET", metadata["jwks_uri"])).get("keys")
            listed = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
            usable = [each for each in listed if each.get("kty") in KEY_TYPES and each.get("use", "sig") == "sig"]
            self._keys = (now, KeySet.import_key_set({"keys": usable}))
        return self._keys[1]

    async def _user_info(self, metadata: Json, access_token: str, subject: str) -> Json:
        """More claims, for providers that do not put groups into the ID token."""
        endpoint = metadata.get("userinfo_endpoint")
        if not isinstance(endpoint, str):
            return {}
        claims = await self._fetch("GET", endpoint, headers={"Authorization": f"Bearer {access_token}"})
        if claims.get("sub") != subject:
            raise SignInRefused(f"{self.settings.name} describes another user: begin again")
        return claims

    async def _fetch(self, method: str, url: str, **options: Any) -> Json:
        """A JSON object of the provider; redirects are not followed."""
        timeout = ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            async with (
                ClientSession(timeout=timeout) as session,
                session.request(method, url, allow_redirects=False, **options) as response,
            ):
                body = await response.content.read(MAX_BYTES + 1)
                while not response.content.at_eof() and len(body) <= MAX_BYTES:
                    body += await response.content.read(MAX_BYTES + 1 - len(body))
        except (ClientError, TimeoutError, OSError, ValueError):
            raise ProviderUnavailable(f"{self.settings.name} cannot be reached just now: try again later") from None
        try:
            answer = msgspec.json.decode(body) if len(body) <= MAX_BYTES else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer = None
        if response.status in (400, 401) and isinstance(answer, dict):
            raise SignInRefused(f"{self.settings.name} refused: {_plain(str(answer.get('error', response.status)))}")
        if response.status != 200 or not isinstance(answer, dict):
            raise ProviderUnavailable(f"{self.settings.name} answered with status {response.status}: try again later")
        return answer


def _plain(text: str) -> str:
    return "".join(filter(str.isprintable, text)).strip()[:MAX_NAME]
