#!/usr/bin/env bash
# Run op-plugin's own operator tests, from outside this tree, over the simulated Ascend (or the NPU), and count.
# usage: scripts/upstream_tests.sh [--venv DIR] [--out DIR] [--device auto|sim|npu] [--soc SOC] [--cann RELEASE]
#                                  [--devices N] OP_PLUGIN_DIR [FOLDER_OR_FILE…]
#   --soc, --cann, --devices   what is simulated, as in `ophook-npu run`: tests for another SoC or a newer CANN skip themselves
#   OP_PLUGIN_DIR   a checkout of Ascend/op-plugin; nothing in it is changed and nothing of it is copied
#   FOLDER_OR_FILE  below OP_PLUGIN_DIR/test, default test_base_ops
# The tests need `expecttest`, `einops` and `ml_dtypes` in the virtual environment. Ends with a table in Markdown; exit
# status 0 if it could be made.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

venv="$root/.venv" out="" device=auto simulated=()
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '2,9s/^# //p' "$0"; exit 0 ;;
        --venv | --out | --device | --soc | --cann | --devices)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --venv) venv=$(absolute "$2") ;;
                --out) out=$(absolute "$2") ;;
                --device) device=$2 ;;
                *) simulated+=("$1" "$2") ;;
            esac
            shift 2 ;;
        -*) usage_error "unknown option $1" ;;
        *) break ;;
    esac
done
[ $# -ge 1 ] || usage_error "the path of an op-plugin checkout is missing"
tests="$(absolute "$1")/test"
shift
[ -d "$tests" ] || usage_error "$tests is no folder: give the path of an op-plugin checkout"
[ $# -ge 1 ] || set -- test_base_ops
[ -x "$venv/bin/ophook-npu" ] || usage_error "$venv has no ophook-npu: run scripts/setup_venv.sh first, or give --venv"
out=${out:-$(mktemp -d)}
mkdir -p "$out"

files=()
for name in "$@"; do
    while IFS= read -r -d '' file; do files+=("$file"); done < <(find "$tests/$name" -name 'test_*.py' -print0 | sort -z)
done
[ ${#files[@]} -gt 0 ] || usage_error "no test files below $tests for: $*"

# A test that makes a task fail must not fail those after it. TASK_QUEUE_ENABLE=0: with torch_npu's task queue one failing kernel ends the process, and a file's other tests with it.
echo "${#files[@]} files, reports in $out"
export OPHOOK_SIM_AFTER_FAILURE=continue
TASK_QUEUE_ENABLE=0 "$venv/bin/ophook-npu" run --device "$device" "${simulated[@]}" -- "$root/scripts/upstream_files.py" "$out" "$tests" "${files[@]}"
"$venv/bin/python" "$root/scripts/upstream_report.py" "$out"
