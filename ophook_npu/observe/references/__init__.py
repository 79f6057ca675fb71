"""References for operators that only an accelerator has a kernel for, written with operators that every device has.

They run below autograd, where only formulas work: no ``torch.autograd``, no ``torch.func``. What a reference does not
cover it refuses with :class:`NotImplementedError`, naming the argument; :class:`Unspecified` stands for a single
result that nobody documents.
"""

from ophook_npu.observe.references.find import reference_of
from ophook_npu.observe.references.results import UNASKED, Unmatched, Unspecified, matched

__all__ = ["UNASKED", "Unmatched", "Unspecified", "matched", "reference_of"]
