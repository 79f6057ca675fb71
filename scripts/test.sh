#!/usr/bin/env bash
# Set up if needed and run the tests: the unit tests on the CPU, then the tests that need npu on the simulated Ascend.
# usage: scripts/test.sh [--venv DIR] [unit|sim|all] [pytest options]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

venv="$root/.venv" which=all
if [ "${1:-}" = --venv ]; then
    [ $# -ge 2 ] || usage_error "--venv needs a value"
    venv=$(absolute "$2")
    shift 2
fi
case ${1:-} in
    unit | sim | all) which=$1; shift ;;
    -h | --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
esac

bash "$root/scripts/setup_venv.sh" "$venv"
cd "$root"
status=0
if [ "$which" != sim ]; then
    TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$venv/bin/python" -m pytest tests/unit "$@" || status=1
fi
if [ "$which" != unit ]; then
    "$venv/bin/ophook-npu" run --device sim -- -m pytest tests/sim "$@" || status=1
fi
exit "$status"
