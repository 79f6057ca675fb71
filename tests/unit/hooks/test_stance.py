"""torch._dynamo is not imported for a hook whose program compiles nothing, and does what the hook wants once it is."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import torch, ophook_npu
before, seen = list(sys.meta_path), []
hooks = [ophook_npu.hook("aten::add", before=lambda call, n=n: seen.append(n), via=via, on_miss="handle")
         for n, via in enumerate(("dispatch_mode", "impl_override"))]
x = torch.ones(2)
for order in ((0, 1), (1, 0)):
    for n in (0, 1):
        hooks[n].enable()
    for n in order:
        hooks[n].disable()
    assert sys.meta_path == before and "torch._dynamo" not in sys.modules
assert not seen
with hooks[0]:
    torch.ones(2) + 1
assert "torch._dynamo" not in sys.modules and seen == [0]

{blocked}
with hooks[0]:
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    compiled(x), compiled(x)
    with hooks[1]:
        compiled(x)
assert sys.meta_path == before, sys.meta_path
assert sorted(seen) == [0, 0, 0, 0, 1], seen
compiled(x)
assert len(seen) == 5
print(torch._dynamo.eval_frame._stance.stance)
"""

BLOCKED = """
import importlib.abc
class Broken(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch._dynamo":
            raise RuntimeError("not now")
broken = Broken()
sys.meta_path.insert(0, broken)
with hooks[0]:
    for _ in range(2):
        try:
            import torch._dynamo
        except RuntimeError as error:
            assert str(error) == "not now"
        else:
            raise AssertionError("imported")
        assert "torch._dynamo" not in sys.modules
sys.meta_path.remove(broken)
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_compiler_that_comes_later_gets_what_the_hooks_want() -> None:
    assert run(PROGRAM.replace("{blocked}", "")) == "default"


def test_also_after_an_import_that_failed() -> None:
    assert run(PROGRAM.replace("{blocked}", BLOCKED)) == "default"
