#!/usr/bin/env bash
# Builds the Ascend C operator AddCustom on a host that has CANN, and installs it where asked.
# CANN's own msopgen makes the project (CMake files belong to CANN and differ by release); this script puts our sources in.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
soc=ascend910b
out=$here/build
vendor=ophook
install=

usage() {
    cat <<TEXT
usage: build.sh [--soc ascend910b|ascend910_93] [--out DIR] [--vendor NAME] [--install DIR]
  --soc      compute unit to build for (default: $soc)
  --out      project folder, made anew at every run (default: build/ beside this script)
  --vendor   name of the folder under vendors/ (default: $vendor)
  --install  install the operator package under DIR/vendors/NAME; then export ASCEND_CUSTOM_OPP_PATH=DIR/vendors/NAME
Needs CANN's development kit: ASCEND_HOME_DIR or ASCEND_HOME_PATH, default /usr/local/Ascend/ascend-toolkit/latest.
TEXT
}

die() {
    printf 'ascendc/build.sh: %s\n' "$@" >&2
    exit 1
}

while [[ $# -gt 0 ]]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --soc | --out | --vendor | --install)
            [[ $# -ge 2 && -n $2 ]] || die "option $1 needs a value"
            case $1 in
                --soc) soc=$2 ;;
                --out) out=$2 ;;
                --vendor) vendor=$2 ;;
                --install) install=$2 ;;
            esac
            shift 2
            ;;
        *) usage >&2; die "unknown option $1" ;;
    esac
done
case $soc in
    ascend910b | ascend910_93) ;;
    *) die "unknown SoC '$soc'; allowed: ascend910b, ascend910_93 (add others with AddConfig in op_host/add_custom.cpp)" ;;
esac
[[ $vendor =~ ^[A-Za-z][A-Za-z0-9_]*$ ]] || die "vendor '$vendor' is no identifier; allowed: letters, digits, _"

# Everything that is missing is named at once, before anything is written.
cann=${ASCEND_HOME_DIR:-${ASCEND_HOME_PATH:-/usr/local/Ascend/ascend-toolkit/latest}}
missing=()
[[ -d $cann ]] || die "no CANN at $cann" "next: install CANN's toolkit, or set ASCEND_HOME_DIR to where it is"
msopgen=
for candidate in "$cann/python/site-packages/bin/msopgen" "$cann/bin/msopgen"; do
    if [[ -x $candidate ]]; then
        msopgen=$candidate
        break
    fi
done
[[ -n $msopgen ]] || missing+=("msopgen (part of CANN's toolkit, in python/site-packages/bin)")
compgen -G "$cann/compiler/*ccec_compiler*" >/dev/null || compgen -G "$cann/*/ccec_compiler" >/dev/null ||
    compgen -G "$cann/tools/bisheng_compiler" >/dev/null || missing+=("the Ascend C compiler (ccec_compiler or bisheng)")
for tool in cmake g++ make python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if [[ ${#missing[@]} -gt 0 ]]; then
    die "missing for building an operator with CANN at $cann:" "${missing[@]/#/  }" "next: install CANN's toolkit and the tools named"
fi

project=$out/AddCustom
if [[ -e $project && ! -e $project/.made-by-ophook ]]; then
    die "$project exists and was not made by this script" "next: name another folder with --out"
fi
rm -rf -- "$project"
mkdir -p -- "$out"
if ! "$msopgen" gen -i "$here/add_custom.json" -f aclnn -c "ai_core-$soc" -lan cpp -out "$project"; then
    rm -rf -- "$project" # older releases: -f does not know aclnn
    "$msopgen" gen -i "$here/add_custom.json" -c "ai_core-$soc" -lan cpp -out "$project"
fi
: >"$project/.made-by-ophook"
# The sources lie in the package (ophook_npu/csrc/vendor), here are links to them.
cp -L -- "$here"/op_host/add_custom.cpp "$here"/op_host/add_custom_tiling.h "$project/op_host/"
cp -L -- "$here"/op_kernel/add_custom.cpp "$here"/op_kernel/add_custom_plan.h "$project/op_kernel/"

# The generated presets name a CANN path and a vendor of msopgen's choice.
python3 - "$project/CMakePresets.json" "$cann" "$vendor" <<'PYTHON'
import json
import sys

path, cann, vendor = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    presets = json.load(file)
for preset in presets["configurePresets"]:
    variables = preset.get("cacheVariables", {})
    for name, value in (("ASCEND_CANN_PACKAGE_PATH", cann), ("vendor_name", vendor)):
        if name in variables:
            variables[name]["value"] = value
with open(path, "w", encoding="utf-8") as file:
    json.dump(presets, file, indent=4)
PYTHON

(cd "$project" && bash ./build.sh)
shopt -s nullglob
packages=("$project"/build_out/custom_opp_*.run)
[[ ${#packages[@]} -eq 1 ]] || die "expected one custom_opp_*.run in $project/build_out, found ${#packages[@]}"
printf 'built %s\n' "${packages[0]}"
if [[ -n $install ]]; then
    mkdir -p -- "$install"
    bash "${packages[0]}" --quiet --install-path="$(cd "$install" && pwd -P)"
    [[ -f $install/vendors/$vendor/op_api/lib/libcust_opapi.so ]] ||
        die "installed, but $install/vendors/$vendor/op_api/lib/libcust_opapi.so is not there"
    printf 'installed; next: export ASCEND_CUSTOM_OPP_PATH=%q\n' "$(cd "$install" && pwd -P)/vendors/$vendor"
fi
