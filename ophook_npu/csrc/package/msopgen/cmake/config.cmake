# Defaults of what CMakePresets.json says, and where CANN is.
foreach(default vendor_name:customize ASCEND_COMPUTE_UNIT:ascend910b ASCEND_PYTHON_EXECUTABLE:python3 CMAKE_BUILD_TYPE:Release
        ENABLE_SOURCE_PACKAGE:True ENABLE_BINARY_PACKAGE:True)
    string(REPLACE ":" ";" default ${default})
    list(GET default 0 name)
    list(GET default 1 value)
    if("${${name}}" STREQUAL "")
        set(${name} ${value})
    endif()
endforeach()
if(NOT EXISTS "${ASCEND_CANN_PACKAGE_PATH}" AND NOT "$ENV{ASCEND_HOME_PATH}" STREQUAL "")
    set(ASCEND_CANN_PACKAGE_PATH $ENV{ASCEND_HOME_PATH})
endif()
if(NOT EXISTS "${ASCEND_CANN_PACKAGE_PATH}/cmake/MsOpGen.cmake")
    message(FATAL_ERROR "ASCEND_CANN_PACKAGE_PATH=${ASCEND_CANN_PACKAGE_PATH} is no toolkit of ophook-npu: "
        "write its path into CMakePresets.json, or eval \"$(ophook-npu env)\"")
endif()
set(unused ${CMAKE_CROSS_PLATFORM_COMPILER})  # which a preset may name
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
# Both are there for projects with an opbuild of their own.
file(MAKE_DIRECTORY ${ASCEND_AUTOGEN_PATH})
set(CMAKE_COMPILE ${CMAKE_CXX_COMPILER})
