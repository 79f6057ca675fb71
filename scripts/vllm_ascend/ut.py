"""Run vllm-ascend's own tests/ut over the simulated Ascend, and count: scripts/vllm_ascend.sh --ut CHECKOUT calls it.

usage: ophook-npu run -- ut.py CHECKOUT OUT [--into PAGE] [TEXT…]

CHECKOUT is a checkout of vllm-ascend at the tag that is installed; nothing of it is changed or copied. Its conftest.py
puts mocks in torch_npu's and pyACL's place unless `npu-smi info` works, and it does here: torch_npu is the real one.
TEXT chooses files whose path has it. Files for other products than the simulated one, or for more devices than there
are, are left out: their folders are named a2_2, a3_2, a3_4 and 310p.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import upstream_files
import upstream_report

START, END = "<!-- tests/ut -->", "<!-- end of tests/ut -->"
ELSEWHERE = ("a2_2", "a3_2", "a3_4", "310p", "_310p", "a5")


def files(tests: Path, chosen: list[str]) -> list[Path]:
    found = sorted(tests.rglob("test_*.py"))
    return [
        file
        for file in found
        if not set(ELSEWHERE) & set(file.relative_to(tests).parts)
        and (not chosen or any(text in str(file.relative_to(tests)) for text in chosen))
    ]


def put_into(page: Path, text: str) -> None:
    whole = page.read_text()
    if whole.count(START) != 1 or whole.count(END) != 1:
        raise SystemExit(f"{page}: the markers {START} and {END} have to be there once")
    page.write_text(f"{whole.split(START)[0]}{START}\n{text}\n{END}{whole.split(END)[1]}")


def main(checkout: Path, out: Path, *rest: str) -> None:
    page = Path(rest[1]).absolute() if rest[:1] == ("--into",) else None
    chosen = list(rest[2:] if page else rest)
    checkout, out = checkout.absolute(), out.absolute()
    sys.path.insert(0, str(checkout))
    import vllm_ascend.utils  # noqa: F401

    tests = checkout / "tests" / "ut"
    upstream_files.main(out, tests, files(tests, chosen))
    (out / "about").write_text("Files for one device of this product, and those that vllm-ascend runs without any.\n")
    text = upstream_report.table(out)
    print(text)
    if page:
        put_into(page, text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
