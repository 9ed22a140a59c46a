# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
install(TARGETS naysay EXPORT naysay-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/naysay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT naysay-targets NAMESPACE naysay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/naysay)
if(TARGET naysay_updates)
  install(TARGETS naysay_updates EXPORT naysay-updates-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT naysay-updates-targets NAMESPACE naysay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/naysay)
endif()
configure_package_config_file(cmake/naysay-config.cmake.in naysay-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/naysay)
write_basic_package_version_file(naysay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/naysay-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/naysay-config-version.cmake
              cmake/Findzstd.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/naysay)
# relative to the .pc file, so that the tree can be installed and moved anywhere
file(RELATIVE_PATH NAYSAY_PREFIX_FROM_PC /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
# What a static library leaves to its users to link; a shared one brings it itself.
if(BUILD_SHARED_LIBS)
  set(NAYSAY_PC_REQUIRES Requires.private)
  set(NAYSAY_PC_CXX "")
else()
  set(NAYSAY_PC_REQUIRES Requires)
  set(NAYSAY_PC_CXX " -lstdc++ -lm")  # which a C compiler does not add
endif()
configure_file(cmake/naysay.pc.in naysay.pc @ONLY)
configure_file(cmake/naysay-c.pc.in naysay-c.pc @ONLY)  # without the options for C++
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/naysay.pc ${CMAKE_CURRENT_BINARY_DIR}/naysay-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
