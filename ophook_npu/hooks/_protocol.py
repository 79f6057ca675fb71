"""What a mechanism is: one module, one surface. ``_choose`` types every mechanism by it, and the parity test holds each
to it."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, TypeVar, cast

from torch import fx

from ophook_npu.errors import OphookError
from ophook_npu.hooks._handler import Handler
from ophook_npu.hooks.targets import Targets

Need = Literal["compile", "autograd", "threads", "vmap", "inference"]
NEEDS: tuple[Need, ...] = ("compile", "autograd", "threads", "vmap", "inference")

# What "yes" to each need means, in one place, for the guide and for error messages.
NEED_TEXT: Mapping[Need, str] = {
    "compile": "calls inside torch.compile, while the code stays compiled",
    "autograd": "calls in backward, with the operator's own gradient kept",
    "threads": "calls from threads other than the one that enabled the hook",
    "vmap": "calls under torch.vmap",
    "inference": "calls in torch.inference_mode",
}


class MechanismOptions(TypedDict, total=False):
    """The mechanisms' own keywords of :func:`hook`; the ``OPTIONS`` of each say what they mean."""

    admit: Callable[[fx.Node], bool]
    backend: str | Callable[..., Any]
    devices: str | Iterable[str]
    example_inputs: Any
    graph: fx.GraphModule
    level: Literal["forward", "aot"]


def refuse_unknown(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses the first keyword that is none of ``known``, with the nearest.

    Raises:
        OphookError: there is one.
    """
    names = sorted(set(known))
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            what = f"unknown keyword {name!r}" + (f", did you mean {near[0]!r}?" if near else "")
            raise OphookError(where, what, allowed=", ".join(names))


_Init = TypeVar("_Init", bound=Callable[..., None])


def keywords_of(where: str) -> Callable[[_Init], _Init]:
    """An ``__init__`` that refuses other keywords than its own as :func:`refuse_unknown` does."""

    def around(init: _Init) -> _Init:
        known = list(inspect.signature(init).parameters)[1:]

        @functools.wraps(init)
        def checked(self: Any, *args: Any, **kwargs: Any) -> None:
            refuse_unknown(where, kwargs, known)
            init(self, *args, **kwargs)

        return cast(_Init, checked)

    return around


@dataclass
class Spec:
    """A request for a hook, resolved: what the mechanism has to bring to ``handler``."""

    label: str
    kind: Literal["op", "module", "pattern"]
    handler: Handler
    targets: Targets | None = None  # kind "op"
    modules: Callable[[], list[Any]] | type | None = None  # kind "module"
    pattern: Callable[..., Any] | None = None  # kind "pattern"
    needs: frozenset[str] = frozenset()
    options: dict[str, Any] = field(default_factory=dict)


class Installed(Protocol):
    """A mechanism at work for one hook. ``enable`` and ``disable`` come in pairs, for each thread if ``per_thread``."""

    per_thread: bool
    notes: list[str]

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def remove(self) -> None: ...


class Mechanism(Protocol):
    """The names every mechanism module exports.

    Attributes:
        NAME: the word for ``via=``.
        SUMMARY: one line: how it gets at the call.
        KINDS: which targets it can be aimed at.
        SEES: for each need ``"yes"``, or the reason why not.
        OPTIONS: keyword options it understands, with what they mean.
    """

    @property
    def NAME(self) -> str: ...

    @property
    def SUMMARY(self) -> str: ...

    @property
    def KINDS(self) -> frozenset[str]: ...

    @property
    def SEES(self) -> Mapping[str, str]: ...

    @property
    def OPTIONS(self) -> Mapping[str, str]: ...

    def refuse(self, spec: Spec) -> str | None:
        """Why this mechanism cannot do what ``spec`` asks, or ``None``."""

    def install(self, spec: Spec) -> Installed:
        """Prepares everything that can fail; nothing is intercepted until ``enable``."""
