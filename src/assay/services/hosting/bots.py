"""What is known of an agent: written here, or fetched from the bot service that the operator named."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout

from assay.config import ServiceSettings
from assay.errors import NotFound, PlanRefused
from assay.model.document import DocumentKind
from assay.model.within import Within
from assay.services.hosting.host import Host
from assay.services.hosting.library import with_distinct_tools
from assay.services.hosting.shapes import whole

SECONDS = 15.0
LARGEST = 4 * 1024 * 1024
Json = dict[str, Any]


async def bot_context(host: Host, bot_id: str, within: Within) -> Json:
    """The BotContext; each tool once, however often it was listed."""
    if within.agent_ids is not None and bot_id not in within.agent_ids:
        raise NotFound(f"there is no agent {bot_id}")
    try:
        found = whole(await host.store.documents.get(DocumentKind.AGENT, bot_id, within=within))
    except NotFound:
        if not host.rules.bot_service:
            raise
        found = await fetched(host.rules, bot_id)
    return with_distinct_tools(found)


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
            body = await response.content.read(LARGEST)
            status = response.status
    except (ClientError, TimeoutError, OSError):
        raise PlanRefused(f"the bot service cannot be reached for agent {bot_id}: try again later") from None
    if status == 404:
        raise NotFound(f"there is no agent {bot_id}")
    if status != 200:
        raise PlanRefused(f"the bot service answered {status} for agent {bot_id}")
    try:
        return msgspec.json.decode(body, type=Json)
    except msgspec.DecodeError:
        raise PlanRefused(f"the bot service's answer for agent {bot_id} is not JSON") from None
