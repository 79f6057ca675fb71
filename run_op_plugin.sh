#!/usr/bin/env bash
# AddCustom, end to end: set up, build, run in eager mode and in compiled graphs, on an NPU or on the simulated Ascend.
# Every step is a script of its own in scripts/; this file only orders them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

usage() {
    cat <<'EOF'
usage: ./run_op_plugin.sh [options]

Builds the AddCustom operator for torch_npu and runs it in eager mode, in torchair graphs and in npugraph_ex graphs.

  --device auto|sim|npu   where to run (default auto: an NPU where CANN and device nodes are found, else the simulated
                          Ascend; a half-installed Ascend host is an error)
  --route extension|source
                          extension (default): the kernel is built as a C++ extension against the installed torch_npu
                          source: op-plugin is patched and torch_npu built from source; further options of that route
                          are explained by scripts/source_route.sh -h and follow `--`
  --soc NAME              the SoC to simulate (default Ascend910B4)
  --jobs N                compilers to run at once (default: by cores and memory)
  --venv DIR              the virtual environment to use or make (default .venv)
  --clean                 remove the virtual environment and everything built before, then start over
  -h, --help              this text

environment:
  ASCEND_HOME_DIR         CANN's folder (default /usr/local/Ascend/ascend-toolkit/latest)
  PYTHON                  the Python to make the virtual environment with (default python3.11, else python3)
  CXX                     the C++ compiler (default g++)
  OPHOOK_NPU_CACHE        where built libraries are kept (default ~/.cache/ophook_npu)

exit status: 0 all passed; 1 a step failed (its name, log and next thing to try are printed); 2 wrong use
EOF
}

device=auto route=extension soc='' venv="$root/.venv" clean=0
while [ $# -gt 0 ]; do
    case $1 in
        --device | --route | --soc | --jobs | --venv)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --device) device=$2 ;;
                --route) route=$2 ;;
                --soc) soc=$2 ;;
                --jobs) export MAX_JOBS=$2 ;;
                --venv) venv=$2 ;;
            esac
            shift 2
            ;;
        --clean) clean=1; shift ;;
        -h | --help) usage; exit 0 ;;
        --) shift; break ;;
        *) usage_error "unknown option $1" ;;
    esac
done
case $device in auto | sim | npu) ;; *) usage_error "--device $device; allowed: auto, sim, npu" ;; esac
case $route in extension | source) ;; *) usage_error "--route $route; allowed: extension, source" ;; esac
[[ ${MAX_JOBS:-1} =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs $MAX_JOBS; allowed: a positive number"

if [ "$route" = source ]; then
    if [ ! -f "$root/scripts/source_route.sh" ]; then
        echo "run_op_plugin.sh: the source route is not part of this version; use --route extension" >&2
        exit 2
    fi
    exec bash "$root/scripts/source_route.sh" --venv "$venv" "$@"
fi
[ $# -eq 0 ] || usage_error "unexpected argument $1"

venv=$(absolute "$venv")
begin_steps "$venv" $((7 + clean))
if [ "$clean" = 1 ]; then
    step "clean" "check that you may write to $venv" bash "$root/scripts/clean.sh" "$venv"
fi
step "virtual environment and packages" "read the log; pip needs the network the first time" \
    bash "$root/scripts/setup_venv.sh" "$venv"
step "check the host" "ophook-npu doctor" bash "$root/scripts/check_host.sh" "$venv" "$device" "$logs/place"
place=$(cat "$logs/place")
if [ "$place" = sim ]; then
    step "build the simulated Ascend" "ophook-npu doctor" "$venv/bin/ophook-npu" sim build
else
    step "find CANN and the NPU" "npu-smi info" "$venv/bin/ophook-npu" doctor
fi
run=("$venv/bin/ophook-npu" run --device "$place")
[ -z "$soc" ] || run+=(--soc "$soc")
step "build AddCustom for torch_npu" "ophook-npu doctor" \
    "${run[@]}" -- -c 'from ophook_npu.ops.extension import build; print(build())'
scripts="$root/tests/npu_scripts"
step "run it in eager mode" "${run[*]} -- $scripts/test_ops_custom.py" \
    "${run[@]}" -- "$scripts/test_ops_custom.py" --json "$logs/eager.json"
step "run it in compiled graphs" "${run[*]} -- $scripts/test_ops_custom_register_in_graph.py" \
    "${run[@]}" -- "$scripts/test_ops_custom_register_in_graph.py" --json "$logs/graph.json"
step "compare and report" "read the logs" "$venv/bin/python" "$root/scripts/report.py" --check "$route" "$place" "$logs"
"$venv/bin/python" "$root/scripts/report.py" "$route" "$place" "$logs"
