# What the CMake files of msopgen's projects call. Each makes the part of the package that CANN's makes: `op_build` writes
# the host side's sources while CMake reads the project, `op_package` compiles the kernels.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/OpPackage.cmake")
get_filename_component(_ophook_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(OPHOOK_OP_PACKAGE "${_ophook_root}/bin/op_package")
set(OPHOOK_OP_BUILD "${_ophook_root}/toolkit/tools/opbuild/op_build" CACHE INTERNAL "")
foreach(option ENABLE_CROSS_COMPILE ASCEND_PACK_SHARED_LIBRARY)
    if(${option})
        message(FATAL_ERROR "${option} is not simulated; npu_op_package(… TYPE SHARED) makes a library")
    endif()
endforeach()

function(get_system_info out)
    execute_process(COMMAND "${OPHOOK_OP_PACKAGE}" system OUTPUT_VARIABLE system OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${out} "${system}" PARENT_SCOPE)
endfunction()

function(opbuild)
    cmake_parse_arguments(of "" "OUT_DIR;PROJECT_NAME;ACCESS_PREFIX;ENABLE_SOURCE" "OPS_SRC" ${ARGN})
    if(of_ACCESS_PREFIX)
        message(FATAL_ERROR "opbuild(… ACCESS_PREFIX ${of_ACCESS_PREFIX}) is not simulated")
    endif()
    set(variables)
    if(of_PROJECT_NAME)
        set(variables "OPS_PROJECT_NAME=${of_PROJECT_NAME}")
    endif()
    _ophook_op_build("${of_OUT_DIR}" "${of_OPS_SRC}" "" ${variables})
endfunction()

# Kept until the kernels are compiled, by the target, so that it counts behind add_bin_compile_target as well:
# add_ops_compile_options(OP_TYPE or ALL [COMPUTE_UNIT …] OPTIONS …).
add_custom_target(ophook_options)
function(add_ops_compile_options for)
    cmake_parse_arguments(of "" "OP_TYPE" "COMPUTE_UNIT;OPTIONS" ${ARGN})
    foreach(option IN LISTS of_OPTIONS)
        set_property(TARGET ophook_options APPEND PROPERTY OPHOOK_OPTIONS "${for}:${of_COMPUTE_UNIT}:${option}")
    endforeach()
endfunction()

function(add_ops_info_target)
    cmake_parse_arguments(of "" "TARGET;OPS_INFO;OUTPUT;INSTALL_DIR" "" ${ARGN})
    if(NOT EXISTS "${of_OPS_INFO}")
        message(FATAL_ERROR "${of_OPS_INFO} is not there: no operator of op_host has AddConfig for this product")
    endif()
    add_custom_command(OUTPUT "${of_OUTPUT}" COMMAND "${OPHOOK_OP_PACKAGE}" info "${of_OPS_INFO}" "${of_OUTPUT}"
        DEPENDS "${of_OPS_INFO}" VERBATIM)
    add_custom_target(${of_TARGET} ALL DEPENDS "${of_OUTPUT}")
    install(FILES "${of_OUTPUT}" DESTINATION "${of_INSTALL_DIR}")
endfunction()

# Kernels are compiled in any case: nothing here compiles one when its operator first runs.
function(add_bin_compile_target)
    cmake_parse_arguments(of "" "TARGET;OPS_INFO;COMPUTE_UNIT;IMPL_DIR;ADP_DIR;OUT_DIR;INSTALL_DIR;KERNEL_DIR" "" ${ARGN})
    get_filename_component(autogen "${of_OPS_INFO}" DIRECTORY)
    # Every time: only op_package knows what the sources include, and it compiles nothing anew that has not changed.
    add_custom_target(${of_TARGET} ALL
        COMMAND "${OPHOOK_OP_PACKAGE}" kernels "${autogen}" "${CMAKE_CURRENT_SOURCE_DIR}" "${of_COMPUTE_UNIT}" "${of_OUT_DIR}"
            "$<TARGET_PROPERTY:ophook_options,OPHOOK_OPTIONS>"
        COMMAND_EXPAND_LISTS VERBATIM)
    if(NOT TARGET binary)
        add_custom_target(binary)
    endif()
    add_dependencies(binary ${of_TARGET})
    install(DIRECTORY "${of_OUT_DIR}/" DESTINATION "${of_INSTALL_DIR}/${of_COMPUTE_UNIT}")
endfunction()

function(add_ops_impl_target)
    cmake_parse_arguments(of "" "TARGET;OPS_INFO;IMPL_DIR;OUT_DIR;INSTALL_DIR" "OPS_BATCH;OPS_ITERATE" ${ARGN})
    add_custom_target(${of_TARGET})
    if(ENABLE_SOURCE_PACKAGE)
        install(DIRECTORY "${of_IMPL_DIR}/" DESTINATION "${of_INSTALL_DIR}/dynamic" FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h")
    endif()
endfunction()

# Lists for other frameworks, which nothing here reads.
function(add_npu_support_target)
    cmake_parse_arguments(of "" "TARGET;OPS_INFO_DIR;OUT_DIR;INSTALL_DIR" "" ${ARGN})
    if(NOT TARGET npu_supported_ops)
        add_custom_target(npu_supported_ops)
    endif()
endfunction()
