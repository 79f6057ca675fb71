"""``ophook-npu diagnose FOLDER``: which rank of a run failed first, where and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ophook_npu.untrusted import shown


def register(app: typer.Typer) -> None:
    @app.command("diagnose")
    def diagnose(
        folder: Annotated[
            Path, typer.Argument(help="Logs of the ranks (rank0.log …, or torchrun's --log-dir), dumps.")
        ],
        as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    ) -> None:
        """Name what failed first in a run of several ranks.

        Reads logs of ranks, HCCL's and torch_npu's messages in them, and flight recorder dumps.
        """
        from ophook_npu.observe.diagnose import diagnose as judged

        found = judged(folder)
        print(shown(json.dumps(found.to_json()) if as_json else found.text()))
        raise typer.Exit(int(bool(found.kind)))
