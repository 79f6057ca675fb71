#!/usr/bin/env bash
# Put back the torch_npu that source_install.sh replaced; without a network.
# usage: source_restore.sh PYTHON KEEP
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
python=$1 keep=$2
[ -e "$keep/previous" ] || die "nothing was replaced: $keep/previous is missing" "pip install torch_npu"
previous=$(cat "$keep/previous")
if [ -z "$previous" ]; then # there was none before
    run "$python" -m pip uninstall --yes torch_npu
else
    run "$python" -m pip install --no-deps --no-index --force-reinstall "$previous"
fi
[ "${DRY_RUN:-0}" = 1 ] || rm -f -- "$keep/previous"
