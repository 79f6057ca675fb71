"""A dispatch mode and torch.compile: what a plain mode does to compiled functions, and what the hook does instead."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ophook_npu

runs = []


def backend(graph, inputs):
    """Stands for a compiler; tells whether compiled code ran."""

    def run(*args):
        runs.append(1)
        return graph(*args)

    return run


def ran_compiled(function, *args) -> bool:
    runs.clear()
    function(*args)
    return bool(runs)


class PlainMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def shifted(a, b):
    return ophook_npu.original()(a, b) + 1000


x, w = torch.randn(3, 4), torch.randn(4, 5)

f = torch.compile(lambda a, b: torch.mm(a, b), backend=backend)
print("compiled before:               ", ran_compiled(f, x, w))
with PlainMode():
    f(x, w)
print("compiled after a plain mode:   ", ran_compiled(f, x, w), "(poisoned until torch._dynamo.reset())")

torch._dynamo.reset()
f = torch.compile(lambda a, b: torch.mm(a, b), backend=backend, fullgraph=True)
f(x, w)
with ophook_npu.hook("aten::mm", replace=shifted, via="dispatch_mode") as hook:
    print("replaced in a warm function:   ", f(x, w).min().item() > 500, "(it runs eagerly while the hook is on)")
print("compiled after the hook:       ", ran_compiled(f, x, w))
print("native after the hook:         ", f(x, w).min().item() < 500)

with ophook_npu.hook("aten::mm", replace=shifted, via="dispatch_mode", on_miss="raise"):
    try:
        f(x, w)
    except Exception as error:
        print("on_miss='raise':               ", "a function compiled by torch.compile was called" in str(error))

with ophook_npu.hook("aten::mm", replace=shifted, needs="compile") as hook:
    print(f"needs='compile' takes {hook.via}: ", f(x, w).min().item() > 500, "and compiled:", ran_compiled(f, x, w))
