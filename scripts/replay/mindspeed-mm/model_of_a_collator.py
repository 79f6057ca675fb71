"""What puts samples together is given the model, as it asks the model for positions."""

from taken import take

seen = []
taken = take(
    "mindspeed_mm/fsdp/data/dataloader/dataloader.py",
    "prepare_base_dataloader",
    resolve_data_collator=lambda *given: (lambda **named: seen.append(named.get("model")), {}),
    StatefulDataLoader=lambda dataset, **more: dataset,
    get_device_type=lambda: "npu",
    get_seed_worker=lambda seed: None,
)
taken.prepare_base_dataloader([], collate_param={"a": 1}, model="model")
assert seen == ["model"], f"the collator has {seen[0]} for a model"
