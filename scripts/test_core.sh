#!/usr/bin/env bash
# The C++ tests of the simulator's core (streams, events, memory, capture), compiled with it alone, under a sanitizer.
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
        -h | --help) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
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
# As the library is compiled: the core's sources as one. The tests as another.
printf '#include "%s"\n' "$csrc"/core/*.cpp >"$work/core.cpp"
printf '#include "%s"\n' "$root"/tests/core/*.cpp >"$work/tests.cpp"

# ThreadSanitizer of older compilers needs addresses that are not random.
plain_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then plain_addresses=(setarch "$(uname -m)" -R); fi

run() { # NAME…: on two small devices, in a folder that npu-smi does not list
    mkdir -p "$work/ledger"
    OPHOOK_SIM_DEVICES=2 OPHOOK_SIM_MEMORY=$((64 << 20)) OPHOOK_SIM_LEDGER="$work/ledger" OPHOOK_SIM_SYNC='' OPHOOK_SIM_SOC='' \
        timeout 300 "${plain_addresses[@]}" "$out/core-$sanitizer" "$@"
}

for sanitizer in "${sanitizers[@]}"; do
    flags=(-std=c++20 -g1 "$optimize" -Wall -Wextra -pthread "-I$csrc") of_core=()
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
    "$compiler" "${flags[@]}" "${of_core[@]}" -c "$work/core.cpp" -o "$work/core.o" &
    first=$!
    "$compiler" "${flags[@]}" -c "$work/tests.cpp" -o "$work/tests.o" || { wait "$first" || true; exit 1; }
    wait "$first"
    "$compiler" "${flags[@]}" "${of_core[@]}" "$work/core.o" "$work/tests.o" -o "$out/core-$sanitizer"
    echo "== $sanitizer"
    if [ -n "$fault" ] && run "$fault" >"$work/said" 2>&1; then
        echo "test_core.sh: $sanitizer does not find $fault, a deliberate one" >&2
        exit 1
    fi
    run "${names[@]}"
    [ ${#names[@]} -gt 0 ] || OPHOOK_SIM_STRICT_MEMORY=1 run strict_memory
done
