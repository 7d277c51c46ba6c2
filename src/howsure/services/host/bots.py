"""The description of an agent: stored in the library, or fetched from the operator's bot service."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout

from howsure.config import ServiceSettings
from howsure.dialects.agent_files import read_agent
from howsure.errors import DatasetInvalid, NotFound, PlanRefused, Unreachable
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.services.host.documents import DEFAULTS, published_document, require_agent, with_distinct_tools
from howsure.services.workspace import Host

TIMEOUT_SECONDS = 15.0
MAX_BYTES = 4 * 1024 * 1024
Json = dict[str, Any]


async def bot_context(host: Host, bot_id: str, scope: AccessScope) -> tuple[Json, int | None]:
    """The BotContext, with each tool listed once, and its version in the library; None where the bot service described
    it."""
    require_agent(bot_id, scope)
    try:
        stored = await host.store.documents.get(DocumentKind.AGENT, bot_id, within=scope)
    except NotFound:
        if not host.rules.bot_service:
            raise
        bot = await fetch_bot(host.rules, bot_id)
        if scope.organization_id is not None and bot.get("organization_id") != scope.organization_id:
            raise
        return with_distinct_tools(bot), None
    return with_distinct_tools(published_document(stored)), stored.edition.version


async def fetch_bot(rules: ServiceSettings, bot_id: str) -> Json:
    """The description from the bot service. Its key is in the environment variable that the settings name."""
    address = rules.bot_service.replace("{id}", quote(bot_id, safe=""))
    secret = os.environ.get(rules.bot_service_key, "") if rules.bot_service_key else ""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS)) as session,
            session.get(address, headers=headers, allow_redirects=False) as response,
        ):
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_BYTES:
                    raise PlanRefused(f"the bot service's answer is larger than {MAX_BYTES} bytes")
            status = response.status
    except (ClientError, TimeoutError, OSError):
        raise Unreachable(f"the bot service cannot be reached for agent {bot_id}") from None
    if status == 404:
        raise NotFound(f"there is no agent {bot_id}")
    if status >= 500 or status == 429:
        raise Unreachable(f"the bot service answered {status} for agent {bot_id}")
    if status != 200:
        raise PlanRefused(f"the bot service answered {status} for agent {bot_id}")
    try:
        return await asyncio.to_thread(_parse_bot, bytes(body), bot_id)
    except (msgspec.DecodeError, UnicodeDecodeError, DatasetInvalid):
        raise PlanRefused(f"the bot service's answer for agent {bot_id} is not a description of it") from None


def _parse_bot(body: bytes, bot_id: str) -> Json:
    """The description with every field, checked like one of the library."""
    described = msgspec.json.decode(body, type=Json)
    bot = {"bot_id": bot_id, "bot_name": bot_id, **DEFAULTS[DocumentKind.AGENT], **described}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.json"
        path.write_bytes(msgspec.json.encode(bot))
        read_agent(path)
    return bot
