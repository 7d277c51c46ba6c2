"""The shop bot behind FastAPI, in a process of its own: `python fastapi_bot.py PORT-FILE [LATENCY]` writes its port to
the file and serves until it is killed. `/chat` answers as the shop bot does, `/troubled` fails one turn in five in one
of the ways that bots fail, `/asked` tells what it was sent.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from live_files import trouble_of
from shop_bot import ShopBot

Asked = dict[str, Any]

app = FastAPI()
bot = ShopBot()
asked_of: list[Asked] = []
app.state.latency = 0.0


@app.post("/chat")
async def chat(asked: Asked) -> Any:
    asked_of.append(asked)
    await asyncio.sleep(app.state.latency)
    if asked["message"] == "break":
        raise HTTPException(500, "the shop is on fire: boom")
    return bot.answer(asked["message"], asked["session_id"], asked["state"])


@app.get("/asked")
async def told() -> list[Asked]:
    return asked_of


@app.delete("/asked")
async def forget() -> None:
    asked_of.clear()


@app.post("/troubled")
async def troubled(asked: Asked) -> Response:
    asked_of.append(asked)
    match trouble_of(asked["case_id"], asked["turn"]):
        case "hangs":
            await asyncio.sleep(3600)
        case "closes":
            return StreamingResponse(broken_off(), headers={"Content-Length": "1000"})
        case "garbage":
            return Response(b'{"answer": "Your or\xff\x00', media_type="application/json")
        case "500":
            return PlainTextResponse("upstream exploded", 500)
        case _:
            pass
    return Response(b'{"answer": "Noted, turn %d."}' % asked["turn"], media_type="application/json")


async def broken_off() -> AsyncIterator[bytes]:
    """A body that is announced and does not come."""
    yield b'{"answer": "Your'
    raise ConnectionAbortedError


async def serve(port_file: Path) -> None:
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port_file.write_text(str(server.servers[0].sockets[0].getsockname()[1]), encoding="utf-8")
    await serving


if __name__ == "__main__":
    app.state.latency = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    asyncio.run(serve(Path(sys.argv[1])))
