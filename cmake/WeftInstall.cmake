# What `cmake --install` installs: each room's library and headers, and the files for find_package(weft) and pkg-config.
# The installed tree may be moved: no file contains the installation prefix.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(WEFT_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

# One export set per room, so that an application that uses some rooms needs only their dependencies.
function(weft_install_targets room)
  install(TARGETS ${ARGN} EXPORT weft-${room}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

function(weft_install_room room)
  weft_install_targets(${room} weft_${room})
  set_property(GLOBAL APPEND PROPERTY WEFT_INCLUDES ${CMAKE_CURRENT_SOURCE_DIR}/include)
  install(EXPORT weft-${room} NAMESPACE weft:: DESTINATION ${WEFT_CONFIG_DIR})
endfunction()

# Call once, after all rooms are defined.
function(weft_install_package)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR (${CMAKE_INSTALL_LIBDIR}) and CMAKE_INSTALL_INCLUDEDIR "
                        "(${CMAKE_INSTALL_INCLUDEDIR}) must be relative to the prefix, which `cmake --install --prefix` may "
                        "change: give CMAKE_INSTALL_PREFIX and, for example, -DCMAKE_INSTALL_LIBDIR=lib64")
  endif()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
    INSTALL_DESTINATION ${WEFT_CONFIG_DIR} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  file(RELATIVE_PATH WEFT_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" WEFT_PREFIX "${WEFT_PREFIX}")
  set(WEFT_PC_LIBS "-L\${libdir} -lweft_http -lweft_framework -lweft_transports -lweft_http_protocol -lweft_pipeline -lweft_scheduler")
  if(BUILD_SHARED_LIBS)
    set(WEFT_PC_PRIVATE .private)
  else()  # list the libraries that a static build needs, so that pkg-config works without --static
    set(WEFT_PC_PRIVATE "")
    string(APPEND WEFT_PC_LIBS " -lboost_context -pthread")
  endif()
  set(WEFT_PC_CFLAGS "")
  if(WEFT_LEAK_DETECTION)
    set(WEFT_PC_CFLAGS " -DWEFT_LEAK_DETECTION=1")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
    DESTINATION ${WEFT_CONFIG_DIR})
  install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  foreach(room IN ITEMS asio tls)
    if(TARGET weft::${room})
      configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-${room}.pc.in ${PROJECT_BINARY_DIR}/weft-${room}.pc @ONLY)
      install(FILES ${PROJECT_BINARY_DIR}/weft-${room}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endif()
  endforeach()
  get_property(includes GLOBAL PROPERTY WEFT_INCLUDES)
  install(CODE "set(WEFT_INCLUDES \"${includes}\")
set(WEFT_DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")")
  install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake)
  # The conformance kit for pollers (docs/guide/pollers.md): headers for test programs; they need GoogleTest.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/kit/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.hpp)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/weft)
endfunction()
