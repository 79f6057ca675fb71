#!/usr/bin/env bash
# Put the operator into op-plugin's source: entry and kernel. Undo: python -m ophook_npu patch revert --op-plugin DIR
# usage: source_patch.sh TREE PYTHON [OPTION-OF-PATCH-APPLY…]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2
shift 2
command=("$python" -m ophook_npu patch apply --op-plugin "$tree/third_party/op-plugin" --op "$here/../op_plugin_patch" "$@")
if [ "${DRY_RUN:-0}" = 1 ]; then
    run "${command[@]}"
    if [ -d "$tree/third_party/op-plugin" ] && [ -x "$python" ]; then
        "${command[@]}" --dry-run
    else
        echo "  (the change itself can be shown once $tree and $python are there)"
    fi
    exit 0
fi
run "${command[@]}"
