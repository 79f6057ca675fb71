include(${ASCEND_CANN_PACKAGE_PATH}/cmake/MsOpGen.cmake)
