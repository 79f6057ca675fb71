#!/usr/bin/env bash
# Runs the hooks' tests against several versions of torch, each in a virtual environment of its own.
#
#   scripts/test_versions.sh [--keep DIR] 2.8 2.10 2.13 [-- TESTS...]
#
# --keep DIR   makes the environments there and uses those that are there already; else they are made and thrown away
# TESTS        default: tests/unit/hooks
#
# PIP_INDEX_URL, PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS choose where torch comes from (a CPU-only index saves gigabytes).
set -euo pipefail

usage() {
    sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
}

work=
versions=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
        --keep)
            work=${2:-}
            [ -n "$work" ] || usage
            shift 2
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
[ ${#tests[@]} -gt 0 ] || tests=(tests/unit/hooks)
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
    if ! "$python" -c "import pytest, torch; assert torch.__version__.startswith('$version.')" 2>/dev/null; then
        "${PYTHON:-python3}" -m venv "$environment"
        if ! "$python" -m pip install -q "torch==$version.*" "${root}[test]"; then
            outcome+=("torch $version: cannot be installed here")
            status=1
            continue
        fi
    fi
    log="$environment/tests.log"
    if (cd "$root" && "$python" -m pytest -q -p no:cacheprovider "${tests[@]}" 2>&1 | tee "$log"); then
        outcome+=("torch $version: $(tail -n 1 "$log")")
    else
        outcome+=("torch $version: failed, $(tail -n 1 "$log")")
        status=1
    fi
done
printf '%s\n' "${outcome[@]}"
exit "$status"
