#!/usr/bin/env bash
# Run vLLM with vllm-ascend over the simulated Ascend (or the NPU): a tiny Llama and a tiny Qwen2 with random weights, eager
# and with captured graphs, on one device and on two; tokens are compared with transformers' on the CPU. Prints a table.
# usage: scripts/vllm_ascend.sh [OPTION…]
#   --work DIR     environment, models and logs; default build/vllm-ascend
#   --device D     auto (the default), sim or npu
#   --case TEXT    only cases with TEXT in their names, such as "llama, eager"
#   --into PAGE    put the table between PAGE's markers (docs/vllm-ascend.md); not with --case
#   --json FILE    write the rows for scripts/clients.sh --take
#   --checkout DIR vllm-ascend of this git checkout, with the versions that it names, not PyPI's last release of it
#   --install-only make the environment and stop
# The environment: versions that fit each other, vllm built for no device, vllm-ascend without compiled kernels. PyPI's
# torch for x86-64 links CUDA's libraries; 8.4 GB in all.
# Left out of what vllm-ascend asks for, since no case here uses it: torchaudio, arctic-inference, and triton-ascend 3.2.2,
# which PyPI does not have (upstream Triton's interpreter takes its place, docs/triton.md).
# Exit status: 0 all equal, 1 some not, 2 the environment could not be made.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
source "$root/scripts/lib.sh"

work="$root/build/vllm-ascend" options=() only="" into="" chosen="" checkout=""
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) sed -n '2,16s/^# //p' "$0"; exit 0 ;;
        --install-only) only=1; shift ;;
        --work | --device | --case | --into | --json | --checkout)
            [ $# -ge 2 ] || usage_error "$1 needs a value"
            case $1 in
                --work) work=$(absolute "$2") ;;
                --checkout) checkout=$(absolute "$2") ;;
                --into) into=1 options+=("$1" "$(absolute "$2")") ;;
                --json) options+=("$1" "$(absolute "$2")") ;;
                --case) chosen=1 options+=("$1" "$2") ;;
                --device) options+=("$1" "$2") ;;
            esac
            shift 2 ;;
        *) usage_error "unknown argument $1" ;;
    esac
done
[ -z "$into" ] || [ -z "$chosen" ] || usage_error "--into wants all cases"

python=${PYTHON:-python3.11}
env="$work/env" complete="$work/env/ophook-complete"
if [ -n "$checkout" ]; then
    commit=$(git -C "$checkout" rev-parse HEAD)
    asked=$(grep -E '^(torch|torchvision|torch-npu|transformers)=' "$checkout/requirements.txt")
    vllm=$(sed 's/^v//' "$checkout/.github/vllm-release-tag.commit")
else
    commit="" vllm=0.23.0
    asked=$(printf '%s\n' torch==2.10.0 torchvision==0.25.0 torch-npu==2.10.0.post4 transformers==5.5.4 'fastapi<0.124.0')
fi
made_for=$(cat "$0" "$root/pyproject.toml" <(echo "$commit") | cksum)
pip() { "$env/bin/python" -m pip "$@"; }

install() {
    rm -rf "$env"
    "$python" -m venv "$env"
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 MAX_JOBS=${MAX_JOBS:-2}
    printf '%s\n' "$asked" triton==3.6.0 'numpy<2.3' 'setuptools<81' >"$work/constraints.txt"
    pip install -U pip
    pip install -c "$work/constraints.txt" torch torchvision triton
    # What the two are built with, since both look at the torch that is installed here.
    pip install -c "$work/constraints.txt" 'setuptools>=77' setuptools-scm setuptools-rust wheel packaging cmake ninja jinja2 \
        attrs decorator pyyaml psutil pybind11 numpy scipy
    # Built for no device it calls itself 0.23.0+empty, which pip does not take for 0.23.0.
    VLLM_VERSION_OVERRIDE=$vllm VLLM_TARGET_DEVICE=empty pip install -c "$work/constraints.txt" --no-build-isolation --no-binary vllm "vllm==$vllm"
    local source=vllm-ascend==0.23.0.post1
    if [ -n "$checkout" ]; then
        source="$work/source" # building writes into it
        rm -rf "$source"
        git clone --quiet --shared "$checkout" "$source"
    fi
    SOC_VERSION=ascend910b1 COMPILE_CUSTOM_KERNELS=0 pip install --no-deps --no-build-isolation --no-binary vllm-ascend "$source"
    pip install --no-deps -c "$work/constraints.txt" torch-npu
    pip install -c "$work/constraints.txt" numba msgpack pandas quart pytest pytest-asyncio pytest-mock \
        modelscope sentence-transformers
    pip install -c "$work/constraints.txt" --no-build-isolation -e "${root}[npu-needs]"
    printf '%s\n' "$made_for" >"$complete"
}

mkdir -p "$work"
if [ ! -f "$complete" ] || [ "$(<"$complete")" != "$made_for" ]; then
    echo "making $env (log: $work/install.log)"
    # Not `if install` or `install ||`: in a condition bash goes on after a command that failed.
    (set -e; install) >"$work/install.log" 2>&1 &
    wait "$!" || { tail -n 5 "$work/install.log" >&2; exit 2; }
fi
[ -z "$only" ] || exit 0
exec "$env/bin/python" "$root/scripts/vllm_ascend/run.py" --env "$env" --work "$work" "${options[@]}"
