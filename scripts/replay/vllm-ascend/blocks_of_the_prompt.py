"""A finished prefill hands on the blocks of the prompt, not those of tokens that were drafted beyond it."""

import enum
from types import SimpleNamespace

from taken import take

Status = enum.Enum("Status", "FINISHED_LENGTH_CAPPED")
taken = take(
    "vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py",
    "MooncakeConnectorScheduler.request_finished",
    RequestStatus=Status,
)
scheduler = SimpleNamespace(
    _reqs_need_send={}, block_size=4, engine_id="", side_channel_host="", side_channel_port=0, pcp_size=1, dcp_size=1,
    tp_size=1, multi_nodes_meta_mapping={},
)  # fmt: skip
request = SimpleNamespace(
    kv_transfer_params={"do_remote_decode": True}, status=Status.FINISHED_LENGTH_CAPPED, request_id="1",
    prompt_token_ids=list(range(8)), output_token_ids=[3],
)  # fmt: skip
_, handed = taken.request_finished(scheduler, request, [5, 6, 7])
assert handed["remote_block_ids"] == [5, 6], f"blocks {handed['remote_block_ids']} for two blocks of prompt"
