# include(${ASCENDC_CMAKE_DIR}/ascendc.cmake): ascendc_library(NAME STATIC|SHARED sources…) makes a library of sources that
# hold kernels, and a header for each kernel, aclrtlaunch_KERNEL.h, with which other sources launch it.
include_guard(DIRECTORY)
# The folder may be a link, compiler/tikcpp.
get_filename_component(_ophook_toolkit "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_ophook_toolkit "${_ophook_toolkit}/../.." ABSOLUTE)
set(OPHOOK_BISHENG "${_ophook_toolkit}/bin/bisheng")
list(PREPEND CMAKE_MODULE_PATH "${_ophook_toolkit}/cmake/modules")
enable_language(ASC)

# What host sources of such a project link: CANN's headers and its runtime.
if(NOT TARGET host_intf_pub)
    add_library(host_intf_pub INTERFACE)
    target_include_directories(host_intf_pub SYSTEM INTERFACE "${_ophook_toolkit}/include")
    target_link_directories(host_intf_pub INTERFACE "${_ophook_toolkit}/lib64")
    target_link_libraries(host_intf_pub INTERFACE "${_ophook_toolkit}/lib64/libascendcl.so")
endif()

# What the project is built for, as its run.sh says: Atlas A2 and A3 are what bisheng takes unasked.
set(_ophook_arch)
if("${SOC_VERSION}" MATCHES "^[Aa]scend950")
    set(_ophook_arch --npu-arch=dav-3510)
endif()

# How sources of NAME are compiled, for the commands that CMake does not know as compilers.
function(_ophook_flags name out)
    set(defines "$<FILTER:$<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>,EXCLUDE,^$>")
    set(folders "$<FILTER:$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>,EXCLUDE,^$>")
    set(${out}
        "$<$<BOOL:${defines}>:-D$<JOIN:${defines},$<SEMICOLON>-D>>"
        "$<$<BOOL:${folders}>:-I$<JOIN:${folders},$<SEMICOLON>-I>>"
        "$<TARGET_PROPERTY:${name},COMPILE_OPTIONS>" PARENT_SCOPE)
endfunction()

function(ascendc_library name kind)
    set(sources)
    foreach(source IN LISTS ARGN)
        get_filename_component(source "${source}" ABSOLUTE)
        list(APPEND sources "${source}")
    endforeach()
    set_source_files_properties(${sources} PROPERTIES LANGUAGE ASC)
    add_library(${name} ${kind} ${sources})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    foreach(made ARCHIVE LIBRARY) # in build/lib, where the scripts of projects look
        if(NOT CMAKE_${made}_OUTPUT_DIRECTORY)
            set_target_properties(${name} PROPERTIES ${made}_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
        endif()
    endforeach()
    target_compile_options(${name} PRIVATE ${_ophook_arch} --ophook-library)
    set(headers "${CMAKE_CURRENT_BINARY_DIR}/include/${name}")
    _ophook_flags(${name} flags)
    add_custom_command(
        OUTPUT "${headers}/written"
        COMMAND "${OPHOOK_BISHENG}" -x asc "--ophook-launches=${headers}" ${flags} ${sources}
        COMMAND "${CMAKE_COMMAND}" -E touch "${headers}/written"
        DEPENDS ${sources}
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name}_launches DEPENDS "${headers}/written")
    add_dependencies(${name} ${name}_launches)
    target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${headers}>" "$<BUILD_INTERFACE:${_ophook_toolkit}/include>")
    # Who links it names CANN's other libraries, tiling_api and its kin, without saying where they are.
    target_link_directories(${name} INTERFACE "$<BUILD_INTERFACE:${_ophook_toolkit}/lib64>")
    target_link_libraries(${name} INTERFACE "${_ophook_toolkit}/lib64/libascendcl.so")
    install(TARGETS ${name} DESTINATION lib)
    install(DIRECTORY "${headers}" DESTINATION include FILES_MATCHING PATTERN "*.h")
endfunction()

# ascendc_fatbin_library(NAME sources…): kernels that a program loads by itself, with aclrtBinaryLoadFromFile, from
# fatbin/NAME/NAME.o of the installed project.
function(ascendc_fatbin_library name)
    set(sources)
    foreach(source IN LISTS ARGN)
        get_filename_component(source "${source}" ABSOLUTE)
        list(APPEND sources "${source}")
    endforeach()
    set(binary "${CMAKE_CURRENT_BINARY_DIR}/fatbin/${name}/${name}.o")
    _ophook_flags(${name} flags)
    add_custom_command(
        OUTPUT "${binary}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/fatbin/${name}"
        COMMAND "${OPHOOK_BISHENG}" -x asc ${_ophook_arch} -fPIC -shared -Wl,-Bsymbolic ${flags} ${sources} -o "${binary}"
        DEPENDS ${sources}
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(${name} ALL DEPENDS "${binary}")
    install(FILES "${binary}" DESTINATION "fatbin/${name}")
endfunction()

# ascendc_compile_definitions(NAME [PRIVATE] …) and its like say how the kernels of a library are compiled. Properties, as
# a library of one binary is no target that CMake compiles.
function(_ophook_append name property)
    list(REMOVE_ITEM ARGN PRIVATE PUBLIC INTERFACE)
    set_property(TARGET ${name} APPEND PROPERTY ${property} ${ARGN})
endfunction()

function(ascendc_compile_definitions name)
    list(TRANSFORM ARGN REPLACE "^-D" "")
    _ophook_append(${name} COMPILE_DEFINITIONS ${ARGN})
endfunction()

function(ascendc_compile_options name)
    list(REMOVE_ITEM ARGN -forward-options-to-host-compiler)
    _ophook_append(${name} COMPILE_OPTIONS ${ARGN})
endfunction()

function(ascendc_include_directories name)
    set(folders)
    foreach(folder IN LISTS ARGN)
        if(NOT folder MATCHES "^(PRIVATE|PUBLIC|INTERFACE|\\$<.*)$")
            get_filename_component(folder "${folder}" ABSOLUTE)
        endif()
        list(APPEND folders "${folder}")
    endforeach()
    _ophook_append(${name} INCLUDE_DIRECTORIES ${folders})
endfunction()
