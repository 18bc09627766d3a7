# The Python package around an extension and a command that are built already (tools/python.sh), so that nothing is
# compiled twice. The targets have the names that pyproject.toml asks for.
foreach(pair stoker_python:_core.abi3.so stoker_python_command:_bin/stoker)
    string(REGEX MATCH "^([^:]+):(.+)$" pair ${pair})
    set(target ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    cmake_path(GET file PARENT_PATH folder)
    add_custom_target(${target}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/stoker/${folder}
        COMMAND ${CMAKE_STRIP} -o ${PROJECT_BINARY_DIR}/stoker/${file} ${STOKER_BUILT}/python/stoker/${file} VERBATIM)
endforeach()
install(PROGRAMS ${PROJECT_BINARY_DIR}/stoker/_core.abi3.so DESTINATION stoker COMPONENT python)
install(PROGRAMS ${PROJECT_BINARY_DIR}/stoker/_bin/stoker DESTINATION stoker/_bin COMPONENT python)
