# Read by torchair's CMakeLists.txt at its project() line, through toolchain.cmake. torchair is a build of its own in the
# middle of torch_npu's; it begins by deleting its build folder, so without ccache all of it is compiled every time.
find_program(OPHOOK_CCACHE ccache)
if(OPHOOK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${OPHOOK_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${OPHOOK_CCACHE}")
endif()
if(NOT "$ENV{OPHOOK_OPTIMIZE}" STREQUAL "")
  # Later than upstream's -O2 on every command line, so it is the one that counts.
  add_compile_options("$ENV{OPHOOK_OPTIMIZE}")
endif()
