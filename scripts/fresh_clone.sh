#!/usr/bin/env bash
# What a new user meets: clone the last commit and run the README's two commands there, with nothing set and a home that is new.
# usage: scripts/fresh_clone.sh [options] [-- COMMAND…]
#   --torch WHEEL   torch's CPU build, served from the loopback interface as the index that setup_venv.sh turns to (no other is reached)
#   --into DIR      where the clone and the logs go (default: a new folder under TMPDIR); it is kept
#   COMMAND         run instead of the two, in the clone: .ci/run, say
# PIP_CERT, SSL_CERT_FILE and the proxy's variables are passed on; pip's configuration is not.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

torch='' into=''
while [ $# -gt 0 ]; do
    case $1 in
        --torch | --into)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in --torch) torch=$(absolute "$2") ;; --into) into=$(absolute "$2") ;; esac
            shift 2
            ;;
        -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;;
        --) shift; break ;;
        *) usage_error "unknown option $1" ;;
    esac
done
[ -z "$torch" ] || [ -f "$torch" ] || usage_error "--torch $torch: no such file"
[ -z "$into" ] || [ ! -e "$into" ] || usage_error "--into $into is there already; name a folder that is not"
into=${into:-$(mktemp -d)}
mkdir -p "$into/home"

environment=("HOME=$into/home" "PATH=$PATH" LANG=C.UTF-8 PIP_CONFIG_FILE=/dev/null)
for name in PIP_CERT SSL_CERT_FILE HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
if [ -n "$torch" ]; then
    mkdir -p "$into/index/torch"
    ln -s "$torch" "$into/index/torch/"
    # Its first line names the port that was free.
    coproc SERVER { exec python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$into/index" 2>"$into/server.log"; }
    trap 'kill "$SERVER_PID" 2>/dev/null || true' EXIT
    read -r line <&"${SERVER[0]}"
    [[ $line =~ port\ ([0-9]+) ]] || usage_error "python3 -m http.server: $line"
    environment+=("OPHOOK_TORCH_INDEX=http://127.0.0.1:${BASH_REMATCH[1]}/")
fi

git clone --quiet --no-hardlinks "$root" "$into/clone"
cd "$into/clone"
echo "$(git log -1 --format='%h %s') in $into/clone"
status=0 number=0
measured() { # COMMAND…: its output goes to a log, what came of it to the terminal
    local since=$SECONDS outcome=0 log="$into/$((++number)).log"
    env -i "${environment[@]}" "$@" >"$log" 2>&1 || outcome=$?
    echo "$*: exit status $outcome after $(((SECONDS - since) / 60)) min $(((SECONDS - since) % 60)) s, $log"
    grep -E '^=+ .*(passed|failed|error).* =+$' "$log" | sed 's/^=* */    /; s/ *=*$//' || true
    [ "$outcome" = 0 ] || { tail -n 30 "$log"; status=1; }
}
if [ $# -gt 0 ]; then
    measured "$@"
else
    measured ./run_op_plugin.sh
    measured ./scripts/test.sh
fi
exit "$status"
