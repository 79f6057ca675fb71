#!/usr/bin/env bash
# Run the eager and the compiled test over the installed torch_npu, outside its source tree.
# usage: source_test.sh PYTHON [DEVICE [FOLDER-WITH-THE-TESTS]]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
python=$1 device=${2:-auto} scripts=${3:-$here/../ophook_npu/demo/scripts}
scripts=$(cd "$scripts" && pwd)
case $python in /*) ;; *) python=$PWD/$python ;; esac
command=("$python" -m ophook_npu run --device "$device" --)
# In the source tree, Python would import the folder torch_npu that lies there.
outside=$(mktemp -d)
trap 'rm -rf -- "$outside"' EXIT
cd "$outside"
# The operator must come with torch_npu itself; the scripts would also accept it from the extension.
run "${command[@]}" -c 'import torch, torch_npu; print(torch_npu.__version__, torch.ops.npu.npu_add_custom.default._schema)'
run "${command[@]}" "$scripts/test_ops_custom.py"
run "${command[@]}" "$scripts/test_ops_custom_register_in_graph.py"
