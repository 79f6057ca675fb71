"""Remote calls have a backend of npu, under the name that programs take it from."""

from taken import lay

lay("torch_npu/distributed/rpc/backend_registry.py")
import torch  # noqa: E402
import torch.distributed.rpc  # noqa: E402
import torch_npu  # noqa: E402, F401

names = [kind.name for kind in torch.distributed.rpc.BackendType]
assert "NPU_TENSORPIPE" in names, f"the backends are {names}"
