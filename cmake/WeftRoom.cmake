# weft_room(NAME [LINKS target...]): a room of the house is one static library `weft::NAME`. Its public headers are in
# include/weft/NAME, its sources (and private headers, which nobody else can include) in src/.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "LINKS;PRIVATE_LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp)
  if(NOT sources)  # not yet furnished
    add_library(weft_${name} INTERFACE)
    add_library(weft::${name} ALIAS weft_${name})
    target_include_directories(weft_${name} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_link_libraries(weft_${name} INTERFACE ${ROOM_LINKS})
    return()
  endif()
  add_library(weft_${name} STATIC ${sources})
  add_library(weft::${name} ALIAS weft_${name})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                          PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(weft_${name} PUBLIC ${ROOM_LINKS} PRIVATE $<BUILD_INTERFACE:weft_flags> ${ROOM_PRIVATE_LINKS})
endfunction()
