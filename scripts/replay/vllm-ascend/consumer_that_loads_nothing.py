"""A consumer of cached keys that is told to load nothing has to say that no token is cached elsewhere."""

from types import SimpleNamespace

from taken import take

taken = take(
    "vllm_ascend/distributed/mooncake/mooncake_store_connector_v1.py",
    "MooncakeStoreConnectorV1Scheduler.get_num_new_matched_tokens",
    LoadSpec=SimpleNamespace,
)
scheduler = SimpleNamespace(
    kv_role="kv_consumer", consumer_is_to_load=False, use_layerwise=False, load_specs={}, _block_size=4,
    _discard_partial_chunks=True, client=SimpleNamespace(lookup=len),
)  # fmt: skip
request = SimpleNamespace(prompt_token_ids=list(range(8)), num_tokens=9, request_id="1")
found = taken.get_num_new_matched_tokens(scheduler, request, 0)
assert found == (0, False), f"it would load {found[0]} tokens"
