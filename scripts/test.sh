#!/usr/bin/env bash
# Set up if needed and run the tests: the unit tests on the CPU, then the tests that need npu on the simulated Ascend.
# usage: scripts/test.sh [--venv DIR] [--all] [--coverage] [unit|sim|all] [pytest options]
#   --all         also the tests that are marked slow: those that compile C++ or graphs for a quarter of a minute or more; CI runs them
#   --coverage    measure which lines and branches of ophook_npu run, in child processes too, and print the table
#   --weigh       a pytest option: measure how long each file takes, for tests/weights.json
#   pytest runs as many processes as there are cores and memory for; -n 2 chooses, -n 0 runs all in one process
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

venv="$root/.venv" coverage=0 slow=0
while [ $# -gt 0 ]; do
    case $1 in
        --venv)
            [ $# -ge 2 ] || usage_error "--venv needs a value"
            venv=$(absolute "$2")
            shift 2
            ;;
        --all) slow=1; shift ;;
        --coverage) coverage=1; shift ;;
        -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;;
        *) break ;;
    esac
done
which=all
case ${1:-} in
    unit | sim | all) which=$1; shift ;;
esac

bash "$root/scripts/setup_venv.sh" "$venv" test
cd "$root"
workers=$(test_processes)
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(threads_each "$workers")}
keep_freed_memory
# A worker that crashed, or that a test kept waiting for ten minutes, is not replaced: pytest-xdist has waited for ever for
# the last tests of a run with a replaced one. The run ends soon, with the test's name and without the tests left.
# In the order of tests/weights.json: the longest files first, not those with the most tests.
pytest=(-m pytest -n "$workers" --dist loadfile --no-loadscope-reorder --max-worker-restart 0)
if [ "$coverage" = 1 ]; then
    "$venv/bin/python" -m coverage erase
    pytest=(-m coverage run "${pytest[@]}")
fi
case " $* " in *" --weigh "*) slow=1 ;; esac # it measures whole files
[ "$slow" = 1 ] || pytest+=(-m "not slow") # an -m of the caller's comes later, and is taken
status=0
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
heard() { # COMMAND…: what it says on standard error is kept too
    local outcome=0 copy copies
    exec {copy}> >(tee -a "$errors" >&2)
    copies=$!
    "$@" 2>&"$copy" {copy}>&- || outcome=$?
    exec {copy}>&-
    # Not for ever: a process that outlives its test may hold the pipe.
    for _ in {1..20}; do
        kill -0 "$copies" 2>/dev/null || break
        sleep 0.1
    done
    return "$outcome"
}
if [ "$which" != sim ]; then
    heard env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$venv/bin/python" "${pytest[@]}" tests/unit "$@" || status=1
fi
if [ "$which" != unit ]; then
    heard "$venv/bin/ophook-npu" run --device sim -- "${pytest[@]}" tests/sim "$@" || status=1
fi
# Where a worker was that crashed or was stopped, once more and short: a log's end is what is read first.
if [ "$status" != 0 ] && grep -Eq '^(Fatal Python error|Timeout \()' "$errors"; then
    printf '\nwhere the worker was, the innermost calls of each thread:\n'
    awk '/^(Fatal Python error|Timeout \(|Thread |Current thread )/ { frames = 0; print; next }
         /^  File / && frames++ < 6' "$errors" | head -n 60
fi
if [ "$coverage" = 1 ]; then
    "$venv/bin/python" -m coverage combine --quiet
    "$venv/bin/python" -m coverage report
fi
exit "$status"
