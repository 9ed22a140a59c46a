# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by cpack -G DEB in the build folder (./dev packages):
#
#   libnaysay0       the shared library              naysay           the tool, manual pages, completion
#   libnaysay-dev    headers, static library         python3-naysay   the Python module, if it is built
#                                                    naysay-redis     the Redis module, if it is built
#
# What is installed says to which of them it belongs by its COMPONENT; without one it is part of libnaysay-dev.

# The release build links the tool statically; packages bring the same objects as a shared library, too.
add_library(naysay_shared SHARED $<TARGET_OBJECTS:naysay>)
target_link_libraries(naysay_shared PRIVATE Threads::Threads ZLIB::ZLIB zstd::libzstd naysay_flags)
set_target_properties(naysay_shared PROPERTIES OUTPUT_NAME naysay LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                      SOVERSION ${naysay_soversion})
if(COMMAND naysay_version_symbols)
  naysay_version_symbols(naysay_shared)
endif()
install(TARGETS naysay_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "The naysay authors <naysay@example.org>")
set(CPACK_PACKAGE_VENDOR naysay)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})
# Before 1.0 any minor version may change the binary interface (docs/versions.md).
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/packages/finish.cmake)
set(CPACK_NAYSAY_SOURCE ${CMAKE_CURRENT_SOURCE_DIR})

# naysay_package(COMPONENT NAME SECTION DESCRIPTION): one of the packages above.
macro(naysay_package component name section description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  set(CPACK_NAYSAY_PACKAGE_${component} ${name})
endmacro()

set(what "naysay builds membership filters that take known negatives with their
costs and refuse them, in the space of an ordinary filter, without ever
denying a key that is in the set.")

naysay_package(runtime libnaysay0 libs "${what}

This package has the shared library.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/cmake/packages/triggers)
naysay_package(dev libnaysay-dev libdevel "${what}

This package has the headers for C and C++, the static library, and files
for CMake and pkg-config.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libnaysay0 (= ${PROJECT_VERSION}), zlib1g-dev, libzstd-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libleveldb-dev, librocksdb-dev, libssl-dev")
if(NAYSAY_TOOL)
  naysay_package(tool naysay utils "${what}

This package has the command naysay: it builds, queries, updates, inspects
and compares filters.")
endif()
if(TARGET naysay_python)
  naysay_package(python python3-naysay python "${what}

This package has the module naysay for Python 3.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS python3)
  # What Python compiles beside the module is removed with it.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
      "${CMAKE_CURRENT_SOURCE_DIR}/cmake/packages/postinst;${CMAKE_CURRENT_SOURCE_DIR}/cmake/packages/prerm")
endif()
if(TARGET naysay_redis_module)
  naysay_package(redis naysay-redis database "${what}

This package has a module for Redis and Valkey. Load it with:
redis-server --loadmodule /usr/lib/redis/modules/naysay-redis.so")
  set(CPACK_DEBIAN_REDIS_PACKAGE_SUGGESTS "redis-server | valkey-server")
endif()
include(CPack)
