# stoker_room(TARGET): every source below this folder is part of the target, so that a new file needs no line in a
# list. What is for some processors or libraries only (x86/, *_onednn.c, onednn_*.c) is left to who adds it.
function(stoker_room target)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    list(FILTER sources EXCLUDE REGEX "/x86/|_onednn\\.c$|/onednn_[a-z]+\\.c$")
    target_sources(${target} PRIVATE ${sources})
endfunction()

# stoker_x86(TARGET FOLDER): the sources for levels of x86-64, one level a file, each with its own flags.
function(stoker_x86 target folder)
    set(avx2 -mavx2 -mfma -mbmi -mbmi2 -mf16c)
    set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi)
    foreach(level avx2 avx512)
        file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_${level}.c)
        # Properties of a file are seen by the directory of the target that compiles it.
        set_source_files_properties(${sources} TARGET_DIRECTORY ${target}
            PROPERTIES COMPILE_OPTIONS "${${level}}")
        target_sources(${target} PRIVATE ${sources})
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.S)
    target_sources(${target} PRIVATE ${sources})
endfunction()

# stoker_declared(TARGET FOLDER HEADER TYPE NAMESPACE WHAT): what files of a folder declare becomes a namespace, so that a
# declaration needs no line in a list (declared.cmake).
function(stoker_declared target folder header type namespace what)
    set(script ${PROJECT_SOURCE_DIR}/cmake/declared.cmake)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${namespace}.c)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    add_custom_command(OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} -DTOP=${PROJECT_SOURCE_DIR} -DFOLDER=${folder} -DHEADER=${header}
            -DTYPE=${type} -DNAMESPACE=${namespace} -DWHAT=${what} -DTO=${made} -P ${script}
        DEPENDS ${files} ${script} VERBATIM)
    target_sources(${target} PRIVATE ${made})
endfunction()
