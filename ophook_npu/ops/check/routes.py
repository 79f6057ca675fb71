"""The routes to the device, each against the CPU: aclnn, torchair, npugraph_ex; and the prototype that torchair
sees."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from ophook_npu.ops._ge import attribute_type
from ophook_npu.ops._register import has_npu_kernel
from ophook_npu.ops.check.outcome import Failure, NotHere, call, compare, copied, map_tensors
from ophook_npu.ops.declare import Operator
from ophook_npu.ops.export.ge import outputs
from ophook_npu.plural import counted

_HOW = "run `ophook-npu op check --device auto …`"


def _need_npu() -> None:
    if "torch_npu" not in sys.modules:
        raise NotHere(f"no torch_npu in this process; {_HOW}")


def _need_graph(op: Operator) -> Any:
    _need_npu()
    if op.ge is None:
        raise NotHere("it has no GE operator type")
    import torchair

    return torchair


def prototype(op: Operator) -> str:
    """The registered REG_OP prototype has the declaration's inputs, outputs and attributes."""
    torchair = _need_graph(op)
    from torchair.core import _torchair

    # torchair starts the graph engine, which reads the packages, with the first graph that it compiles.
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    torch.compile(torch.neg, backend=backend, fullgraph=True)(torch.ones(1, device="npu"))

    status, inputs, outs, attributes = _torchair.get_registered_ir_def(op.ge)
    if status != "SUCCESS":
        raise Failure(f"no operator package registers {op.ge}; install one, or build it from `op export`")
    found = (sorted(dict(inputs)), sorted(dict(outs)), sorted(dict(attributes)))
    wanted = (sorted(op.tensors), sorted(outputs(op)), sorted(op.ge_attributes))
    for what, one, other in zip(("inputs", "outputs", "attributes"), found, wanted, strict=True):
        if one != other:
            raise Failure(f"{op.ge} has the {what} {', '.join(one)}; the declaration has {', '.join(other)}")
    for name, kind in dict(attributes).items():
        expected = attribute_type(op, name)
        if _normal(str(kind)) not in (_normal(expected), ""):
            raise Failure(f"{op.ge}'s attribute {name} is {kind}; the declaration gives {expected}")
    return f"{op.ge}: {', '.join(op.tensors)} -> {', '.join(outputs(op))}"


def _normal(kind: str) -> str:
    plain = kind.removeprefix("VT_").replace("_", "").lower()
    return {"string": "str", "type": "datatype", "liststring": "liststr"}.get(plain, plain)


def aclnn(op: Operator) -> str:
    _need_npu()
    if not op.aclnn_name:
        return _against_cpu(op, "npu, through the CPU implementation", op.packet)
    if not has_npu_kernel(op):
        raise Failure("no kernel is registered for npu")
    from ophook_npu.npu.aclnn import missing

    reason = missing(op.aclnn_name)
    if reason:
        raise Failure(f"{reason}: npu tensors go through the CPU implementation")
    return _against_cpu(op, op.aclnn_name, op.packet)


def torchair_static(op: Operator) -> str:
    torchair = _need_graph(op)
    return _compiled(op, "torchair", torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()), False)


def torchair_dynamic(op: Operator) -> str:
    torchair = _need_graph(op)
    return _compiled(op, "torchair, dynamic", torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()), True)


def npugraph_ex(op: Operator) -> str:
    _need_npu()
    if not op.aclnn_name:
        raise NotHere("a captured graph holds kernels of the device only, and it has none")
    return _compiled(op, "npugraph_ex", "npugraph_ex", False)


def _compiled(op: Operator, what: str, backend: Any, dynamic: bool) -> str:
    def program(*given: Any) -> Any:
        return call(op, op.packet, given)

    def fresh(*given: Any) -> Any:
        torch._dynamo.reset()
        # Shapes are what is dynamic: a GE attribute is a constant of the graph.
        with torch._dynamo.config.patch(specialize_int=True, specialize_float=True):
            return torch.compile(program, backend=backend, fullgraph=True, dynamic=dynamic)(*given)

    return _against_cpu(op, what, fresh)


def _against_cpu(op: Operator, what: str, function: Any) -> str:
    sets: Sequence[Any] = op.examples()
    for args in sets:
        on_cpu, on_npu = copied(args), copied(args, "npu")
        expected = call(op, op.packet, on_cpu)
        got = function(*on_npu) if function is not op.packet else call(op, function, on_npu)
        torch.accelerator.synchronize()
        for tensor in [got] if isinstance(got, torch.Tensor) else got or ():
            if tensor.device.type != "npu":
                raise Failure(f"{what} gives a result on {tensor.device}")
        compare(op, what, got, expected, args, tolerance=4)
        written = [i for i, a in enumerate(op.arguments) if a.name in op.mutated]
        back = map_tensors([on_npu[i] for i in written], lambda t: t.cpu())
        compare(op, f"{what}, in place,", back, [on_cpu[i] for i in written], args, tolerance=4)
    return f"as on the CPU for {counted(len(sets), 'set of arguments', 'sets of arguments')}"
