"""The dimensions of a tensor as ACL describes them: aclmdlIODims."""

from __future__ import annotations

import ctypes
from typing import Any

from acl._library import INT64, SIZE

_NAME, MOST = 128, 128  # bytes of a name; dimensions, and gears


class Dims(ctypes.Structure):
    """aclmdlIODims."""

    _fields_ = [("name", ctypes.c_char * _NAME), ("dimCount", SIZE), ("dims", INT64 * MOST)]

    def told(self) -> dict[str, Any]:
        """As pyACL gives it."""
        return {"name": self.name.decode(), "dimCount": self.dimCount, "dims": list(self.dims[: self.dimCount])}
