# shellcheck shell=bash
# What the steps of the source route share. Sourced, not run.

# run COMMAND…: run it, or with DRY_RUN=1 only show it, quoted so that it can be pasted.
run() {
    local text
    printf -v text '%q ' "$@"
    echo "+ ${text% }"
    [ "${DRY_RUN:-0}" = 1 ] || "$@"
}

# ask PYTHON CODE NAME: what the code prints; in a dry run before there is such a Python, the name of what it would say.
ask() {
    if [ "${DRY_RUN:-0}" = 1 ] && [ ! -x "$1" ]; then
        echo "$3"
    else
        "$1" -c "$2"
    fi
}

die() { # WHAT NEXT
    echo "$(basename "$0"): $1" >&2
    echo "next: $2" >&2
    exit 1
}

# Nothing of the build may load an installed torch_npu: it may be the one that is about to be replaced.
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
# Upstream's code generation writes sets in the order of their hashes: another one at every run, and the largest file of
# the build compiled again.
export PYTHONHASHSEED=0
