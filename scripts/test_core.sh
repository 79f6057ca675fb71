#!/usr/bin/env bash
# The C++ tests of the simulator's core (streams, events, memory, capture) and of collectives, compiled with these two
# alone, under a sanitizer. Collectives are left out where $PYTHON (.venv/bin/python) has no torch and torch_npu.
# usage: scripts/test_core.sh [--sanitizer thread|address|none]… [--short] [--out DIR] [NAME…]
#   --sanitizer   ThreadSanitizer, AddressSanitizer with UndefinedBehaviorSanitizer, or none; default: thread and address
#   --short       a tenth of the repetitions, and without UndefinedBehaviorSanitizer, which takes most of the compilation
#   --out DIR     keep the programs there: core-thread, core-address, core-none
#   NAME          only the tests whose names contain one of these; those named fault_… are run only so: deliberate
#                 faults, with which the script begins: a sanitizer that finds none there would find none elsewhere
# Exit status: 77 where the compiler has no such sanitizer, 1 where a test fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

sanitizers=() out='' names=() optimize=-O1 undefined=,undefined
while [ $# -gt 0 ]; do
    case $1 in
        --sanitizer)
            case ${2:-} in
                thread | address | none) sanitizers+=("$2") ;;
                *) usage_error "--sanitizer ${2:-without a value}: thread, address or none" ;;
            esac
            shift 2
            ;;
        --short) export OPHOOK_CORE_SHORT=1 optimize=-O0 undefined=''; shift ;;
        --out)
            [ $# -ge 2 ] || usage_error "--out needs a value"
            out=$(absolute "$2")
            shift 2
            ;;
        -h | --help) sed -n '2,11s/^# //p' "$0"; exit 0 ;;
        -*) usage_error "unknown option $1" ;;
        *) names+=("$1"); shift ;;
    esac
done
[ ${#sanitizers[@]} -gt 0 ] || sanitizers=(thread address)

umask 077  # the folder of the ledger has to be the user's alone
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$out" ] || out=$work
mkdir -p "$out"
compiler=${CXX:-g++}
csrc=$root/ophook_npu/csrc
parts=(core) tests=("$root"/tests/core/*.cpp) headers=()
wheels='from ophook_npu.npu.installed import require; t, n = require(); a = n.path / "include/third_party"
print(a / "acl/inc", a / "hccl/inc", a.parent, t.path / "include", sep="\n")'
if found=$(cd "$root" && "${PYTHON:-$root/.venv/bin/python}" -c "$wheels" 2>/dev/null); then
    parts+=(hccl)
    while read -r folder; do headers+=(-isystem "$folder"); done <<<"$found"
    headers+=(-idirafter "$csrc/older" -DFUNC_VISIBILITY)
else
    echo "test_core.sh: no torch and torch_npu for ${PYTHON:-$root/.venv/bin/python}: without collectives" >&2
    tests=("${tests[@]/*collectives.cpp/}")
fi
# As the libraries are compiled: the sources of each as one. The tests as another.
objects=("${parts[@]/#/$work/}")
for part in "${parts[@]}"; do printf '#include "%s"\n' "$csrc/$part"/*.cpp >"$work/$part.cpp"; done
for test in "${tests[@]}"; do [ -z "$test" ] || printf '#include "%s"\n' "$test"; done >"$work/tests.cpp"

# ThreadSanitizer of older compilers needs addresses that are not random.
plain_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then plain_addresses=(setarch "$(uname -m)" -R); fi

run() { # NAME…: on two small devices, in a folder that npu-smi does not list
    mkdir -p "$work/ledger"
    OPHOOK_SIM_DEVICES=2 OPHOOK_SIM_MEMORY=$((64 << 20)) OPHOOK_SIM_LEDGER="$work/ledger" OPHOOK_SIM_SYNC='' OPHOOK_SIM_SOC='' \
        timeout 300 "${plain_addresses[@]}" "$out/core-$sanitizer" "$@"
}

for sanitizer in "${sanitizers[@]}"; do
    flags=(-std=c++20 -g1 "$optimize" -Wall -Wextra -Werror -pthread "-I$csrc" "${headers[@]}") of_core=()
    fault=''
    case $sanitizer in
        thread) flags+=(-fsanitize=thread) fault=fault_race ;;
        address)
            fault=fault_freed
            flags+=(-fsanitize=address) of_core=("-fsanitize=address$undefined" -fno-sanitize-recover=all)
            ;;
    esac
    if ! echo 'int main() {}' | "$compiler" "${flags[@]}" "${of_core[@]}" -x c++ - -o "$work/probe" 2>"$work/said"; then
        cat "$work/said" >&2
        echo "test_core.sh: $compiler cannot link with $sanitizer; Debian and Ubuntu have it with gcc, Fedora in lib${sanitizer:0:1}san" >&2
        exit 77
    fi
    (for part in "${parts[@]}"; do "$compiler" "${flags[@]}" "${of_core[@]}" -c "$work/$part.cpp" -o "$work/$part.o" || exit; done) &
    first=$!
    "$compiler" "${flags[@]}" -c "$work/tests.cpp" -o "$work/tests.o" || { wait "$first" || true; exit 1; }
    wait "$first"
    "$compiler" "${flags[@]}" "${of_core[@]}" "${objects[@]/%/.o}" "$work/tests.o" -o "$out/core-$sanitizer"
    echo "== $sanitizer"
    if [ -n "$fault" ] && run "$fault" >"$work/said" 2>&1; then
        echo "test_core.sh: $sanitizer does not find $fault, a deliberate one" >&2
        exit 1
    fi
    run "${names[@]}"
    [ ${#names[@]} -gt 0 ] || OPHOOK_SIM_STRICT_MEMORY=1 run strict_memory
done
