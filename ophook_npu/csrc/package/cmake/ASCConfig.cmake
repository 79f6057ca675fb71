# find_package(ASC): after it, project(… LANGUAGES ASC) knows sources named .asc, which launch kernels.
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/modules")
