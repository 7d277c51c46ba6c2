"""The demo for whoever opens the pages for the first time: its runs are planned and queued, and a worker carries them
out. Ids follow from the organisation and the dataset: asking again, or twice at once, gives the same runs."""

from __future__ import annotations

from contextlib import suppress
from uuid import UUID, uuid5

from msgspec.structs import replace

from assay.errors import Conflict, NotFound
from assay.model.within import Within
from assay.services.demo import DEMOS, Demo, options
from assay.services.hosting.host import Host
from assay.services.runs import prepare

SPACE = UUID("8a4cf3d2-6f0b-4a53-9d0c-3f4b2f6f8f11")


def demo_id(demo: Demo, within: Within) -> str:
    return str(uuid5(SPACE, f"{within.home}|{demo.dialect}"))


async def load_demo(host: Host, within: Within) -> list[str]:
    """The ids of the demo's runs, all of them in the store now."""
    for demo in DEMOS:
        if not await _is_there(host, demo_id(demo, within)):
            await _queue(host, demo, within)
    return [demo_id(demo, within) for demo in DEMOS]


async def _is_there(host: Host, run_id: str) -> bool:
    try:
        await host.store.run(run_id)
    except NotFound:
        return False
    return True


async def _queue(host: Host, demo: Demo, within: Within) -> None:
    started = await prepare(host.work, host.store, options(demo))
    run = replace(started.run, id=demo_id(demo, within), organization_id=within.home)
    # Somebody else may have clicked at the same time: then it is there, which is what was asked for.
    with suppress(Conflict):
        await host.store.queue.add(run)
