#!/usr/bin/env bash
# Install the wheel from TREE/dist in place of the installed torch_npu, which is kept in KEEP first. Undo: source_restore.sh
# usage: source_install.sh TREE PYTHON KEEP
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2 keep=$3
if [ "${DRY_RUN:-0}" = 1 ]; then
    run "$python" -m ophook_npu.patch.wheel keep "$keep"
    run "$python" -m pip install --no-deps --no-index --force-reinstall "$tree/dist/torch_npu-….whl"
    exit 0
fi
wheel=$("$python" -m ophook_npu.patch.wheel find "$tree/dist")
# Written once: a second installation must not take the first one's wheel for the original.
if [ ! -e "$keep/previous" ]; then
    mkdir -p -- "$keep"
    "$python" -m ophook_npu.patch.wheel keep "$keep" >"$keep/previous.part"
    mv -- "$keep/previous.part" "$keep/previous"
fi
# pip takes the old version out only after the new one is unpacked, and puts it back where that fails.
run "$python" -m pip install --no-deps --no-index --force-reinstall "$wheel"
printf 'to put the previous torch_npu back: bash %q %q %q\n' "$here/source_restore.sh" "$python" "$keep"
