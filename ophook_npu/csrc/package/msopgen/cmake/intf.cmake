# How libraries of the host side are compiled. CANN's headers have a line of their own: scripts add folders behind it.
add_library(intf_pub INTERFACE)
target_compile_options(intf_pub INTERFACE -fPIC -std=c++17)
target_compile_definitions(intf_pub INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
target_include_directories(intf_pub INTERFACE
    ${ASCEND_CANN_PACKAGE_PATH}/include
)
target_link_directories(intf_pub INTERFACE ${ASCEND_CANN_PACKAGE_PATH}/lib64)
