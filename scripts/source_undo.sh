#!/usr/bin/env bash
# Take everything of the source route back: the torch_npu that was replaced, what was generated and built, the patch.
# usage: source_undo.sh TREE PYTHON KEEP
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2 keep=$3
[ -x "$python" ] || die "$python is missing" "name the virtual environment with --venv"
if [ -e "$keep/previous" ]; then
    run bash "$here/source_restore.sh" "$python" "$keep"
else
    echo "torch_npu was not replaced"
fi
status=0
run "$python" -m ophook_npu.patch.traces restore "$tree" || status=$?
if [ -e "$tree/third_party/op-plugin.ophook-patch.json" ]; then
    run "$python" -m ophook_npu patch revert --op-plugin "$tree/third_party/op-plugin"
fi
run "$python" -m ophook_npu.patch.traces others "$tree"
[ "$status" -eq 0 ] || die "not all could be taken out" "see the lines 'left in place'; git -C $(printf %q "$tree") status"
