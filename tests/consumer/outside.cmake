# Configures, builds and runs an outside project: -DDIRECTORY= its sources, -DBUILD= (emptied first), -DPREFIX= the
# installed weft, -DPROGRAM= its program, -DCOMPILER=, -DGENERATOR=, and -DOPTION= one more flag.
file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${DIRECTORY} -B ${BUILD} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_PREFIX_PATH=${PREFIX} ${OPTION} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD}/${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
