"""mm replaced in the dispatcher: every thread, forward and backward, and free for operators that are not hooked."""

import threading

import torch

import ophook_npu
from ophook_npu import hooks


def numpy_mm(a, b):
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy()) + 1000


x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
table = torch._C._dispatch_dump_table("aten::mm")
with ophook_npu.hook("aten::mm", replace=numpy_mm, via="impl_override") as hook:
    y = torch.mm(x, w)
    print("forward replaced:   ", y.min().item() > 500)
    y.sum().backward()
    print("calls in backward:  ", hook.hits - 1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.mm(x, w).min().item() > 500))
    thread.start()
    thread.join()
    print("other thread:       ", seen[0])
    out = torch.empty(3, 5)
    torch.mm(x.detach(), w.detach(), out=out)
    print("out= variant:       ", out.min().item() > 500)
    f = torch.compile(lambda a, b: a @ b, backend="eager")
    print("compiled function:  ", f(x, w).min().item() > 500, "(runs eagerly while the hook is on)")
    print("in the dispatcher:  ", hooks.registered()[0][:2])
hook.remove()
hooks.purge()  # no other thread runs operators now
print("table as before:    ", torch._C._dispatch_dump_table("aten::mm") == table)
