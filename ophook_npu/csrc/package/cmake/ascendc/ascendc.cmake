# include(${ASCENDC_CMAKE_DIR}/ascendc.cmake): ascendc_library(NAME STATIC|SHARED sources…) makes a target of sources that
# hold and launch kernels. It is a shared library in both cases: its own compiler links what runs the kernels into it.
get_filename_component(_ophook_toolkit "${CMAKE_CURRENT_LIST_DIR}/../.." REALPATH)
set(OPHOOK_BISHENG "${_ophook_toolkit}/bin/bisheng")

set(OPHOOK_ASCENDCL "${_ophook_toolkit}/lib64/libascendcl.so")

function(ascendc_library name kind)
    set(sources)
    foreach(source IN LISTS ARGN)
        get_filename_component(source "${source}" ABSOLUTE)
        list(APPEND sources "${source}")
    endforeach()
    set(library "${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so")
    add_custom_command(
        OUTPUT "${library}"
        COMMAND "${OPHOOK_BISHENG}" -x asc -fPIC -shared ${sources} -o "${library}"
        DEPENDS ${sources}
        VERBATIM)
    add_custom_target(${name}_kernels DEPENDS "${library}")
    add_library(${name} INTERFACE)
    add_dependencies(${name} ${name}_kernels)
    target_link_libraries(${name} INTERFACE "${library}" "${OPHOOK_ASCENDCL}")
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
    add_custom_command(
        OUTPUT "${binary}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/fatbin/${name}"
        COMMAND "${OPHOOK_BISHENG}" -x asc -fPIC -shared -Wl,-Bsymbolic ${sources} -o "${binary}"
        DEPENDS ${sources}
        VERBATIM)
    add_custom_target(${name} ALL DEPENDS "${binary}")
    install(FILES "${binary}" DESTINATION "fatbin/${name}")
endfunction()
