#!/usr/bin/env bash
# Install a torch without CUDA, next to which torch_npu can be imported. What pip would take is asked before it is downloaded:
# where it is a build with CUDA, as on PyPI, or nothing fits, torch comes from PyTorch's own index of CPU builds.
# usage: install_torch.sh PYTHON REQUIREMENT     such as torch==2.13.0
# OPHOOK_TORCH_INDEX   another index to take it from then
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$1 torch=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

# found PIP-OPTION…: whether pip finds a build for the CPU; `came` says what it found else.
found() {
    if ! "$python" -m pip install --quiet --dry-run --no-deps --ignore-installed --report "$work/report" "$@" "$torch" 2>"$work/said"; then
        came="nothing that fits ($(grep -m 1 '^ERROR' "$work/said" || tail -n 1 "$work/said"))"
        return 1
    fi
    came="a build with CUDA"
    ! grep -Eq '"(nvidia|cuda)-|\+cu[0-9]' "$work/report"
}

if found; then
    "$python" -m pip install "$torch"
    exit
fi
# The one place that knows the default; it needs the standard library only.
index=$(PYTHONPATH="$root" "$python" -c 'from ophook_npu.npu.installed import torch_index; print(torch_index())')
shown=$index
if [[ $index =~ ^([a-z]+://)[^/@]*@(.*)$ ]]; then shown="${BASH_REMATCH[1]}***@${BASH_REMATCH[2]}"; fi # it may hold a password
echo "note: for $torch pip finds $came; it comes from $shown (OPHOOK_TORCH_INDEX names another index)"
# Without its dependencies, which come from where all other packages do.
from=(--no-deps --index-url "$index")
if ! found "${from[@]}"; then
    echo "$shown: for $torch pip finds $came" >&2
    echo "allowed: an index with a build of it for the CPU and for $("$python" --version)" >&2
    echo "next: see whether this machine reaches it, or set OPHOOK_TORCH_INDEX to another one; run again" >&2
    exit 1
fi
"$python" -m pip install "${from[@]}" "$torch"
