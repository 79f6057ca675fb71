"""The report of one run: a verdict, findings by kind, as text and as plain data that can be read back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.observe._describe import columns, size
from ophook_npu.observe.port.device import FAMILIES
from ophook_npu.observe.port.finding import ENDING, KINDS, PLACES, Finding, Key
from ophook_npu.observe.port.memory import products
from ophook_npu.observe.port.terms import counted, term
from ophook_npu.observe.port.where import BEFORE, Where
from ophook_npu.observe.port.words import SAYS, say

FORMAT = 1


@dataclasses.dataclass
class Report:
    """What one run of a program showed.

    Attributes:
        product: the SoC that was simulated. torch_npu: its version.
        steps: optimizer steps. calls: of operators on the device. on_cpu: of operators on the CPU.
        operators: different operators on the device.
        error: why the program ended, if not by itself. interrupted: by Ctrl-C.
        transferred: transfer_to_npu was in force.
        peaks: bytes of device memory at the highest of each step.
        alive: (place, bytes, tensors) of what was alive at the peak, the largest first.
        collectives: (operator, calls, bytes given) of those that ran with other ranks.
    """

    product: str
    torch_npu: str
    steps: int
    calls: int
    on_cpu: int
    operators: int
    findings: list[Finding]
    error: str | None = None
    interrupted: bool = False
    transferred: bool = False
    peaks: list[int] = dataclasses.field(default_factory=list)
    alive: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    collectives: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)

    def of(self, kind: str) -> list[Finding]:
        return [one for one in self.findings if one.kind == kind]

    def grouped(self, kind: str) -> list[Finding]:
        """As :meth:`of`, with those of one place but several modules as one, whose module is the first."""
        groups: dict[Any, Finding] = {}
        for one in self.of(kind):
            same = dataclasses.replace(one.key, where=one.key.where._replace(module=None))
            if same in groups:
                groups[same].count += one.count
                groups[same].bytes += one.bytes
            else:
                groups[same] = Finding(one.key, one.count, one.bytes)
        return sorted(groups.values(), key=lambda one: one.weight)

    @property
    def kinds(self) -> list[str]:
        """Those that something was found of, the worst first."""
        worst = {kind: min(one.rank for one in self.of(kind)) for kind in KINDS if self.of(kind)}
        return sorted(worst, key=lambda kind: (worst[kind], KINDS.index(kind)))

    def first(self) -> list[Finding]:
        """What to look at first: the worst of what was found of each operator and line in the steps. Each call is
        counted once, whatever else was found of it."""
        worst: dict[tuple[str, str, int], Finding] = {}
        for one in sorted((one for kind in KINDS for one in self.grouped(kind)), key=lambda one: one.weight):
            worst.setdefault((one.key.operator, one.key.where.file, one.key.where.line), one)
        return [one for one in worst.values() if one.count and one.in_steps]

    @property
    def stops(self) -> bool:
        """Whether the program does not run as it is on the simulated product."""
        return self.unused or self._fails

    @property
    def _fails(self) -> bool:
        return self.error is not None or any(map(self.refused_here, self.findings))

    @property
    def unused(self) -> bool:
        """Whether it came to its end, and nothing of it ran on a device."""
        return self.calls == 0 and not self.interrupted

    @staticmethod
    def refused_here(finding: Finding) -> bool:
        """Whether it was refused in this run. What only the pages say is not sure enough for "it does not run"."""
        return finding.key.code in ENDING

    def share(self, finding: Finding) -> float:
        """Of all operator calls on the device."""
        return finding.count / self.calls if self.calls else 0.0

    def per_step(self, value: float) -> float:
        """``value`` by step; all of it, where the program made none."""
        return value / max(1, self.steps)

    def amount(self, kind: str, lang: str = "en") -> str:
        """How many calls of a kind there were, by step where there are steps, and the bytes of them."""
        found = self.of(kind)
        steady = [one for one in found if one.in_steps]
        calls, moved = self._calls(steady), sum(one.bytes for one in steady)
        once = self._calls([one for one in found if one.key.where.phase == BEFORE])
        step = "" if self.steps else "_in_all"
        parts = []
        if calls:
            parts.append(counted(f"calls_per_step{step}", f"{self.per_step(calls):.3g}", lang))
        if moved:
            parts.append(term(f"bytes_per_step{step}", lang, size=size(self.per_step(moved))))
        if once:
            parts.append(counted("calls_before", str(once), lang))
        return "; ".join(parts)

    @staticmethod
    def _calls(found: list[Finding]) -> int:
        """Calls of findings, each once: of one operator and line several things may be said of the same call."""
        by_code: dict[Any, dict[str, int]] = {}
        for one in found:
            codes = by_code.setdefault((one.key.operator, one.key.where), {})
            codes[one.key.code] = codes.get(one.key.code, 0) + one.count
        return sum(max(codes.values()) for codes in by_code.values())

    def verdict(self, lang: str = "en") -> list[str]:
        """Sentences, the most important first."""
        lines = []
        if self.stops:
            lines.append(term("stops" if self._fails else "unused", lang, product=self.product))
        elif self.calls == 0:
            lines.append(term("too_early", lang))
        else:
            lines.append(term("runs" if self.findings else "runs_clean", lang, product=self.product))
        if self.error is not None:
            lines.append(term("failed", lang, error=self.error))
        if self.calls == 0 and self.on_cpu:
            lines.append(term("never", lang, calls=self.on_cpu))
            if not self.transferred:
                lines.append(term("made_for_cuda" if self.of("cuda") else "made_for_cpu", lang))
        elif not self.transferred and any(one.key.code == "cuda_transfer" for one in self.findings):
            lines.append(term("made_for_cuda", lang))
        for kind in self.kinds:
            if kind != "rules":  # by product, below
                lines.append(f"{term(kind, lang)}: {self._sum(kind, lang)}")
        for family in FAMILIES:
            names = {one.key.operator for one in self.of("rules") if family in one.key.products}
            if names:
                lines.append(term("documented", lang, product=family, operators=", ".join(sorted(names))))
        if self.peaks:
            room = products().get(self.product, 0)
            lines.append(term("peak", lang, size=size(max(self.peaks)), room=size(room), product=self.product))
        if self.collectives:
            step = "" if self.steps else "_in_all"
            used = [
                f"{name} {counted(f'calls_per_step{step}', f'{self.per_step(count):.3g}', lang)}, "
                f"{term(f'bytes_per_step{step}', lang, size=size(self.per_step(given)))}"
                for name, count, given in self.collectives
            ]
            lines.append(term("collectives", lang, used="; ".join(used)))
        unknown = sum(one.count for one in self.findings if one.key.code == "not_simulated")
        if unknown:
            lines.append(counted("unknown", str(unknown), lang))
        if self.interrupted:
            lines.append(term("interrupted", lang))
        all_of = (("n_calls", f"{self.calls:,}"), ("n_operators", str(self.operators)), ("n_steps", str(self.steps)))
        calls, operators, steps = (counted(name, count, lang) for name, count in all_of)
        lines.append(term("counted", lang, calls=calls, operators=operators, steps=steps))
        return lines

    def _sum(self, kind: str, lang: str) -> str:
        names = list(dict.fromkeys(one.key.operator for one in self.grouped(kind)))
        more = f" +{len(names) - 3}" if len(names) > 3 else ""
        amount = self.amount(kind, lang)
        return f"{', '.join(names[:3])}{more}" + (f"; {amount}" if amount else "")

    def how(self, lang: str = "en") -> str:
        return term("how", lang, torch_npu=self.torch_npu, product=self.product)

    def text(self, lang: str = "en") -> str:
        """Verdict and tables, for a terminal."""
        parts = ["\n".join(self.verdict(lang))]
        for kind in self.kinds:
            found = self.grouped(kind)
            rows = [[term(name, lang) for name in ("operator", heading(kind), "share", "module", "line")]]
            said: list[str] = []
            for one in found:
                what = " → ".join(say(one.key.code, dict(one.key.values), lang))
                if what not in said:
                    said.append(what)
                mark = "" if len(said) == 1 and len(found) == 1 else f" [{said.index(what) + 1}]"
                share = f"{100 * self.share(one):.1f} %" if one.is_operator else ""
                rows.append([one.key.operator + mark, str(one.count or ""), share, module_of(one, lang), line_of(one)])
            notes = [f"  [{i + 1}] {what}" if len(found) > 1 else f"  {what}" for i, what in enumerate(said)]
            parts.append("\n".join([f"== {term(kind, lang)}", columns(rows, frozenset({1, 2})), *notes]))
        parts.append(self.how(lang))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in _PLAIN}
        findings = []
        for one in self.findings:
            what, todo = say(one.key.code, dict(one.key.values))
            findings.append(
                {
                    "kind": one.kind, "code": one.key.code, "operator": one.key.operator, "count": one.count,
                    "share": round(self.share(one), 6), "bytes": one.bytes, "products": list(one.key.products),
                    "known": one.key.known, "values": dict(one.key.values), "where": one.key.where._asdict(),
                    "source": one.key.where.text, "what": what, "todo": todo,
                }
            )  # fmt: skip
        data |= {"peaks": self.peaks, "alive": [list(row) for row in self.alive]}
        data["collectives"] = [list(row) for row in self.collectives]
        return {"format": FORMAT, **data, "verdict": self.verdict(), "stops": self.stops, "findings": findings}


def heading(kind: str) -> str:
    """The term for what a kind's findings count."""
    return "places" if kind in PLACES else "count"


_PLAIN = ("product", "torch_npu", "steps", "calls", "on_cpu", "operators", "error", "interrupted", "transferred")


def module_of(one: Finding, lang: str) -> str:
    """Its module, as reports name it."""
    where = one.key.where
    path = "-" if where.module is None else where.module or "(root)"
    if where.phase == BEFORE:
        return term("before", lang)
    return (term("backward", lang) if where.phase == "backward" else "") + path


def line_of(one: Finding) -> str:
    """``train.py:12 forward``, and the line of the program that led there where that is in a package."""
    where = one.key.where
    if not where.file:
        return "-"
    name = f"{one.place} {where.function}".rstrip()
    if where.own_file and (where.own_file, where.own_line) != (where.file, where.line):
        name += f" ← {Path(where.own_file).name}:{where.own_line}"
    return name


def read(path: Path) -> Report:
    """A report that ``to_json`` gave, from a file.

    Raises:
        OphookError: the file is not one.
    """
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}")
        fields = {name: data[name] for name in _PLAIN}
        findings = [_finding(one) for one in data["findings"]]
        fields["peaks"] = [int(one) for one in data["peaks"]]
        for name in ("alive", "collectives"):
            # Reports from before collectives were counted have none.
            fields[name] = [(str(of), int(one), int(other)) for of, one, other in data.get(name, [])]
        for name, kinds in _TYPES.items():
            if not isinstance(fields[name], kinds):
                raise ValueError(f"{name} is {fields[name]!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OphookError("port", f"{path} is no porting report: {error}", todo="write one with --json") from error
    return Report(findings=findings, **fields)


_TYPES: dict[str, Any] = {
    "product": str, "torch_npu": str, "steps": int, "calls": int, "on_cpu": int, "operators": int,
    "error": (str, type(None)), "interrupted": bool, "transferred": bool,
}  # fmt: skip


def _finding(data: Any) -> Finding:
    where = data["where"]
    if (
        data["kind"] not in KINDS
        or data["code"] not in SAYS
        or not all(isinstance(data[n], int) for n in ("count", "bytes"))
    ):
        raise ValueError("an unknown finding")
    values = tuple((str(k), str(v)) for k, v in data["values"].items())
    kind = data["kind"]
    if kind == "refused" and data["code"] in ("refused", "absent"):
        kind = "rules"  # reports from before it was a kind of its own
    place = Where(
        str(where["file"]), int(where["line"]), str(where["function"]), str(where["own_file"]), int(where["own_line"]),
        None if where["module"] is None else str(where["module"]), str(where["phase"]),
    )  # fmt: skip
    key = Key(
        kind,
        data["code"],
        str(data["operator"]),
        place,
        values,
        tuple(map(str, data["products"])),
        str(data["known"]),
    )
    say(key.code, dict(values))  # all that its sentence needs is there
    return Finding(key, data["count"], data["bytes"])


def diff(before: Report, after: Report) -> str:
    """What two reports differ in: findings that came, went, or changed their count by step."""
    old, new = (_by_place(report) for report in (before, after))
    rows = [["", "kind", "operator", "before", "after", "line"]]
    for place in [*new, *(place for place in old if place not in new)]:
        was, now = old.get(place, 0.0), new.get(place, 0.0)
        if place not in old or place not in new or abs(was - now) > 1e-9:
            sign = "+" if place not in old else "-" if place not in new else "~"
            kind, _, operator, line = place
            rows.append([sign, kind, operator, f"{was:.3g}" if was else "", f"{now:.3g}" if now else "", line])
    verdicts = f"before: {before.verdict()[0]}\nafter:  {after.verdict()[0]}"
    if len(rows) == 1:
        return f"{verdicts}\n\nthe same findings"
    came, went = (sum(row[0] == sign for row in rows) for sign in "+-")
    return f"{verdicts}\n\n{columns(rows, frozenset({3, 4}))}\n\n{came} new, {went} gone; counts are by step"


def grown(before: Report, after: Report, kinds: Iterable[str]) -> bool:
    """Whether ``after`` has a finding of these kinds that ``before`` has not, or by a tenth more of one by step."""
    old, new = (_by_place(report) for report in (before, after))
    return any(place[0] in kinds and count > 1.1 * old.get(place, -1.0) for place, count in new.items())


def _by_place(report: Report) -> dict[tuple[str, str, str, str], float]:
    """By kind, code, operator and the text of the line, which a change elsewhere in the file does not move."""
    found: dict[tuple[str, str, str, str], float] = {}
    for one in report.findings:
        line = f"{Path(one.key.where.file).name}: {one.key.where.function}" if one.key.where.file else ""
        place = (one.kind, one.key.code, one.key.operator, line)
        found[place] = found.get(place, 0.0) + (report.per_step(one.count) if one.in_steps else one.count)
    return found
