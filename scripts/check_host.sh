#!/usr/bin/env bash
# Decide where to run and write it (sim or npu) to FILE; a half-installed Ascend host is an error.
# usage: check_host.sh auto|sim|npu FILE
set -euo pipefail

# Before there is a virtual environment: what is imported here needs the standard library only.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHONPATH="$root" "${PYTHON:-python3}" - "$1" "$2" <<'EOF'
import sys
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.npu import place

try:
    chosen = place.choose(sys.argv[1], place.detect())
except OphookError as error:
    sys.exit(str(error))
print(chosen)
Path(sys.argv[2]).write_text(chosen)
EOF
