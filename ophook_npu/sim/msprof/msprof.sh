#!/bin/sh
# The program msprof: its parts lie where CANN has its own, and torch_npu looks for them.
set -eu
here=$(dirname "$(readlink -f "$0")")
if [ "${1-}" = op ]; then # of one operator: another program of the toolkit
    shift
    exec "$here/../../../bin/msopprof" "$@"
fi
exec python3 -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from msprof.msprof import main; sys.exit(main())' \
    "$here/../profiler_tool/analysis" "$@"
