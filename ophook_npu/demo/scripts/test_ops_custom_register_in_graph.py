"""AddCustom in compiled graphs: torchair (static and dynamic shapes), npugraph_ex, and NPUGraph capture and replay.

Alone on an Ascend host: `python test_ops_custom_register_in_graph.py`.
Elsewhere: `ophook-npu run -- test_ops_custom_register_in_graph.py`.
"""

import argparse
import json
import sys
import time

import torch
import torch_npu
import torchair
from torch.library import impl
from torchair.ge import Tensor

try:
    from torch_npu.op_plugin.meta._meta_registrations import m
except ImportError:  # where older releases of torch_npu keep it
    from torch_npu.meta._meta_registrations import m

DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)
STATIC = (
    ("8x2048, the sample's", (8, 2048), (8, 2048)),
    ("broadcast both ways", (3, 1, 5), (4, 1)),
    ("0-d and 2-d", (), (2, 3)),
    ("odd length", (1000003,), (1,)),
)
ROWS = (2, 7, 64)  # one dynamic graph must serve them all


def load_operator():
    """torch_npu has npu_add_custom where it was built from patched sources; else the extension brings it."""
    if not torch._C._jit_get_schemas_for_operator("npu::npu_add_custom"):
        from ophook_npu.ops.extension import build

        torch.ops.load_library(str(build()))


load_operator()


# 1. The meta implementation: shapes and dtypes for tracing.
@impl(m, "npu_add_custom")
def npu_add_custom_meta(x, y):
    return x.new_empty(torch.broadcast_shapes(x.shape, y.shape))


# 2. The converter from FX to GE, for the prototype that the operator project generates:
#    REG_OP(AddCustom).INPUT(x, …).INPUT(y, …).OUTPUT(z, …)
@torchair.register_fx_node_ge_converter(torch.ops.npu.npu_add_custom.default)
def convert_npu_add_custom(x: Tensor, y: Tensor, z: Tensor = None, meta_outputs=None):
    return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z"])


def alone(x, y):
    return torch.ops.npu.npu_add_custom(x, y)


def among_others(x, y):
    return torch.relu(torch.ops.npu.npu_add_custom(x, y)) * 2


def alone_on_cpu(x, y):
    return torch.add(x, y)


def among_others_on_cpu(x, y):
    return torch.relu(torch.add(x, y)) * 2


PROGRAMS = (("alone", alone, alone_on_cpu), ("among others", among_others, among_others_on_cpu))


def random(shape, dtype):
    return (torch.randn(shape) * 100).to(dtype)


def error(on_npu, on_cpu):
    """The largest absolute difference; shape, dtype and device must be right."""
    assert on_npu.device.type == "npu", on_npu.device
    assert (on_npu.shape, on_npu.dtype) == (on_cpu.shape, on_cpu.dtype), (on_npu.shape, on_npu.dtype)
    if on_cpu.numel() == 0:
        return 0.0
    return (on_npu.cpu().double() - on_cpu.double()).abs().max().item()


def graphs_compiled():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def compile_fresh(function, backend, dynamic):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    return torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)


def run_static(backend):
    """Every dtype and shape in a graph of its own, run twice with other values."""
    errors = {}
    for dtype in DTYPES:
        for shapes_name, x_shape, y_shape in STATIC:
            for program_name, function, reference in PROGRAMS if x_shape == y_shape else PROGRAMS[:1]:
                compiled = compile_fresh(function, backend, dynamic=False)
                worst = 0.0
                for _ in range(2):
                    x, y = random(x_shape, dtype), random(y_shape, dtype)
                    worst = max(worst, error(compiled(x.npu(), y.npu()), reference(x, y)))
                assert graphs_compiled() == 1, f"{graphs_compiled()} graphs were compiled for one shape"
                errors[f"static {dtype} {shapes_name}, {program_name}"] = worst
    return errors


def run_dynamic(backend):
    """One graph for all row counts, with and without broadcasting."""
    errors = {}
    for dtype in DTYPES:
        for program_name, function, reference in PROGRAMS:
            for shapes_name, y_shape in (("same shape", None), ("broadcast", (1, 16))):
                compiled = compile_fresh(function, backend, dynamic=True)
                worst = 0.0
                for rows in ROWS:
                    x = random((rows, 16), dtype)
                    y = random(y_shape or (rows, 16), dtype)
                    worst = max(worst, error(compiled(x.npu(), y.npu()), reference(x, y)))
                assert graphs_compiled() == 1, f"{graphs_compiled()} graphs were compiled for row counts {ROWS}"
                errors[f"dynamic {dtype} {shapes_name}, {program_name}"] = worst
    return errors


def run_capture():
    """torch.npu.NPUGraph by hand: capture once, replay with new values in the same memory."""
    errors = {}
    for dtype in DTYPES:
        x, y = random((8, 2048), dtype).npu(), random((8, 2048), dtype).npu()
        among_others(x, y)  # warm up outside the capture
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            z = among_others(x, y)
        worst = 0.0
        for _ in range(3):
            new_x, new_y = random((8, 2048), dtype), random((8, 2048), dtype)
            x.copy_(new_x)
            y.copy_(new_y)
            graph.replay()
            torch.npu.synchronize()
            worst = max(worst, error(z, among_others_on_cpu(new_x, new_y)))
        errors[f"NPUGraph {dtype}, captured once, replayed three times"] = worst
    return errors


def run_torchair():
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return run_static(backend) | run_dynamic(backend)


def run_npugraph_ex():
    return run_static("npugraph_ex") | run_capture()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the result to this file")
    parser.add_argument("--mode", choices=("torchair", "npugraph_ex"), help="run this one only")
    options = parser.parse_args()
    torch.manual_seed(0)
    print(f"device: {torch.npu.get_device_name(0)}, torch {torch.__version__}, torch_npu {torch_npu.__version__}")
    result = {}
    # In this order: torch_npu 2.13's torchair cannot be used in a process that used npugraph_ex first, as both define
    # the operators npu_define::*. Swap at will once torchair imports where those operators exist already.
    for mode, run in (("torchair", run_torchair), ("npugraph_ex", run_npugraph_ex)):
        if options.mode not in (None, mode):
            continue
        start = time.perf_counter()
        errors = run()
        for name, value in errors.items():
            print(f"  {mode}, {name}: max error {value:g}")
        worst = max(errors.values())
        result[mode] = {
            "passed": worst == 0, "cases": len(errors), "max_error": worst, "seconds": time.perf_counter() - start,
        }  # fmt: skip
        cases = len(errors)  # always many
        print(f"{mode}: {'pass' if worst == 0 else 'FAIL'}, {cases} cases, max error {worst:g}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file)
    return 0 if all(found["passed"] for found in result.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
