"""Build and run the examples of CATLASS for Atlas A2, unmodified, as their READMEs say, and see what they say.

    python scripts/catlass_examples.py CHECKOUT                        # a checkout of CATLASS
    python scripts/catlass_examples.py CHECKOUT --only 00_basic        # some
    python scripts/catlass_examples.py CHECKOUT --log LOG --table docs/published-examples.md

CATLASS is Huawei's library of templates for products of matrices. Its examples are programs: they make their own input
and compare the result with one of the CPU. The checkout is copied; of an example's README those blocks of code run that
build it (scripts/build.sh), make its data and start it, in a shell on the simulated Ascend. It needs cmake, clang++ of
16 or later, and for some data ml_dtypes. Nothing of the checkout is in our repository. Its licence is for systems with
Huawei's processors: whether it lets you run this where you are is for you to see.
With --log, what has a result there is not run again. Exit status: 0 all equal, 1 some are not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import published_examples as published

from ophook_npu import sim
from ophook_npu.npu import autoload
from ophook_npu.sim.variables import apply, environment

_LIST = re.compile(r"set\(EXAMPLE_ATLASA2\s+([^)]*)\)")


def script(readme: str, name: str) -> list[str]:
    """The blocks that build the example, make its data and run it, each with the folder that it runs in."""
    found = []
    for text in published.blocks(readme):
        if "├──" in text:  # a drawing of folders
            continue
        if re.search(rf"scripts/build\.sh {name}\b|gen_data\.py |bin/{name} |\./{name} ", text):
            text = text.replace("cd /output/bin", "cd output/bin")  # as in the READMEs of all the others
            there = "../../scripts/build.sh" in text or re.search(r"#.*examples/\S+目录下", text)
            found.append(f"(cd {f'examples/{name}' if there else '.'}\n{text}\n)")
        if re.search(rf"(?:\./|bin/){name} ", text):
            break
    return found


def run(copy: Path, name: str, environ: dict[str, str], timeout: float) -> published.Result:
    readme = (copy / "examples" / name / "README.md").read_text(errors="replace")
    commands = script(readme, name)
    if not commands:
        return published.Result(name, "no block", "its README has no block that runs it")
    told = copy / "reports"
    told.unlink(missing_ok=True)
    environ = environ | {"OPHOOK_KERNEL_REPORT": str(told)}
    # One compiler at a time: it takes 2 GB.
    text = "\n".join(['cmake() { command cmake "${@/-j/-j1}"; }', "export -f cmake", *commands])
    text = text.replace("/path/to/catlass", str(copy))
    status, said = published.shell(text, copy, environ, timeout)
    if status is None:
        return published.Result(name, "stopped", f"not over in {timeout:.0f} s", log=said)
    findings, more = published.findings_in(told)
    said += more
    if f"Target '{name}' built successfully" not in said:
        return published.Result(name, "build", published.reason(said), dict(findings), said)
    why = ""
    if any(one.startswith("error") for one in findings) or "Compare success" not in said:
        why = "its own comparison passed" if "Compare success" in said else published.reason(said)
    return published.Result(name, "differs" if why else "equal", why, dict(findings), said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a git checkout of CATLASS")
    parser.add_argument("--only", default="", help="examples whose name matches this expression")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one example, its build included")
    parser.add_argument("--log", type=Path, help="a folder that keeps results")
    parser.add_argument("--table", type=Path, help="a page with a table for CATLASS")
    options = parser.parse_args()
    names = _LIST.search((options.checkout / "examples" / "CMakeLists.txt").read_text())
    every = [name for name in (names[1].split() if names else []) if re.search(options.only, name)]
    if not every:
        sys.exit(f"no example for Atlas A2 in {options.checkout} matches {options.only!r}")
    environ = dict(os.environ)
    autoload.unsettle(environ)
    apply(environ, environment(sim.active() or sim.build()))
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    environ.setdefault("OPHOOK_KERNEL_CXX", "clang++")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "catlass"
        shutil.copytree(options.checkout, copy, ignore=shutil.ignore_patterns("build", "output"))
        for name in every:
            kept = options.log / f"{name}.json" if options.log else None
            if kept and kept.is_file():
                results.append(published.Result(**json.loads(kept.read_text())))
                continue
            results.append(run(copy, name, environ, options.timeout))
            print(f"{results[-1].state:9}{name}  {results[-1].why}", flush=True)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(asdict(results[-1])))
    if options.table:
        published.write(options.table, results, f"CATLASS at `{published.commit(options.checkout)}`", "CATLASS")
    return 0 if all(result.state == "equal" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
