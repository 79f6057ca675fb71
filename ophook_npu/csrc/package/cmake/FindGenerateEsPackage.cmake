# find_package(GenerateEsPackage MODULE): functions that make the eager-style interface of graphs (es_math) from the
# prototypes of a project. It is not simulated, and the target that makes it says so: builds that only name it go on, and
# a source that includes its headers (graph passes) does not compile.

function(add_es_library)
  cmake_parse_arguments(ES "" "ES_LINKABLE_AND_ALL_TARGET;OPP_PROTO_TARGET;OUTPUT_PATH;EXCLUDE_OPS" "" ${ARGN})
  set(name ${ES_ES_LINKABLE_AND_ALL_TARGET})
  if(NOT name OR NOT ES_OPP_PROTO_TARGET)
    message(FATAL_ERROR "add_es_library: give ES_LINKABLE_AND_ALL_TARGET and OPP_PROTO_TARGET")
  endif()
  if(NOT TARGET ${name})
    add_library(${name} INTERFACE)
    add_custom_target(
      build_${name}
      COMMAND ${CMAKE_COMMAND} -E echo "[WARNING] ${name}: the eager-style interface of graphs (gen_esb) is not simulated"
      VERBATIM
    )
    add_dependencies(${name} build_${name})
  endif()
endfunction()

function(add_es_library_and_whl)
  add_es_library(${ARGN})
endfunction()

set(GenerateEsPackage_FOUND TRUE)
