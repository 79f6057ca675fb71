#!/usr/bin/env bash
# Take the virtual environment VENV as it is where it holds torch and this package, else make it; add what a build needs.
# usage: source_venv.sh VENV [PYTHON_VERSION]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=source_lib.sh
source "$here/source_lib.sh"
venv=$1 version=${2:-}

holds() { # MODULE…
    "$venv/bin/python" - "$@" <<'EOS'
import importlib.util
import sys

sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))
EOS
}

if [ ! -x "$venv/bin/python" ] || ! holds torch ophook_npu; then
    [ -z "$version" ] || export PYTHON="python$version"
    run bash "$here/setup_venv.sh" "$venv" test
fi
if [ ! -x "$venv/bin/python" ]; then # a dry run on a fresh machine
    exit 0
fi
found=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ -n "$version" ] && [ "$found" != "$version" ]; then
    die "$venv has Python $found, --python asks for $version" "name another folder with --venv, or leave out --python"
fi
"$venv/bin/python" - <<'EOS' || run "$venv/bin/python" -m pip install 'setuptools>=70.1' wheel PyYAML
import importlib.metadata as metadata
import sys


def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


numbers = [int(part) for part in version("setuptools").split(".")[:2] if part.isdigit()]
sys.exit(not version("PyYAML") or not (numbers >= [70, 1] or (numbers and version("wheel"))))
EOS
