#!/usr/bin/env bash
# Empty the virtual environment DIR, but for the logs of runs (one of them may be writing); refuse any other folder.
# usage: clean_venv.sh DIR
set -euo pipefail

venv=$1
[ -e "$venv" ] || exit 0
foreign=$(find "$venv" -mindepth 1 -maxdepth 1 ! -name ophook-logs -print -quit)
if [ -n "$foreign" ] && [ ! -e "$venv/pyvenv.cfg" ] && [ ! -e "$venv/ophook-installing" ]; then
    echo "$venv is not a virtual environment; nothing was removed; next: choose another --venv" >&2
    exit 1
fi
find "$venv" -mindepth 1 -maxdepth 1 ! -name ophook-logs -exec rm -rf {} +
