"""One line for each operator call."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import IO, Any

from typing_extensions import Unpack

from ophook_npu.hooks import Call
from ophook_npu.observe._describe import brief, plain
from ophook_npu.observe._observer import EVERYTHING, Filters, Observer
from ophook_npu.plural import counted


class Log(Observer):
    """Writes a line for each call, before it runs.

    ``[DISPATCH] op=aten::add.Tensor | args=[Tensor(device=cpu, dtype=torch.float32, shape=(3,),
    requires_grad=False), …]``

    Args:
        target, modules, phase, every, via, on_miss: see :class:`Observer`.
        to: a path, an open text file, ``None`` for nowhere (only counting), or ``"stdout"``: what is ``sys.stdout``
            then.
        as_json: one JSON object a line, with ``n``, ``op``, ``phase``, ``module``, ``args`` and ``kwargs``; in compiled
            graphs also ``node``, as in :attr:`Call.node`.
        results: one more line after each call, with what came out.
    """

    NAME = "log"

    def __init__(
        self,
        target: Any = EVERYTHING,
        *,
        to: str | Path | IO[str] | None = "stdout",
        as_json: bool = False,
        results: bool = False,
        **filters: Unpack[Filters],
    ) -> None:
        self._results = results
        super().__init__(target, **filters)
        self._to = to
        self._json = as_json
        self._file: IO[str] | None = None
        self._number = 0

    def __enter__(self) -> Log:
        if isinstance(self._to, (str, Path)) and self._to != "stdout":
            self._file = open(self._to, "a", encoding="utf-8")
        else:
            self._file = None if isinstance(self._to, (str, Path)) else self._to
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if isinstance(self._to, (str, Path)) and self._file is not None:
            self.put(self._file.flush)
            with contextlib.suppress(OSError):  # of what could not be written
                self._file.close()

    def before(self, call: Call) -> None:
        if self._to is None:
            return
        self._number += 1
        if self._json:
            node = call.node
            self._write(
                {
                    "n": self._number,
                    "op": call.name,
                    "phase": call.phase,
                    "module": call.module_path,
                    "args": plain(call.args),
                    "kwargs": {name: plain(value) for name, value in call.kwargs.items()},
                }
                | ({} if node is None else {"node": node})
            )
            if self._results:
                call.state = self._number
            return
        text = f"[DISPATCH] op={call.name} | args=[{', '.join(map(brief, call.args))}]"
        if call.kwargs:
            text += f" | kwargs={{{', '.join(f'{name}: {brief(value)}' for name, value in call.kwargs.items())}}}"
        if call.node is not None:
            text += f" | {call.node}"
        self._write(text)

    def after(self, call: Call) -> None:
        if not self._results or self._to is None:
            return
        if self._json:
            self._write({"n": call.state, "op": call.name, "result": plain(call.result)})
        else:
            self._write(f"[RESULT] op={call.name} | {brief(call.result)}")

    def report(self) -> str:
        end = f"\nended early by {self.cut_short}: this is what ran until then" if self.cut_short else ""
        return f"{counted(self.seen, 'call')} logged{end}"

    def to_json(self) -> Any:
        return {"calls": self.seen}

    def _write(self, line: Any) -> None:
        self.put(lambda: print(json.dumps(line) if self._json else line, file=self._file or sys.stdout))
