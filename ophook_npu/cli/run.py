"""``ophook-npu run -- PROGRAM``: with an NPU or the simulated Ascend under it. ``ophook-npu env``: that for a shell."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ophook_npu.cli import _order
from ophook_npu.cli._command import ProgramCommand, become, command
from ophook_npu.cli.sim import build_with_progress
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload, place
from ophook_npu.sim import repeated, variables
from ophook_npu.sim.activate import relax_timers
from ophook_npu.sim.fault import LOG, VARIABLE, lines
from ophook_npu.sim.order import PINNED_COPIES, suppressions

_DeviceOption = Annotated[str, typer.Option(help="auto: an NPU if there is one, else the simulator; sim; npu; cpu.")]
_SocOption = Annotated[str | None, typer.Option(help="The SoC to simulate.")]
_DevicesOption = Annotated[int | None, typer.Option(help="How many devices to simulate; 1 by default.")]
_MemoryOption = Annotated[int | None, typer.Option(help="Memory of each simulated device, in MiB.")]
_CannOption = Annotated[str | None, typer.Option(help="The CANN release to simulate: 8.5.0, the default, or 9.0.0.")]
_SyncOption = Annotated[bool, typer.Option("--sync", help="Run every operator before its call returns (debugging).")]


def register(app: typer.Typer) -> None:
    @app.command("run", cls=ProgramCommand)
    def run(
        arguments: Annotated[
            list[str],
            typer.Argument(
                metavar="PROGRAM",
                help="A Python file, -m module or -c code, or any other program, with its arguments.",
            ),
        ],
        device: _DeviceOption = "auto",
        soc: _SocOption = None,
        devices: _DevicesOption = None,
        memory: _MemoryOption = None,
        sync: _SyncOption = False,
        cann: _CannOption = None,
        rules: Annotated[
            bool | None,
            typer.Option(
                "--rules/--no-rules",
                help="Refuse in phase 1 what a device refuses (see `sim rules`); the default.",
                show_default=False,
            ),
        ] = None,
        rules_report: Annotated[
            Path | None, typer.Option(help="Append what each product would refuse to this file, one JSON line each.")
        ] = None,
        strict_memory: Annotated[
            bool,
            typer.Option(
                "--strict-memory",
                help="Fill new device memory with NaN and make it as large as requested; a program that reads or "
                "writes it without a copy gets an error and ends.",
            ),
        ] = False,
        after_failure: Annotated[
            str | None,
            typer.Option(
                metavar="poison|continue",
                help="Whether a failed task leaves its device unusable until it is reset, as an NPU does (the "
                "default), or each failure is reported once.",
                show_default=False,
            ),
        ] = None,
        check_order: Annotated[
            bool,
            typer.Option(
                "--check-order",
                help="Report accesses of streams and the host to the same memory that nothing orders (docs/order.md); "
                "exit status 1 if there are any.",
            ),
        ] = False,
        order_report: Annotated[
            Path | None,
            typer.Option(
                help="Append what --check-order finds to this file, one JSON line each; or write *.html or *.sarif."
            ),
        ] = None,
        order_suppressions: Annotated[
            Path | None,
            typer.Option(help="A file with lines `WORD … # REASON`: a race with all these words is not reported."),
        ] = None,
        pinned_copies: Annotated[
            str | None,
            typer.Option(
                metavar="ordered|unordered",
                help="With --check-order: whether a copy of pinned memory to the device is ordered with the kernels of "
                "its stream (the default), or runs beside them until something waits for it.",
                show_default=False,
            ),
        ] = None,
        jitter: Annotated[
            str | None,
            typer.Option(
                metavar="SEED|only:N,…",
                help="Run tasks in another order that the program allows; the same for the same seed (docs/order.md).",
            ),
        ] = None,
        explore: Annotated[
            int | None,
            typer.Option(
                metavar="N",
                min=1,
                help="Run the program in N such orders; if one changes how it ends, print the fewest delays that do; "
                "exit status 1.",
            ),
        ] = None,
        triton: Annotated[
            str | None,
            typer.Option(
                metavar="warn|error|off",
                help="How to report a Triton kernel that needs more than a core has, or whose programs race: a line on "
                "standard error (the default), an exception, or not at all (docs/triton.md).",
                show_default=False,
            ),
        ] = None,
        faults: Annotated[
            list[str] | None,
            typer.Option(
                "--fault",
                help="Make this fault, such as aclnnAdd@3=507015 (docs/faults.md). Repeatable; or a TOML file.",
            ),
        ] = None,
        fault_log: Annotated[
            Path | None, typer.Option(help="Append each fault that is made to this file, one JSON line each.")
        ] = None,
        ranks: Annotated[
            int | None,
            typer.Option(
                metavar="N", min=1, help="Run the program as N ranks, of which --real run (docs/many-ranks.md)."
            ),
        ] = None,
        real: Annotated[
            str | None,
            typer.Option(
                metavar="LIST",
                help="With --ranks: those that run, such as 0-7; the others give to collectives what these give.",
            ),
        ] = None,
    ) -> None:
        """Run a program on an NPU, or else on the simulated Ascend.

        Python runs *.py files, -m and -c; anything else is an executable: pytest, torchrun, bash, ./a.out. The
        program, its exit status and its signals are its own: this process becomes it.
        """
        environ = dict(os.environ)
        autoload.unsettle(environ)
        if arguments[0] not in variables.TOOLS:
            command(arguments, environ)  # a wrong name is refused before minutes of building
        if rules is not None or rules_report:
            _ask_for_rules(environ, device, rules, rules_report)
        if faults:
            environ[VARIABLE] = lines(faults)
            _only_simulated(device, "faults are")
        if fault_log:
            environ[LOG] = str(_writable(fault_log))
        if strict_memory:
            _only_simulated(device, "strict memory is")
            environ["OPHOOK_SIM_STRICT_MEMORY"] = "1"
        if after_failure:
            _only_simulated(device, "what a failed task leaves is")
            environ["OPHOOK_SIM_AFTER_FAILURE"] = _one_of("after-failure", after_failure, "poison", "continue")
        if triton:
            _only_simulated(device, "the check of Triton's kernels is")
            environ["OPHOOK_SIM_TRITON"] = _one_of("triton", triton, "warn", "error", "off")
        running = _ranks(device, ranks, real)
        if running and devices is None:
            devices = len(running)
        checks = check_order or bool(order_report or order_suppressions or pinned_copies)
        if jitter is not None or explore is not None:
            _only_simulated(device, "the order of tasks is")
            environ |= _order.jitter(jitter, explore, checks)
        if pinned_copies:
            environ[PINNED_COPIES] = _one_of("pinned-copies", pinned_copies, "ordered", "unordered")
        if checks:
            _only_simulated(device, "the check of order is")
            report = _writable(order_report) if order_report else None
            known = suppressions(order_suppressions) if order_suppressions else []
            environ = _inside(device, environ, soc, devices, memory, sync, cann)[0]
            relax_timers()
            raise typer.Exit(_order.checked(arguments, environ, report, known))
        environ = _inside(device, environ, soc, devices, memory, sync, cann)[0]
        if "OPHOOK_SIM_ROOT" in environ:
            relax_timers()
        if explore is not None:
            raise typer.Exit(_order.explored(arguments, environ, explore))
        if ranks and running:
            file, argv = command(arguments, environ)
            raise typer.Exit(repeated.run(file, argv, environ, ranks, running))
        become(arguments, environ)

    @app.command("env")
    def env(
        device: _DeviceOption = "auto",
        cpu: Annotated[bool, typer.Option("--cpu", help="No npu: what plain Python programs on the CPU need.")] = False,
        soc: _SocOption = None,
        devices: _DevicesOption = None,
        memory: _MemoryOption = None,
        sync: _SyncOption = False,
        cann: _CannOption = None,
    ) -> None:
        """Print what `run` sets, for a shell: eval "$(ophook-npu env)".

        Then python, pytest, torchrun … have an npu.
        """
        try:
            if cpu and device not in ("auto", "cpu"):
                raise OphookError("env", f"--cpu and --device {device}", allowed="one of them")
            text = _exports("cpu" if cpu else device, soc, devices, memory, sync, cann)
        except BaseException:
            print("false")  # so that the shell's `eval` fails too, and does nothing
            raise
        if sys.stdout.isatty():
            print('ophook-npu: to set these in your shell: eval "$(ophook-npu env)"', file=sys.stderr)
        print(text, end="")


def _ranks(device: str, ranks: int | None, real: str | None) -> list[int]:
    """Those that run; none where `--ranks` was not given."""
    if ranks is None:
        if real is not None:
            raise OphookError("run", f"--real {real} without --ranks", todo="--ranks N")
        return []
    _only_simulated(device, "ranks that do not run are")
    return repeated.real_ranks(real or f"0-{ranks - 1}", ranks)


def _one_of(option: str, value: str, *allowed: str) -> str:
    if value not in allowed:
        raise OphookError("run", f"--{option} {value}", allowed=", ".join(allowed))
    return value


def _only_simulated(device: str, what: str) -> None:
    chosen = place.choose(device, place.detect())
    if chosen != "sim":
        raise OphookError("run", f"{what} the simulator's, and this runs on the {chosen}", todo="--device sim")


def _ask_for_rules(environ: dict[str, str], device: str, enforced: bool | None, report: Path | None) -> None:
    _only_simulated(device, "the rules are")
    if enforced is not None:
        environ["OPHOOK_SIM_RULES"] = "on" if enforced else "off"
    if report is not None:
        environ["OPHOOK_SIM_RULES_REPORT"] = str(_writable(report))


def _writable(report: Path) -> Path:
    if report.is_dir() or not report.absolute().parent.is_dir():
        raise OphookError("run", f"cannot write {report}", allowed="a file in a folder that is there")
    return report.absolute()


def _exports(
    device: str, soc: str | None, devices: int | None, memory: int | None, sync: bool, cann: str | None
) -> str:
    before = dict(os.environ)
    autoload.unsettle(before)
    chosen = place.choose(device, place.detect())
    if chosen != "sim":
        given = {"--soc": soc, "--devices": devices, "--memory": memory, "--sync": sync or None, "--cann": cann}
        for option, value in given.items():
            if value is not None:
                raise OphookError(
                    "env", f"{option} describes a simulated device, and this is for the {chosen}", todo="leave it out"
                )
    after, always = _inside(device, dict(before), soc, devices, memory, sync, cann)
    if chosen == "cpu":
        variables.take_out(after)
    return variables.exports(before, after, always)


def _inside(
    device: str,
    environ: dict[str, str],
    soc: str | None,
    devices: int | None,
    memory: int | None,
    sync: bool,
    cann: str | None,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """``environ`` for a program on ``device``, and the variables that are this place's own."""
    host = place.detect()
    chosen = place.choose(device, host)
    if chosen == "cpu":
        environ[autoload.VARIABLE] = "0"
        return environ, (autoload.VARIABLE,)
    if chosen == "npu":
        assert host.home is not None
        environ = place.ascend_environment(host.home, environ)
        always: tuple[str, ...] = (autoload.VARIABLE,)
    else:
        size = None if memory is None else memory << 20
        machine: dict[str, Any] = {"soc": soc, "devices": devices, "memory": size, "synchronous": sync, "cann": cann}
        variables.environment(Path(), **machine)  # refuses what there is not before minutes of building
        given = variables.environment(build_with_progress(Console(stderr=True))[0], **machine)
        variables.apply(environ, given)
        always = variables.always(given)
    # Machines without CANN often have autoloading switched off for all of torch; this program gets its npu.
    environ.pop(autoload.VARIABLE, None)
    return environ, always
