# find_package(tikicpulib): tikicpulib::Ascend910B1 and its like, with which a C++ compiler builds kernels and the program
# that calls them as functions (ICPU_RUN_KF).
if(TARGET tikicpulib::Ascend910B1)
    return()
endif()
get_filename_component(_ophook_bisheng "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
get_filename_component(_ophook_bisheng "${_ophook_bisheng}/../../bin/bisheng" ABSOLUTE)
execute_process(
    COMMAND "${_ophook_bisheng}" --ophook-twin RESULT_VARIABLE _ophook_status OUTPUT_VARIABLE _ophook_targets
    ERROR_VARIABLE _ophook_error)
if(NOT _ophook_status EQUAL 0)
    set(tikicpulib_FOUND FALSE)
    set(tikicpulib_NOT_FOUND_MESSAGE "${_ophook_error}")
    return()
endif()
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/tikicpulib-targets.cmake" "${_ophook_targets}")
include("${CMAKE_CURRENT_BINARY_DIR}/tikicpulib-targets.cmake")
