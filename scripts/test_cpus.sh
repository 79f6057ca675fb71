#!/usr/bin/env bash
# Run the test suites as other CPUs would: with kernels, vector widths and thread counts that this machine can hold back to.
# usage: scripts/test_cpus.sh [options] [-- pytest options]
#   --venv DIR        the virtual environment (default .venv)
#   --suites LIST     of unit, sim (default: unit,sim)
#   --settings LIST   of native, default, avx2, avx512, onednn, mkl, plain (default: all that this machine has, but native)
#                     default, avx2, avx512: what ATen's kernels are compiled for; onednn, mkl: these held back to SSE;
#                     plain: default, onednn and mkl at once; native: nothing held back
#   --threads LIST    OMP_NUM_THREADS (default: 1,2)
#   --numbers         only the tests that compare numbers (the list is tests/cpu_dependent.py) and are not marked slow
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

has_avx512() { grep -qw avx512f /proc/cpuinfo && grep -qw avx512vl /proc/cpuinfo; }

venv="$root/.venv" suites=unit,sim threads=1,2 settings=default,avx2,onednn,mkl,plain options=()
if has_avx512; then settings=default,avx2,avx512,onednn,mkl,plain; fi
while [ $# -gt 0 ]; do
    case $1 in
        --venv | --suites | --settings | --threads)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --venv) venv=$(absolute "$2") ;;
                --suites) suites=$2 ;;
                --settings) settings=$2 ;;
                --threads) threads=$2 ;;
            esac
            shift 2
            ;;
        --numbers) options+=(-m "numbers and not slow"); shift ;;
        -h | --help) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
        --) shift; break ;;
        *) usage_error "unknown option $1" ;;
    esac
done
options+=("$@")

# What a setting puts into the environment, one variable a line.
onednn=(ONEDNN_MAX_CPU_ISA=SSE41)
# Read by MKL's versions for any CPU, for Intel's, and before 2020.1.
mkl=(MKL_CBWR=COMPATIBILITY MKL_ENABLE_INSTRUCTIONS=SSE4_2 MKL_DEBUG_CPU_TYPE=2)
variables() { # SETTING
    case $1 in
        native) ;;
        default | avx2) echo "ATEN_CPU_CAPABILITY=$1" ;;
        avx512)
            has_avx512 || usage_error "this machine has no AVX-512"
            echo "ATEN_CPU_CAPABILITY=$1"
            ;;
        onednn) printf '%s\n' "${onednn[@]}" ;;
        mkl) printf '%s\n' "${mkl[@]}" ;;
        plain) printf '%s\n' ATEN_CPU_CAPABILITY=default "${onednn[@]}" "${mkl[@]}" ;;
        *) usage_error "unknown setting $1; allowed: native, default, avx2, avx512, onednn, mkl, plain" ;;
    esac
}

for setting in ${settings//,/ }; do # wrong use ends here, not hours later
    variables "$setting" >/dev/null
done
for suite in ${suites//,/ }; do
    case $suite in unit | sim) ;; *) usage_error "unknown suite $suite; allowed: unit, sim" ;; esac
done
for count in ${threads//,/ }; do
    [[ $count =~ ^[1-9][0-9]*$ ]] || usage_error "--threads takes numbers, not $count"
done

log=$(mktemp) table=() status=0
# Inductor keeps what it compiled for one vector width, and would run it under another, with wrong numbers.
caches=$(mktemp -d)
trap 'rm -rf "$log" "$caches"' EXIT
for setting in ${settings//,/ }; do
    mapfile -t environment < <(variables "$setting")
    environment+=("TORCHINDUCTOR_CACHE_DIR=$caches/$setting")
    for count in ${threads//,/ }; do
        for suite in ${suites//,/ }; do
            printf '\n== %s tests, setting %s, threads %s\n' "$suite" "$setting" "$count"
            since=$(date +%s.%N) outcome=passed
            env "${environment[@]}" "OMP_NUM_THREADS=$count" bash "$root/scripts/test.sh" --venv "$venv" --all "$suite" \
                "${options[@]}" 2>&1 | tee "$log" || outcome=FAILED
            [ "$outcome" = passed ] || status=1
            table+=("$(printf '%-8s  %7s  %-5s  %-7s  %7s s  %s' "$setting" "$count" "$suite" "$outcome" \
                "$(elapsed "$since")" "$(tail -n 1 "$log" | sed 's/^=* *//; s/ *=*$//')")")
        done
    done
done
printf '\n%-8s  %7s  %-5s  %-7s  %9s\n' setting threads suite outcome time
printf '%s\n' "${table[@]}"
exit "$status"
