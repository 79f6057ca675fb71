"""A proxy before servers answers a request that asks for a stream with the content type of a stream."""

import asyncio
from types import SimpleNamespace

from taken import take

taken = take(
    "examples/disaggregated_prefill_v1/load_balance_proxy_server_example.py",
    "_handle_completions",
    StreamingResponse=lambda chunks, media_type: media_type,
    proxy_state=SimpleNamespace(request_num=0),
)


async def chosen(*given: object) -> None:
    return None


async def asked() -> dict[str, object]:
    return {"prompt": "a", "stream": True}


async def body() -> bytes:
    return b"{}"


taken._handle_completions.__globals__["_handle_select_instance"] = chosen
kind = asyncio.run(taken._handle_completions("/completions", SimpleNamespace(json=asked, body=body)))
assert kind.startswith("text/event-stream"), f"a stream is {kind}"
