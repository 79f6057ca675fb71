# shellcheck shell=bash
# What the steps of the source route share. Sourced, not run.

# run COMMAND…: run it, or with DRY_RUN=1 only show it, quoted so that it can be pasted.
run() {
    local text
    printf -v text '%q ' "$@"
    echo "+ ${text% }"
    [ "${DRY_RUN:-0}" = 1 ] || "$@"
}

die() { # WHAT NEXT
    echo "$(basename "$0"): $1" >&2
    echo "next: $2" >&2
    exit 1
}

# Nothing of the build may load an installed torch_npu: it may be the one that is about to be replaced.
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
