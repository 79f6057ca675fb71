#!/usr/bin/env bash
# The simulator's operator tests over a simulator that is compiled as a whole under AddressSanitizer and
# UndefinedBehaviorSanitizer. What they find ends the program: a report on stderr, in a log for each process.
# usage: scripts/test_sanitized.sh [--venv DIR] [pytest arguments]
#   without pytest arguments: tests/sim/test_aclnn_*.py, test_ge_*.py but test_ge_generated.py, test_pairs.py,
#   test_atb*.py, test_hccl.py
# The first time compiles for about four minutes on one core; objects are kept as those of the plain build.
# Exit status: 77 where the compiler has no such sanitizer, 1 where a test fails or a sanitizer has found something.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

venv="$root/.venv"
while [ $# -gt 0 ]; do
    case $1 in
        --venv)
            [ $# -ge 2 ] || usage_error "--venv needs a value"
            venv=$(absolute "$2")
            shift 2
            ;;
        -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
        *) break ;;
    esac
done

# vptr asks for type information of torch's classes, which its wheel does not export.
export OPHOOK_SIM_CXXFLAGS='-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer -g1'
compiler=${CXX:-g++}
library() { "$compiler" -print-file-name="$1"; }
if ! [ -e "$(library libasan.so)" ] || ! [ -e "$(library libubsan.so)" ]; then
    echo "test_sanitized.sh: $compiler has no libasan or libubsan; Fedora has them in packages of that name" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
# It loads a library to read its rows, in a Python without the sanitizers' libraries; compilers go without these, too.
ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 "$venv/bin/ophook-npu" sim build >/dev/null

# Python is not compiled under a sanitizer: the libraries have to be there before it, and the C++ library with them, or
# exceptions are not followed. Leaks are those of Python and torch. Kernels may ask for more memory than there is.
preload="$(library libasan.so):$(library libubsan.so):$(library libstdc++.so.6)"
asan="detect_leaks=0:allocator_may_return_null=1:log_path=$work/report"
ubsan="halt_on_error=1:print_stacktrace=1:log_path=$work/report:suppressions=$root/scripts/undefined.supp"
run() { # PROGRAM…: one of Python on the sanitized simulator
    "$venv/bin/ophook-npu" run --device sim -- env LD_PRELOAD="$preload" ASAN_OPTIONS="$asan" UBSAN_OPTIONS="$ubsan" \
        "$venv/bin/python" "$@"
}

# Every library has to have been compiled so, and a fault in one has to be found: nothing would be found elsewhere.
libraries=$("$venv/bin/ophook-npu" sim build 2>/dev/null)/lib64
for name in libophook_sim_core libascendcl libopapi libatb libge_runner libgraph libhccl; do
    symbols=$(nm -D --undefined-only "$libraries/$name.so")
    case $symbols in
        *__asan_report_*__ubsan_handle_*) ;;
        *) echo "test_sanitized.sh: $name is not compiled under both sanitizers" >&2; exit 1 ;;
    esac
done
# shellcheck disable=SC2086  # several flags
printf 'extern "C" int fault(int i) { int three[3] = {}; return three[i]; }\n' |
    "$compiler" -x c++ -shared -fPIC $OPHOOK_SIM_CXXFLAGS - -o "$work/fault.so"
if run -c "import ctypes, sys; ctypes.CDLL(sys.argv[1]).fault(3)" "$work/fault.so" >/dev/null 2>&1; then
    echo "test_sanitized.sh: a deliberate fault is not found" >&2
    exit 1
fi
rm -f "$work"/report.*

status=0
if [ $# -eq 0 ]; then
    # test_ge_generated.py starts a compiler, which would run with the sanitizers' libraries as well and takes minutes.
    set -- --deselect=tests/sim/test_ge_generated.py \
        tests/sim/test_aclnn_*.py tests/sim/test_ge_*.py tests/sim/test_pairs.py tests/sim/test_atb*.py tests/sim/test_hccl.py
fi
# UndefinedBehaviorSanitizer writes to stderr whatever its log_path says, because both have a function of one name that
# sets it; pytest must not hold that back, since the process ends there.
run -m pytest -q -p no:cacheprovider --capture=sys "$@" || status=1
for report in "$work"/report.*; do
    [ -e "$report" ] || break
    # Kernels run as coroutines, whose stacks the sanitizer does not know: it says so, and what that may lead to.
    grep -Eqv "fully support makecontext|ignoring requested __asan_handle_no_return|^False positive|^For details" "$report" || continue
    echo "== ${report##*/}" >&2
    head -n 60 "$report" >&2
    status=1
done
exit $status
