"""``ophook-npu capture|replay|digest|align|bisect``: keep calls and runs, run them again, put two side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ophook_npu.cli._command import ProgramCommand
from ophook_npu.cli._program import (
    DeviceOption,
    OutOption,
    ProgramArgument,
    ViaOption,
    observe,
    start_over,
    watching,
    writable,
)
from ophook_npu.errors import OphookError
from ophook_npu.plural import counted
from ophook_npu.untrusted import shown

if TYPE_CHECKING:
    from ophook_npu.observe.bisect import Bisection
    from ophook_npu.observe.trial import Trials


def register(app: typer.Typer) -> None:
    @watching(app, "capture")
    def capture_command(
        program: list[str],
        filters: dict[str, Any],
        to: Annotated[Path, typer.Option(help="Folder to save the calls in.")] = Path("captured"),
        limit: Annotated[int, typer.Option(help="How many calls at most.")] = 100,
        per_operator: Annotated[int | None, typer.Option(help="How many of each operator at most.")] = None,
        max_mb: Annotated[float, typer.Option(help="Leave out calls with more than this in tensors, in MiB.")] = 64,
        tests: Annotated[bool, typer.Option("--tests", help="Also write a pytest file for each saved call.")] = False,
        out: OutOption = None,
    ) -> None:
        """Save operator calls with their tensors, to run them elsewhere."""
        writable(out)
        from ophook_npu.observe import Capture
        from ophook_npu.observe.capture import write_test

        capture = Capture(to, limit=limit, per_operator=per_operator, max_bytes=int(max_mb * (1 << 20)), **filters)

        def finish() -> str:
            written = [write_test(path, to / f"test_{_identifier(path.stem)}.py") for path in capture.saved if tests]
            more = f"\n{counted(len(written), 'test')} written; run with: pytest {to}" if written else ""
            first = f"\nnext: ophook-npu replay {capture.saved[0]}" if capture.saved else ""
            return capture.report() + more + first

        observe(program, capture, out, finish)

    @app.command("replay")
    def replay_command(
        captures: Annotated[list[Path], typer.Argument(help="Captured calls: .json files, or folders of them.")],
        device: DeviceOption = None,
        on: Annotated[
            str | None, typer.Option(help="Device for the tensors, such as cpu or npu:0; default: what is here.")
        ] = None,
        repeat: Annotated[int, typer.Option(help="How often to run each for its time.")] = 20,
        test: Annotated[Path | None, typer.Option(help="Write a pytest file of the one capture here.")] = None,
        out: OutOption = None,
    ) -> None:
        """Run captured calls again and compare the results.

        Exit status: 0 all are as captured, 1 one differs.
        """
        start_over(device, cases=True)
        writable(out, test)
        paths = _captures(captures)
        if test is not None and len(paths) != 1:
            raise OphookError("replay", f"--test makes a test of one capture, and there are {len(paths)}")
        rows = [_replayed(path, on, repeat) for path in paths]
        table = Table("capture", "operator", "device", "result", "median µs", box=None, pad_edge=False)
        for row in rows:
            result = "; ".join(row["differences"]) or row["note"] or "as captured"
            style = "red" if row["differences"] else None
            time = "" if row["us"] is None else f"{row['us']:.1f}"
            cells = (Path(row["capture"]).stem, row["op"], row["device"], result, time)
            # Not as rich's markup: a file's name may be any text.
            table.add_row(*(Text(shown(cell)) for cell in cells), style=style)
        console = Console()
        (console if console.is_terminal else Console(width=200)).print(table)
        if out is not None:
            out.write_text(json.dumps(rows, indent=1) + "\n")
        if test is not None:
            from ophook_npu.observe.capture import write_test

            print(shown(f"written: {write_test(paths[0], test, on)}"))
        raise typer.Exit(int(any(row["differences"] for row in rows)))

    @watching(app, "digest")
    def digest_command(
        program: list[str],
        filters: dict[str, Any],
        to: Annotated[Path, typer.Option(help="File to write: a JSON line for each call.")] = Path("digest.jsonl"),
        inputs: Annotated[
            bool,
            typer.Option(
                "--inputs",
                help="Also write figures of the arguments, to tell an error that a call makes from one that it gets.",
            ),
        ] = False,
        exact: Annotated[bool, typer.Option("--exact", help="Checksums too: runs are compared bit for bit.")] = False,
    ) -> None:
        """Write a few figures of each operator call, for `align`."""
        from ophook_npu.observe import Digest

        observe(program, Digest(to=to, inputs=inputs, exact=exact, **filters), None)

    @app.command("align")
    def align_command(
        a: Annotated[Path, typer.Argument(help="The file that `ophook-npu digest` wrote for one run.")],
        b: Annotated[Path, typer.Argument(help="The file for the other run.")],
        tolerance: Annotated[float | None, typer.Option(help="Relative; default: by dtype.")] = None,
        html: Annotated[Path | None, typer.Option(help="Write a report here.")] = None,
        out: OutOption = None,
    ) -> None:
        """Say where two digests first differ, even if their operators do.

        Exit status: 0 they agree, 1 they differ.
        """
        writable(html, out)
        from ophook_npu.observe import align

        found = align(a, b, tolerance)
        if html is not None:
            found.html(html, title=f"{a.name} and {b.name}")
        if out is not None:
            out.write_text(json.dumps(found.to_json(), indent=1) + "\n")
        print(shown(found.report()))
        raise typer.Exit(int(found.differing > 0 or found.pairs == 0))

    @app.command("bisect", cls=ProgramCommand)
    def bisect_command(
        program: ProgramArgument,
        replace: Annotated[
            Path | None, typer.Option(help="A Python file with REPLACEMENTS = {operator: function, …}: the suspects.")
        ] = None,
        move_to: Annotated[
            str | None, typer.Option(help="Instead: suspect all operators where they run, and trust this device.")
        ] = None,
        output: Annotated[
            bool, typer.Option("--output", help="A run is right if it prints what the trusted run prints.")
        ] = False,
        tolerance: Annotated[float, typer.Option(help="For the numbers in the output, relative.")] = 1e-3,
        one: Annotated[bool, typer.Option("--one", help="Stop at the first guilty set.")] = False,
        via: ViaOption = "auto",
        device: DeviceOption = None,
        out: OutOption = None,
    ) -> None:
        """Find the operators that make a program go wrong.

        The program runs many times. A run is right if its exit status is 0; with --output it must also print the
        same, apart from small differences of numbers.
        """
        start_over(device)
        writable(out)
        if (replace is None) == (move_to is None):
            raise OphookError("bisect", "say who is suspected", allowed="either --replace FILE or --move-to DEVICE")
        from ophook_npu.observe.trial import Trials

        found = _bisect(Trials(program, replace, move_to or "cpu", via), output, tolerance, not one)
        if out is not None:
            out.write_text(json.dumps({"guilty": found.guilty, "runs": found.runs}, indent=1) + "\n")
        print(shown(found))


def _bisect(trials: Trials, output: bool, tolerance: float, all_guilty: bool) -> Bisection:
    from ophook_npu.observe.bisect import MOVED, REPLACED, search
    from ophook_npu.observe.trial import difference, same_output

    console = Console(stderr=True)
    names = trials.names()

    def say(text: str) -> None:
        console.print(shown(text), highlight=False, markup=False)

    say(f"suspected: {counted(len(names), 'operator')}")
    # The run without any suspect: the first one of the search.
    trusted: list[str] = []
    smallest = names
    under = 0.0  # the largest difference that was taken for none

    def wrong(chosen: list[str]) -> bool:
        nonlocal smallest, under
        if trials.replacements is None:
            outcome = trials.moving([name for name in names if name not in chosen])
        else:
            outcome = trials.replacing(chosen)
        if not trusted:
            trusted.append(outcome.output)
        bad = outcome.status != 0 or (output and not same_output(outcome.output, trusted[0], tolerance))
        if not bad and output:
            under = max(under, difference(outcome.output, trusted[0]))
        if bad and len(chosen) < len(smallest):
            smallest = chosen
        return bad

    words = MOVED if trials.replacements is None else REPLACED
    try:
        return search(names, wrong, words, all_guilty=all_guilty, progress=say)
    except OphookError as error:
        if under:
            todo = f"give a smaller --tolerance than {under:.2g} to find what makes the difference"
            what = f"the output differs by {under:.2g}, relative, which is under --tolerance {tolerance:g}"
            raise OphookError("bisect", what, todo=todo) from error
        if not output:
            say("without --output a run is right if its exit status is 0")
        raise
    except KeyboardInterrupt:
        say(f"interrupted; narrowed down to {len(smallest)} so far: {', '.join(smallest)}")
        raise typer.Exit(130) from None


def _captures(given: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in given:
        inside = sorted(path.glob("[0-9][0-9][0-9][0-9]_*.json")) if path.is_dir() else [path]
        if not inside:
            raise OphookError("replay", f"no captured call in {path}", todo="make some with ophook-npu capture")
        found += inside
    return found


def _replayed(path: Path, on: str | None, repeat: int) -> dict[str, Any]:
    from ophook_npu.observe.capture import best_device, load

    device = on or best_device()
    replay = load(path, device)
    unlike = replay.differs_by_nature
    differences = [] if unlike else replay.errors()
    return {
        "capture": str(path),
        "op": replay.op,
        "device": device,
        "differences": differences,
        "note": f"{unlike}: not compared" if unlike else "",
        "us": replay.time(repeat) if repeat > 0 else None,
    }


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)
