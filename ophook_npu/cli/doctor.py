"""``ophook-npu doctor``."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table

from ophook_npu import doctor

_COLOURS = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "bold red"}


def register(app: typer.Typer) -> None:
    @app.command("doctor")
    def command(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
        """Say what is installed, what is missing and how to get it.

        Exit status: 0 all is well, 1 something is missing or broken.
        """
        findings = doctor.examine()
        report = doctor.as_json(findings)
        if as_json:
            print(json.dumps(report, indent=2))
        else:
            table = Table("what", "", "found", "next", show_lines=False)
            for finding in findings:
                colour = _COLOURS[finding.status]
                several = "\n" in finding.todo  # lines to paste, which a cell would break
                todo = "below" if several else finding.todo
                table.add_row(finding.topic, f"[{colour}]{finding.status}[/]", finding.text, todo)
            Console().print(table)
            for finding in findings:
                if "\n" in finding.todo:
                    print(f"\n{finding.topic}: {finding.todo}")
        raise typer.Exit(0 if report["healthy"] else 1)
