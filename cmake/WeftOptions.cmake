# Build switches, and the compile flags that every target of the project shares.
option(WEFT_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_TLS "Build weft::tls, which needs OpenSSL 3" ON)
option(WEFT_INSTALL "Install the libraries, their headers and what finds them" ${PROJECT_IS_TOP_LEVEL})
option(WEFT_PERF "Build the benchmarks" OFF)
option(WEFT_WERROR "Treat warnings as errors" OFF)
option(WEFT_FUZZ "Build the libFuzzer programs (clang; preset fuzz)" OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")
set(WEFT_LEAK_DETECTION AUTO CACHE STRING "Name handlers that drop messages: ON, OFF, or AUTO for in Debug builds only")

set(CMAKE_CXX_STANDARD 20 CACHE STRING "The version of C++: 20 or 23")
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

if(NOT WEFT_LEAK_DETECTION MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WEFT_LEAK_DETECTION is '${WEFT_LEAK_DETECTION}': expected AUTO, ON or OFF. How much is watched is "
                      "said when the program runs, by the environment variable of that name: off, simple, paranoid")
elseif(WEFT_LEAK_DETECTION STREQUAL "AUTO")
  set(WEFT_LEAK_DETECTION OFF)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(WEFT_LEAK_DETECTION ON)
  endif()
endif()

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache caches sources with a precompiled header only under these settings.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
endif()

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual
  $<IF:$<CXX_COMPILER_ID:Clang>,-Wshadow,-Wshadow=local>
  # A frame pointer in every function costs a tenth of a request's instructions. Profilers unwind releases by DWARF.
  $<$<NOT:$<CONFIG:Release>>:-fno-omit-frame-pointer> -fstack-clash-protection
  # Calls into the C library (a request makes a dozen) go directly through the global offset table.
  $<$<CONFIG:Release>:-fno-plt>
  # g++ 12 at -O3 warns wrongly of overlaps and overflows in inlined code of the standard library (GCC bugs 105651,
  # 105329) and of uninitialised reads from an empty optional. With sanitizers it also warns wrongly, as its manual
  # states.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized>
  $<$<BOOL:${WEFT_WERROR}>:-Werror>)
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=undefined)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
