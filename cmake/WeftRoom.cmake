# Parsing these headers takes two thirds of the unoptimised compile time of a room's file. Optimised builds either do
# not precompile them (preset perf, so that CI finds a file that lacks an include) or are unity builds.
function(weft_precompile_room name)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" OR WEFT_SANITIZE OR CMAKE_UNITY_BUILD)
    return()
  endif()
  set(headers <algorithm> <atomic> <chrono> <deque> <functional> <memory> <mutex> <optional> <string> <string_view>
    <thread> <unordered_map> <variant> <vector>)
  if(NOT name STREQUAL "scheduler")
    list(APPEND headers <weft/pipeline/channel.hpp>)
  endif()
  target_precompile_headers(weft_${name} PRIVATE ${headers})
endfunction()

# weft_room(NAME [LINKS target...]): defines a room, one library `weft::NAME`. Its public headers are in include/weft/, its
# sources and private headers in src/, which no other target can include.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp)
  add_library(weft_${name} ${sources})  # static or shared by BUILD_SHARED_LIBS
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                                                SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                INSTALL_RPATH $ORIGIN)  # shared rooms find each other in one directory
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                          PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(weft_${name} PUBLIC ${ROOM_LINKS} PRIVATE $<BUILD_INTERFACE:weft_flags> ${ROOM_PRIVATE_LINKS})
  weft_precompile_room(${name})
  if(WEFT_INSTALL)
    weft_install_room(${name})
  endif()
endfunction()
