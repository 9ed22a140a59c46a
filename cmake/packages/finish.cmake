# SPDX-License-Identifier: Apache-2.0
# Run by cpack before it packs the files of a component: compresses manual pages, and adds what every Debian package has,
# its copyright and its changelog.
file(GLOB components LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(folder ${components})
  get_filename_component(component ${folder} NAME)
  set(package ${CPACK_NAYSAY_PACKAGE_${component}})
  if(NOT package)
    continue()
  endif()
  file(GLOB_RECURSE pages ${folder}/usr/share/man/*.[1-9])
  foreach(page ${pages})
    execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  set(doc ${folder}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  file(COPY_FILE ${CPACK_NAYSAY_SOURCE}/cmake/packages/copyright ${doc}/copyright)
  # The date is that of the commit: the same sources make the same packages.
  execute_process(COMMAND git -C ${CPACK_NAYSAY_SOURCE} log -1 --format=%aD OUTPUT_VARIABLE date ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT date)
    set(date "Thu, 01 Jan 1970 00:00:00 +0000")
  endif()
  file(WRITE ${doc}/changelog "naysay (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
       "  * See CHANGELOG.md of the sources.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND gzip -9nf ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  # As dpkg wants them, whatever the umask of who builds.
  execute_process(COMMAND chmod -R u=rwX,go=rX ${folder} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
