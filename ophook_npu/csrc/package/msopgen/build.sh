#!/bin/bash
# Builds the package: build_out/custom_opp_….run. More arguments go to CMake.
set -e
cd "$(dirname "$(realpath "$0")")"
rm -rf build_out
cmake -S . -B build_out --preset=default "$@"
cmake --build build_out --target binary -j"$(nproc)"
cmake --build build_out --target package -j"$(nproc)"
