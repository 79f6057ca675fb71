#!/usr/bin/env bash
# The source route: patch op-plugin, build torch_npu with AddCustom in it, install it, test it. One script a step.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=lib.sh
source "$root/scripts/lib.sh"

usage() {
    cat <<'TEXT'
usage: source_route.sh [options]      also: run_op_plugin.sh --route source

Takes hours where nothing is built yet. Steps: clone, patch, codegen, build, install, test.

  --torch-npu-dir DIR   torch_npu's source. Where it is there it is taken as it is and no network is used; else it is
                        cloned there (default build/source/pytorch)
  --branch B            branch to clone (default: the one that fits the installed torch)
  --url URL             repository to clone (default https://gitcode.com/Ascend/pytorch.git; old branches: gitee.com)
  --python 3.11         Python to build for (default: that of the virtual environment)
  --jobs N              compilers at once (default: by cores and free memory, 1.2 GB each and 6 GB besides)
  --until STEP          stop after clone, patch, codegen, build, install or test (default test)
  --autograd            also write the derivative, for autograd in C++
  --fast                headers compiled once, no optimisation: to try an operator, not for production
  --allow-dirty         keep uncommitted changes of yours in op-plugin
  --device auto|sim|npu where to test (default auto)
  --venv DIR            the virtual environment (default .venv)
  --undo                put the replaced torch_npu back and take patch, generated files and build out of the tree
  --dry-run             show the change and every command, do nothing
  -h, --help            this text

Only a part of the undo: python -m ophook_npu patch revert --op-plugin DIR/third_party/op-plugin
                         scripts/source_restore.sh VENV/bin/python VENV/ophook-previous
exit status: 0 done; 1 a step failed (its name, log and next thing to try are printed); 2 wrong use
TEXT
}

tree="$root/build/source/pytorch" branch='' url='' version='' jobs=${MAX_JOBS:-} until=test device=auto
venv="$root/.venv" apply=() dry=0 fast=() undo=0
while [ $# -gt 0 ]; do
    case $1 in
        --torch-npu-dir | --branch | --url | --python | --jobs | --until | --device | --venv)
            [ $# -ge 2 ] && [ -n "$2" ] || usage_error "$1 needs a value"
            case $1 in
                --torch-npu-dir) tree=$2 ;;
                --branch) branch=$2 ;;
                --url) url=$2 ;;
                --python) version=$2 ;;
                --jobs) jobs=$2 ;;
                --until) until=$2 ;;
                --device) device=$2 ;;
                --venv) venv=$2 ;;
            esac
            shift 2
            ;;
        --autograd | --allow-dirty) apply+=("$1"); shift ;;
        --fast) fast=(--fast); shift ;;
        --undo) undo=1; shift ;;
        --dry-run) dry=1; shift ;;
        -h | --help) usage; exit 0 ;;
        *) usage_error "unknown option $1" ;;
    esac
done
order=(clone patch codegen build install test)
last=0
for i in "${!order[@]}"; do
    [ "${order[i]}" != "$until" ] || last=$((i + 1))
done
[ "$last" -gt 0 ] || usage_error "--until $until; allowed: ${order[*]}"
[[ ${jobs:-1} =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs $jobs; allowed: a positive number"
[[ ${version:-3.11} =~ ^3\.[0-9]+$ ]] || usage_error "--python $version; allowed: for example 3.11"
case $device in auto | sim | npu) ;; *) usage_error "--device $device; allowed: auto, sim, npu" ;; esac

tree=$(absolute "$tree") venv=$(absolute "$venv")
python="$venv/bin/python"
scripts="$root/scripts"
if [ -z "$jobs" ] && [ -x "$python" ]; then
    jobs=$("$python" -c 'import os; from ophook_npu.patch.preflight import jobs_for, memory_gb
print(jobs_for(memory_gb(), os.cpu_count() or 1))' 2>/dev/null) || jobs=1
fi
: "${jobs:=1}"

# One step: its name, what to try when it fails, its command.
take() {
    local name=$1 next=$2
    shift 2
    if [ "$dry" = 1 ]; then
        printf '\n# %s\n' "$name"
        DRY_RUN=1 "$@"
    else
        step "$name" "$next" "$@"
    fi
}

# One run at a time on one tree. The lock is on the folder itself: nothing is left behind by a run that was killed.
lock_tree() {
    [ "$dry" = 0 ] || return 0
    mkdir -p -- "$tree"
    exec 8<"$tree"
    flock --nonblock 8 || { echo "source_route.sh: another run is working on $tree; next: wait until it has ended" >&2; exit 1; }
}

if [ "$undo" = 1 ]; then
    [ -f "$tree/generate_code.sh" ] || { echo "source_route.sh: no torch_npu tree at $tree; next: --torch-npu-dir" >&2; exit 1; }
    lock_tree
    [ "$dry" = 1 ] || begin_steps "$venv" 1
    take "undo" "read the log" bash "$scripts/source_undo.sh" "$tree" "$python" "$venv/ophook-previous"
    [ "$dry" = 1 ] || cat "$logs/1.log"
    exit 0
fi
exec 3>&1 # the build's progress goes past its log
lock_tree
[ "$dry" = 1 ] || begin_steps "$venv" $((last + 1))
take "virtual environment" "read the log; pip needs the network the first time" \
    bash "$scripts/source_venv.sh" "$venv" ${version:+"$version"}
take "clone torch_npu" "check the network and --branch, or pass --torch-npu-dir" \
    bash "$scripts/source_clone.sh" "$tree" "$python" "$branch" ${url:+"$url"}
lock_tree # a clone replaced the folder
for name in "${order[@]:1:last-1}"; do
    case $name in
        patch)
            take "patch op-plugin" "ophook-npu patch status --op-plugin $tree/third_party/op-plugin" \
                bash "$scripts/source_patch.sh" "$tree" "$python" ${apply[@]+"${apply[@]}"}
            ;;
        codegen)
            take "check and generate code" "repair what the rows marked no name, then run again" \
                bash "$scripts/source_codegen.sh" "$tree" "$python" "$jobs" ${apply[@]+"${apply[@]}"}
            ;;
        build)
            take "build torch_npu ($jobs jobs)" "read the log; running again goes on where it stopped" \
                bash "$scripts/source_build.sh" "$tree" "$python" "$jobs" ${fast[@]+"${fast[@]}"}
            ;;
        install)
            take "install the wheel" "the previous torch_npu is still there" \
                bash "$scripts/source_install.sh" "$tree" "$python" "$venv/ophook-previous"
            ;;
        test)
            take "test eager and compiled" "bash scripts/source_restore.sh $python $venv/ophook-previous puts the old one back" \
                bash "$scripts/source_test.sh" "$python" "$device"
            ;;
    esac
done
[ "$dry" = 1 ] || printf '\ndone until %s: %s\n' "$until" "$tree"
