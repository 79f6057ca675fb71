"""Megatron-LM's pretrain_gpt.py with MindSpeed, as its users start it: one import before the rest.

    torchrun … megatron_gpt.py MEGATRON MINDSPEED OUT gpt|llama|moe [arguments of pretrain_gpt.py]

OUT gets the loss and the gradients' norm of each step. Without torch_npu the same program runs on the CPU, without
MindSpeed: Megatron-LM asks for cuda everywhere, and gets the CPU. There it trains three steps first, and both sides go
on from that checkpoint, which lies beside OUT.
"""

from __future__ import annotations

import inspect
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch
import torch._dynamo
from torch.distributed.checkpoint import filesystem
from torch.overrides import TorchFunctionMode

_ALWAYS = """
--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32
--micro-batch-size 2 --global-batch-size 4 --lr 1e-3 --min-lr 1e-4 --attention-dropout 0 --hidden-dropout 0
--mock-data --tokenizer-type NullTokenizer --vocab-size 4095 --log-interval 1 --eval-iters 0
--transformer-impl local --no-persist-layer-norm --no-gradient-accumulation-fusion --use-cpu-initialization
"""
_LLAMA = """
--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear
--untie-embeddings-and-output-weights
"""
_MODELS = {
    "gpt": "",
    "llama": _LLAMA + "--group-query-attention --num-query-groups 2",
    "moe": _LLAMA + "--num-experts 4 --moe-router-topk 2 --moe-aux-loss-coeff 1e-2 "
    "--moe-token-dispatcher-type alltoall",
}
_START = "--train-iters 3 --save-interval 3"  # the steps before those that are compared
_GO_ON = "--train-iters 10 --finetune --no-load-optim --no-load-rng"


def _cpu(device: Any) -> Any:
    named = isinstance(device, str | torch.device) and str(device).startswith("cuda")
    return "cpu" if named else device


class OnCpu(TorchFunctionMode):
    """What asks for cuda gets the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to:
            args = tuple(_cpu(each) for each in args)
        if "device" in kwargs:
            kwargs["device"] = _cpu(kwargs["device"])
        given = func(*args, **kwargs)
        return given.replace("torch.", "torch.cuda.") if func is torch.Tensor.type and isinstance(given, str) else given


def on_cpu() -> None:
    """Give Megatron-LM the CPU for cuda, and gloo for nccl."""
    made, grouped, cuda = torch.distributed.init_process_group, torch.distributed.new_group, torch.cuda

    def group(*args: Any, backend: Any = None, pg_options: Any = None, **more: Any) -> Any:
        return grouped(*args, backend="gloo", **more)

    torch.distributed.init_process_group = lambda backend, **more: made("gloo", **more)
    torch.distributed.new_group = group
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 8
    cuda.current_device = lambda: "cpu"  # type: ignore[assignment,return-value]
    cuda.random.get_rng_state = cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    for name in ("set_device", "synchronize", "manual_seed", "_lazy_call", "set_rng_state", "empty_cache"):
        setattr(cuda, name, lambda *_, **__: None)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
        setattr(cuda, name, lambda *_: 0)
    for name in ("Stream", "Event", "current_stream"):
        setattr(cuda, name, MagicMock)
    cuda.stream = lambda _: nullcontext()  # type: ignore[assignment,return-value]
    cuda.get_device_capability = lambda *_: (8, 0)
    cuda.FloatTensor, cuda.LongTensor = torch.FloatTensor, torch.LongTensor  # type: ignore[assignment,misc]
    torch.nn.Module.cuda = lambda self, *_: self  # type: ignore[method-assign]
    torch._dynamo.config.disable = True
    OnCpu().__enter__()
    from megatron.core import utils
    from megatron.legacy import fused_kernels

    utils._te_version = utils.PkgVersion("0")  # Transformer Engine's, which is asked for when a checkpoint is read
    fused_kernels.load = lambda *_: None


def main() -> None:
    megatron, adaptor, out, model, *more = sys.argv[1:]
    npu = find_spec("torch_npu") is not None
    start = Path(out).parent / "start"
    if not npu and "--save" not in more:
        shutil.rmtree(start, ignore_errors=True)
        first = [*sys.argv, "--save", str(start), *_START.split()]
        subprocess.run([sys.executable, *first], check=True)
    if "--save" not in more:
        more = ["--load", str(start), *_GO_ON.split(), *more]
    sys.path[:0] = [megatron, adaptor]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    for name, value in {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "CUDA_DEVICE_MAX_CONNECTIONS": "1"}.items():
        os.environ.setdefault(name, value)
    write = filesystem._write_item
    if "serialization_format" in inspect.signature(write).parameters:  # Megatron-LM 0.12 calls it as older torch has it
        format = filesystem.SerializationFormat.TORCH_SAVE
        filesystem._write_item = partial(write, serialization_format=format)  # type: ignore[assignment]
    script = str(Path(megatron) / "pretrain_gpt.py")
    sys.argv = [script, *_ALWAYS.split(), *_MODELS[model].split(), *more]
    if npu:
        import mindspeed.megatron_adaptor  # noqa: F401
    else:
        on_cpu()
        sys.argv.append("--no-rope-fusion")
    from megatron.training import training

    steps: list[dict[str, float]] = []
    logged = training.training_log

    def log(losses: Any, total: Any, *args: Any, **kwargs: Any) -> Any:
        if losses:
            steps.append({"norm": float(args[6]), **{name: float(value) for name, value in losses.items()}})
        return logged(losses, total, *args, **kwargs)

    training.training_log = log
    runpy.run_path(script, run_name="__main__")
    if steps and int(os.environ.get("RANK", "0")) == int(os.environ.get("WORLD_SIZE", "1")) - 1:
        Path(out).write_text(json.dumps(steps), encoding="utf-8")


if __name__ == "__main__":
    main()
