#!/usr/bin/env bash
# Remove what a former run built: the virtual environment DIR and the cache of compiled libraries.
# usage: clean.sh DIR
set -euo pipefail

venv=$1
cache=${OPHOOK_NPU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ophook_npu}
bash "$(dirname "${BASH_SOURCE[0]}")/clean_venv.sh" "$venv"
for folder in objects sim extension native packages ascendc; do rm -rf "${cache:?}/$folder"; done
