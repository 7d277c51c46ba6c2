"""What is known of an agent: written here, or fetched from the bot service that the operator named."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

from howsure.config import ServiceSettings
from howsure.dialects.agent_file import read_agent
from howsure.errors import DatasetInvalid, NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import with_distinct_tools
from howsure.services.hosting.shapes import DEFAULTS, whole

SECONDS = 15.0
LARGEST = 4 * 1024 * 1024
Json = dict[str, Any]


async def bot_context(host: Host, bot_id: str, within: AccessScope) -> Json:
    """The BotContext; each tool once, however often it was listed."""
    if within.agent_ids is not None and bot_id not in within.agent_ids:
        raise NotFound(f"there is no agent {bot_id}")
    try:
        found = whole(await host.store.documents.get(DocumentKind.AGENT, bot_id, within=within))
    except NotFound:
        if not host.rules.bot_service:
            raise
        found = await fetched(host.rules, bot_id)
        if within.organization_id is not None and found.get("organization_id") != within.organization_id:
            raise
    return with_distinct_tools(found)


async def described_version(host: Host, bot_id: str, within: AccessScope) -> int | None:
    """The version of what was written here; None: nothing was."""
    try:
        return (await host.store.documents.get(DocumentKind.AGENT, bot_id, within=within)).edition.version
    except NotFound:
        return None


async def fetched(rules: ServiceSettings, bot_id: str) -> Json:
    """From the bot service; its key is named in the settings and kept in the environment."""
    address = rules.bot_service.replace("{id}", quote(bot_id, safe=""))
    secret = os.environ.get(rules.bot_service_key, "") if rules.bot_service_key else ""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=SECONDS)) as session,
            session.get(address, headers=headers, allow_redirects=False) as response,
        ):
            body = await _whole(response)
            status = response.status
    except (ClientError, TimeoutError, OSError):
        raise PlanRefused(f"the bot service cannot be reached for agent {bot_id}: try again later") from None
    if status == 404:
        raise NotFound(f"there is no agent {bot_id}")
    if status != 200:
        raise PlanRefused(f"the bot service answered {status} for agent {bot_id}")
    try:
        return await asyncio.to_thread(_checked, body, bot_id)
    except (msgspec.DecodeError, UnicodeDecodeError, DatasetInvalid):
        raise PlanRefused(f"the bot service's answer for agent {bot_id} is not a description of it") from None


async def _whole(response: ClientResponse) -> bytes:
    """All of it, unless that is far more than a description takes."""
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > LARGEST:
            raise PlanRefused(f"the bot service's answer is larger than {LARGEST} bytes")
    return bytes(body)


def _checked(body: bytes, bot_id: str) -> Json:
    """A description that could have been written here, with every field."""
    given = msgspec.json.decode(body, type=Json)
    whole = {"bot_id": bot_id, "bot_name": bot_id, **DEFAULTS[DocumentKind.AGENT], **given}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "agent.json"
        path.write_bytes(msgspec.json.encode(whole))
        read_agent(path)
    return whole
