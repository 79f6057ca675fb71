#!/usr/bin/env bash
# Make the virtual environment DIR with torch, torch_npu and this package in it, or leave it as it is when it is complete.
# usage: setup_venv.sh DIR [EXTRA…]     extras of pyproject.toml beside npu: test, or dev, which has test too
# OPHOOK_TORCH_INDEX   where torch comes from if pip has it with CUDA only; default: PyTorch's index of CPU builds
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$1
shift
extras=(npu "$@")
case " $* " in *" dev "*) extras+=(test) ;; esac
made_for="$(cksum <"$root/pyproject.toml") $root"
complete="$venv/ophook-complete" busy="$venv/ophook-installing"

# Two runs at once: one installs, the other waits. The lock is the folder above, so that no lock file is left behind.
mkdir -p "$(dirname "$venv")"
exec 9<"$(dirname "$venv")"
flock 9

# What is there and goes with this version of pyproject.toml.
had=()
if [ -f "$complete" ] && [ "$(head -n 1 "$complete")" = "$made_for" ]; then mapfile -t had < <(tail -n +2 "$complete"); fi
missing=$(comm -23 <(printf '%s\n' "${extras[@]}" | sort) <(printf '%s\n' ${had[@]+"${had[@]}"} | sort))
if [ -z "$missing" ]; then
    echo "complete: $venv with ${extras[*]}"
    exit 0
fi

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3; do
        if command -v "$candidate" >/dev/null; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || { echo "no python3 on PATH; next: install Python 3.10 or later, or set PYTHON" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    { echo "$("$python" --version) is too old; allowed: 3.10 or later; next: set PYTHON" >&2; exit 1; }
"$python" -c 'import venv, ensurepip' ||
    { echo "$python has no venv module; next: install python3-venv" >&2; exit 1; }

# An installation that was cut off may be half-written in ways pip does not see: start over.
if [ -e "$busy" ] || [ ! -x "$venv/bin/python" ]; then
    bash "$root/scripts/clean_venv.sh" "$venv"
    "$python" -m venv "$venv"
    had=()
fi
touch "$busy"
rm -f "$complete"
# pip compiles Python on one core, which takes longer than the rest of the installation: here it is all cores, and torch's,
# of which there is most, while pip installs the others. It is not left to imports: one that runs where files may not
# grow, as in a test, leaves half a file behind, which no later import gets over.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_COMPILE=0
# torch first and pinned: anything that asks for plain torch would take a build with gigabytes of CUDA.
[ ${#had[@]} -gt 0 ] || bash "$root/scripts/install_torch.sh" "$venv/bin/python" torch==2.13.0
"$venv/bin/python" -m compileall -q "$venv"/lib/python*/site-packages/torch >/dev/null 2>&1 &
mapfile -t extras < <(printf '%s\n' "${extras[@]}" ${had[@]+"${had[@]}"} | sort -u)
"$venv/bin/python" -m pip install -e "${root}[$(IFS=,; echo "${extras[*]}")]"
# For the tests of Triton's kernels, in a folder of its own: what is importable changes what torch and others do.
case " ${extras[*]} " in
    *" dev "*) "$venv/bin/python" -m pip install --quiet --no-deps --no-compile --upgrade --target "$venv/triton" triton==3.6.0 ;;
esac
wait
# As a function: templates and what is for later Pythons do not compile, which is no failure; anything else is.
"$venv/bin/python" -c 'import compileall, sys; compileall.compile_dir(sys.argv[1], quiet=2, workers=0)' \
    "$venv"/lib/python*/site-packages
printf '%s\n' "$made_for" "${extras[@]}" >"$complete.part"
mv "$complete.part" "$complete"
rm -f "$busy"
