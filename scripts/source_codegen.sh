#!/usr/bin/env bash
# Check that TREE can be built here, run upstream's code generation, and judge what it wrote (it exits 0 after errors).
# usage: source_codegen.sh TREE PYTHON JOBS [OPTION-OF-PATCH-CHECK…]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
tree=$1 python=$2 jobs=$3
shift 3
PATH="$(dirname "$python"):$PATH"
export PATH COLUMNS=160

check=("$python" -m ophook_npu patch check --op-plugin "$tree/third_party/op-plugin" --op "$here/../op_plugin_patch"
    --torch-npu-dir "$tree" --python "$python" "$@")
run "${check[@]}" --jobs "$jobs" || die "the tree cannot be built here" "see the rows marked no"

# The version without its local part (+cpu), and the interpreter's name without a path: upstream does not quote them.
torch=$(ask "$python" 'import importlib.metadata; print(importlib.metadata.version("torch").split("+")[0])' TORCH-VERSION)
name=$(ask "$python" 'import sys; print("python%d.%d" % sys.version_info[:2])' python3.X)
log="$tree/build/ophook-codegen.log"
if [ "${DRY_RUN:-0}" = 0 ]; then
    # What this leaves in the tree is recorded, so that --undo can take it out.
    "$python" -m ophook_npu.patch.traces begin "$tree"
    trap '"$python" -m ophook_npu.patch.traces end "$tree"' EXIT
fi
run mkdir -p -- "$tree/build"
plugin="$tree/third_party/op-plugin"
if grep -qs gen_op_plugin_functions "$plugin/gencode.sh"; then
    # Upstream writes these two over their old content without cutting it off: with an operator less, a tail stays, which
    # is an error of YAML's, or an entry. (Where gencode.sh has no such name, they are sources.)
    numbers=${torch%%[!0-9.]*}
    numbers=${numbers%.*}
    run rm -f -- "$plugin/op_plugin/config/v${numbers/./r}"/{op_plugin_functions,derivatives}.yaml
fi
if [ "${DRY_RUN:-0}" = 1 ]; then
    run bash "$tree/generate_code.sh" "$name" "$torch"
    run "${check[@]}" --generated --codegen-log "$log"
    exit 0
fi
status=0
# What an operator more does not concern is not compiled again.
run "$python" -m ophook_npu.patch.rebuild run "$tree" bash "$tree/generate_code.sh" "$name" "$torch" >"$log" 2>&1 ||
    status=$?
cat "$log"
[ "$status" -eq 0 ] || die "upstream's code generation failed (exit status $status)" "read $log"
run "${check[@]}" --generated --codegen-log "$log" ||
    die "upstream's code generation exited 0 but its output is wrong" "see the rows marked no, and $log"
