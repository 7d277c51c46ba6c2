"""Serves the files of `served`, beside the file that its port is written to, and parts of them: it counts what was
asked for. `python file_server.py PORT_FILE`"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from aiohttp import web

port_file = Path(sys.argv[1])
asked = {"parts": 0, "whole": 0}


async def file(request: web.Request) -> web.StreamResponse:
    if request.method == "GET":
        asked["parts" if "Range" in request.headers else "whole"] += 1
    return web.FileResponse(port_file.parent / "served" / request.match_info["name"])


async def count(_: web.Request) -> web.Response:
    return web.json_response(asked)


async def main() -> None:
    app = web.Application()
    app.add_routes([web.get("/count", count), web.get("/files/{name}", file)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port_file.write_text(str(runner.addresses[0][1]), encoding="utf-8")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
