# shellcheck shell=bash
# What the scripts share: numbered steps with times and logs, and errors that say what to do next. Sourced, not run.

usage_error() {
    echo "$(basename "$0"): $1 (see $(basename "$0") -h)" >&2
    exit 2
}

# The path made absolute; it need not exist.
absolute() {
    case $1 in
        /*) printf '%s\n' "$1" ;;
        *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

# nproc answers with OMP_NUM_THREADS where it is set, which says how many threads each process may have.
cores() {
    env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc
}

# How many test processes fit on this machine: one a core, and 3 GB of free memory for each with what it starts.
test_processes() {
    awk -v n="$(cores)" '/^MemAvailable/ { fit = int($2 / 3e6); if (fit < n) n = fit; print n < 1 ? 1 : n }' /proc/meminfo
}

threads_each() { # PROCESSES: threads for each, so that all together are as many as there are cores
    local each=$(($(cores) / $1))
    echo $((each > 0 ? each : 1))
}

# Dynamo writes 256 MB with each graph that it compiles, to time its guards: glibc keeps such memory from one to the next
# instead of getting it from the kernel again, page by page; a tenth of a process that compiles graphs.
keep_freed_memory() {
    export MALLOC_MMAP_THRESHOLD_=$((1 << 30)) MALLOC_TRIM_THRESHOLD_=$((1 << 31))
}

# begin_steps VENV TOTAL: logs go below the virtual environment, in a folder of this run.
begin_steps() {
    step_number=0 total_steps=$2
    logs="$1/ophook-logs/$(date +%Y%m%d-%H%M%S)-$$"
}

elapsed() { # SINCE
    awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'
}

# show_progress NAME LOG: on a terminal, what the log's last line says of the time left, once a second.
show_progress() {
    local line shell=$$
    [ -t 1 ] || return 0
    while sleep 1 && kill -0 "$shell" 2>/dev/null; do
        line=$(tail -n 1 "$2" 2>/dev/null | tr -d '\r')
        case $line in
            *' left') printf '\r\033[K[%d/%d] %-34s %.60s' "$step_number" "$total_steps" "$1" "${line#"${line%%[![:space:]]*}"}" ;;
        esac
    done
}

# step NAME NEXT COMMAND…: run the command with its output in a log, of which lines that begin with "note: " are shown; on
# failure say where the log is and what to try.
step() {
    local name=$1 next=$2 log since status=0
    shift 2
    step_number=$((step_number + 1))
    mkdir -p "$logs"
    log="$logs/$step_number.log"
    since=$(date +%s.%N)
    printf '[%d/%d] %-34s ' "$step_number" "$total_steps" "$name"
    show_progress "$name" "$log" &
    local watcher=$!
    "$@" >"$log" 2>&1 || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    if [ -t 1 ]; then printf '\r\033[K[%d/%d] %-34s ' "$step_number" "$total_steps" "$name"; fi
    if [ "$status" -ne 0 ]; then
        printf 'FAILED after %s s (exit status %d)\n\n' "$(elapsed "$since")" "$status"
        tail -n 15 "$log" | sed 's/^/    /'
        printf '\nstep:  %s\nlog:   %s\nnext:  %s\n' "$name" "$log" "$next"
        exit 1
    fi
    printf '%6s s\n' "$(elapsed "$since")"
    sed -n 's/^note: /      /p' "$log"
}
