# Every project of torch_npu's build reads this file before its own first line, by way of the environment variable
# CMAKE_TOOLCHAIN_FILE: the one place where the build can be helped without a change of upstream's tree. It names no
# other compiler and no other system; a toolchain file of the user's stays in force.
if(NOT "$ENV{OPHOOK_NEXT_TOOLCHAIN_FILE}" STREQUAL "")
  include("$ENV{OPHOOK_NEXT_TOOLCHAIN_FILE}")
endif()
set(CMAKE_PROJECT_TORCHNPU_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/torch_npu.cmake")
set(CMAKE_PROJECT_AscendAdapter2_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/torchair.cmake")
