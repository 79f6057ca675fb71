#!/usr/bin/env bash
# Runs tests against several versions of torch, each in a virtual environment of its own.
#
#   scripts/test_versions.sh [--keep DIR] [--npu] 2.8 2.10 2.13 [-- TESTS...]
#
# --keep DIR   makes the environments there and uses those that are there already; else they are made and thrown away
# --npu        with the torch_npu of the same version, over the simulated Ascend
# TESTS        default: tests/unit/hooks, with --npu tests/sim
#
# torch is a build for the CPU, as scripts/install_torch.sh finds it, or with CUDA where there is no other.
set -euo pipefail

usage() {
    sed -n '2,10p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
}

work=
npu=
versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
        --keep)
            work=${2:-}
            [ -n "$work" ] || usage
            shift 2
            ;;
        --npu)
            npu=1
            shift
            ;;
        [0-9]*)
            versions+=("$1")
            shift
            ;;
        *) usage ;;
    esac
done
[ "${1:-}" = -- ] && shift
tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
    tests=(tests/unit/hooks)
    [ -z "$npu" ] || tests=(tests/sim)
fi
[ ${#versions[@]} -gt 0 ] || usage

root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
export PYTHONPATH="$root" # the tests also start programs elsewhere; all are to run this work tree
outcome=()
status=0
for version in "${versions[@]}"; do
    environment="$work/$version"
    python="$environment/bin/python"
    packages=("torch==$version.*" "${root}[test]")
    run=("$python")
    present="import pytest, torch; assert torch.__version__.startswith('$version.')"
    if [ -n "$npu" ]; then
        packages=("torch==$version.*" "${root}[test,npu-needs]")
        run+=(-m ophook_npu run --device sim --)
        present+="; import importlib.metadata; importlib.metadata.version('torch-npu')"
    fi
    if ! "$python" -c "$present" 2>/dev/null; then
        "${PYTHON:-python3}" -m venv "$environment"
        bash "$root/scripts/install_torch.sh" "$python" "${packages[0]}" || echo "torch $version: with CUDA, if at all" >&2
        # A wheel of torch_npu can ask for another patch release of torch than pip finds: what it needs is npu-needs.
        if ! { "$python" -m pip install -q "${packages[@]}" &&
            { [ -z "$npu" ] || "$python" -m pip install -q --no-deps "torch-npu==$version.*"; }; }; then
            outcome+=("torch $version: cannot be installed here")
            status=1
            continue
        fi
    fi
    log="$environment/tests.log"
    if (cd "$root" && "${run[@]}" -m pytest -q -p no:cacheprovider "${tests[@]}" 2>&1 | tee "$log"); then
        outcome+=("torch $version: $(tail -n 1 "$log")")
    else
        outcome+=("torch $version: failed, $(tail -n 1 "$log")")
        status=1
    fi
done
printf '%s\n' "${outcome[@]}"
exit "$status"
