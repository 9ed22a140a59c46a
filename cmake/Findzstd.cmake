# SPDX-License-Identifier: Apache-2.0
# zstd::libzstd, wherever CMAKE_PREFIX_PATH or the default paths have it; Debian's package brings no CMake files. It is
# installed next to naysay-config.cmake, which needs it where naysay is a static library.
find_path(ZSTD_INCLUDE zstd.h)
find_library(ZSTD_LIBRARY zstd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(zstd REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE)
mark_as_advanced(ZSTD_INCLUDE ZSTD_LIBRARY)
if(zstd_FOUND AND NOT TARGET zstd::libzstd)
  add_library(zstd::libzstd UNKNOWN IMPORTED)
  set_target_properties(zstd::libzstd PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE})
endif()
