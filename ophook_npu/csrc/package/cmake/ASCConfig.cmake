# find_package(ASC): after it, project(… LANGUAGES ASC) knows sources named .asc, which launch kernels, and operator
# projects have the functions of OpPackage.cmake.
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/modules")
if(NOT DEFINED ASCEND_AUTOGEN_PATH)
    set(ASCEND_AUTOGEN_PATH "${CMAKE_BINARY_DIR}/autogen")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/OpPackage.cmake")
