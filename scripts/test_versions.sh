#!/usr/bin/env bash
# Runs the hooks' tests against several versions of torch, each in a virtual environment of its own.
#
#   scripts/test_versions.sh 2.8 2.10 2.13
#
# PIP_INDEX_URL or PIP_EXTRA_INDEX_URL choose where torch comes from (a CPU-only index saves gigabytes).
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: $0 VERSION..." >&2
    exit 2
fi

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
for version in "$@"; do
    environment="$work/$version"
    "${PYTHON:-python3}" -m venv "$environment"
    if ! "$environment/bin/pip" install -q "torch==$version.*" "${root}[test]"; then
        echo "torch $version: cannot be installed here" >&2
        status=1
        continue
    fi
    if (cd "$root" && TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$environment/bin/python" -m pytest -q tests/unit/hooks); then
        echo "torch $version: passed"
    else
        echo "torch $version: failed" >&2
        status=1
    fi
done
exit "$status"
