"""A quotient that is rounded up, of whole numbers that a kernel computes."""

import triton.language as tl
from taken import take
from triton.language import core
from triton.runtime import interpreter

taken = take(
    "python/triton/language/math.py", "cdiv", core=core, _add_math_2arg_docstr=lambda name: lambda function: function
)
with_builder = interpreter.interpreter_semantic
x, y = (with_builder.to_tensor(number) for number in (7, 2))
plain = getattr(taken.cdiv, "__wrapped__", taken.cdiv)
found = plain(x, y, _semantic=with_builder)
assert found.dtype == tl.int32 and found.handle.data.item() == 4
