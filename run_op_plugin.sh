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
                          extension: the kernel is built as a C++ extension against the installed torch_npu; a minute
                          source: op-plugin is patched and torch_npu is built with it; hours
                          default: source on an Ascend host, extension elsewhere
  --soc NAME              the SoC to simulate (default Ascend910B4)
  --jobs N                compilers to run at once (default: by cores and memory)
  --venv DIR              the virtual environment to use or make (default .venv)
  --clean                 remove the virtual environment and everything built before, then start over
  -h, --help              this text

source route only: --torch-npu-dir DIR, --branch B, --url URL, --python 3.11, --until STEP, --dry-run, --autograd,
--fast, --undo, --allow-dirty; scripts/source_route.sh -h explains them

environment:
  ASCEND_HOME_DIR         CANN's folder (default /usr/local/Ascend/ascend-toolkit/latest)
  PYTHON                  the Python to make the virtual environment with (default python3.11, else python3)
  CXX                     the C++ compiler (default g++)
  OPHOOK_TORCH_INDEX      where torch comes from if pip has it with CUDA only (default PyTorch's index of CPU builds)
  OPHOOK_NPU_CACHE        where built libraries are kept (default ~/.cache/ophook_npu)

exit status: 0 all passed; 1 a step failed (its name, log and next thing to try are printed); 2 wrong use
EOF
}

device=auto route='' soc='' venv="$root/.venv" clean=0 source_only=()
while [ $# -gt 0 ]; do
    case $1 in
        --device | --route | --soc | --jobs | --venv | --torch-npu-dir | --branch | --url | --python | --until)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --device) device=$2 ;;
                --route) route=$2 ;;
                --soc) soc=$2 ;;
                --jobs) export MAX_JOBS=$2 ;;
                --venv) venv=$2 ;;
                *) source_only+=("$1" "$2") ;;
            esac
            shift 2
            ;;
        --dry-run | --autograd | --fast | --undo | --allow-dirty) source_only+=("$1"); shift ;;
        --clean) clean=1; shift ;;
        -h | --help) usage; exit 0 ;;
        *) usage_error "unknown option $1" ;;
    esac
done
case $device in auto | sim | npu) ;; *) usage_error "--device $device; allowed: auto, sim, npu" ;; esac
case $route in '' | extension | source) ;; *) usage_error "--route $route; allowed: extension, source" ;; esac
[[ ${MAX_JOBS:-1} =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs $MAX_JOBS; allowed: a positive number"

venv=$(absolute "$venv")
begin_steps "$venv" $((6 + clean))
step "check the host" "ophook-npu doctor, or --device sim" \
    bash "$root/scripts/check_host.sh" "$device" "$logs/place"
place=$(cat "$logs/place")
if [ -z "$route" ]; then
    route=extension
    if [ "$place" = npu ] || [ ${#source_only[@]} -gt 0 ]; then route=source; fi
fi
if [ "$route" = source ]; then
    [ -z "$soc" ] || export OPHOOK_SIM_SOC=$soc
    exec bash "$root/scripts/source_route.sh" --venv "$venv" --device "$place" \
        ${MAX_JOBS:+--jobs "$MAX_JOBS"} ${source_only[@]+"${source_only[@]}"}
fi
[ ${#source_only[@]} -eq 0 ] || usage_error "${source_only[0]} belongs to --route source"

if [ "$clean" = 1 ]; then
    step "clean" "check that you may write to $venv" bash "$root/scripts/clean.sh" "$venv"
fi
step "virtual environment and packages" "read the log; pip needs the network the first time" \
    bash "$root/scripts/setup_venv.sh" "$venv"
extension=(env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$venv/bin/python" -c 'from ophook_npu.ops.extension import build; print(build())')
beside=''
if [ "${MAX_JOBS:-2}" != 1 ]; then # it waits for nothing of the next step
    "${extension[@]}" >"$logs/beside.log" 2>&1 &
    beside=$!
    trap '[ -z "$beside" ] || kill "$beside"' EXIT # a step failed
fi
if [ "$place" = sim ]; then
    step "build the simulated Ascend" "ophook-npu doctor" "$venv/bin/ophook-npu" sim build
else
    step "find CANN and the NPU" "npu-smi info" "$venv/bin/ophook-npu" doctor
fi
run=("$venv/bin/ophook-npu" run --device "$place")
[ -z "$soc" ] || run+=(--soc "$soc")
# AddCustom's own kernel is in the simulator's vendor package; on an Ascend host in what
# op_plugin_patch/ascendc/build.sh installed.
built() {
    local status=0
    [ -n "$beside" ] || { "${extension[@]}"; return; }
    wait "$beside" || status=$?
    beside=''
    cat "$logs/beside.log"
    return "$status"
}
step "build AddCustom for torch_npu" "ophook-npu doctor" built
keep_freed_memory
step "run it in eager mode and in graphs" "run alone what the log ends with" \
    "${run[@]}" -- -m ophook_npu.demo.modes "$place" "$logs"
report=("$venv/bin/python" -m ophook_npu.demo.report)
step "compare and report" "read the logs" "${report[@]}" --check "$route" "$place" "$logs"
"${report[@]}" "$route" "$place" "$logs"
printf '\nnext, in your shell, after which python, pytest, torchrun … have an npu:\n'
"$venv/bin/python" -c 'from ophook_npu.npu import autoload; print(*autoload.next_lines(), sep="\n")' | sed 's/^/    /'
