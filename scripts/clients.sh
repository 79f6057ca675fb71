#!/usr/bin/env bash
# Run projects that people use on NPUs, each in an environment of its own with pinned versions, over the simulated Ascend
# (or the NPU), compare each program with the same program on the CPU, and print one table.
# usage: scripts/clients.sh [OPTION…] NAME…     or --all, or --list
#   --list         the names, and what each is
#   --all          every project
#   --case TEXT    only the cases whose name has TEXT in it; the others keep what WORK has of an earlier run, as recorded
#   --take FILE    a result that another script wrote: {"project", "versions": […], "rows": [{"ran", "equal", "stops"}]}
#   --into PAGE    put the rows between PAGE's markers, where nothing got worse; rows of other projects stay
#   --device D     auto (the default), sim or npu
#   --venv DIR     torch, torch_npu and this package, made where it is not there: what all projects share; default WORK/base
#   --work DIR     environments, logs and results; default build/clients; what each takes is printed
#   --throw-away   remove each project's environment once it was run
# Needs pip's index, and git's for megatron, and nothing else of a network: models are tiny, with random weights made here.
# Exit status: 0 as recorded in scripts/clients/NAME.toml or better, 1 a case got worse, 2 it could not be tried.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

work="$root/build/clients" venv="" names=() options=() taken=""
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '2,17s/^# //p' "$0"; exit 0 ;;
        --list) sed -sn '1s/^# //p' "$root"/scripts/clients/*.toml; exit 0 ;;
        --all) for file in "$root"/scripts/clients/*.toml; do names+=("$(basename "$file" .toml)"); done; shift ;;
        --throw-away) options+=("$1"); shift ;;
        --case | --take | --into | --device | --venv | --work)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --work) work=$(absolute "$2") ;;
                --venv) venv=$(absolute "$2") ;;
                --take) options+=("$1" "$(absolute "$2")") taken=1 ;;
                --into) options+=("$1" "$(absolute "$2")") ;;
                *) options+=("$1" "$2") ;;
            esac
            shift 2 ;;
        -*) usage_error "unknown option $1" ;;
        *) names+=("$1"); shift ;;
    esac
done
[ ${#names[@]} -gt 0 ] || [ -n "$taken" ] || usage_error "no project is named"
for name in "${names[@]}"; do
    [ -f "$root/scripts/clients/$name.toml" ] || usage_error "no project $name"
done
venv=${venv:-$work/base}
mkdir -p "$work"
if [ ${#names[@]} -gt 0 ]; then bash "$root/scripts/setup_venv.sh" "$venv" test >"$work/base.log" 2>&1 || { tail -n 5 "$work/base.log" >&2; exit 2; }; fi
python="$venv/bin/python"
[ -x "$python" ] || python=${PYTHON:-python3}
exec "$python" "$root/scripts/clients/run.py" --work "$work" --venv "$venv" "${options[@]}" -- "${names[@]}"
