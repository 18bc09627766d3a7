# What `make install` puts where.
include(CMakePackageConfigHelpers)

install(TARGETS stoker EXPORT stokerTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What debuggers read goes into a file beside the library, which names it: they find it by themselves.
if(CMAKE_OBJCOPY)
    install(CODE "
        set(library \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:stoker>\")
        message(STATUS \"Stripping: \${library}\")
        foreach(options IN ITEMS \"--only-keep-debug;\${library};\${library}.debug\"
            \"--strip-unneeded;--add-gnu-debuglink=\${library}.debug;\${library}\")
            execute_process(COMMAND \"${CMAKE_OBJCOPY}\" \${options} COMMAND_ERROR_IS_FATAL ANY)
        endforeach()")
endif()
install(TARGETS stoker_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/stoker DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# Relative, so that the installed tree can be moved.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/stoker.pc.in stoker.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stoker.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stoker)
install(EXPORT stokerTargets NAMESPACE stoker:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stokerConfig.cmake.in stokerConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(stokerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stokerConfig.cmake ${PROJECT_BINARY_DIR}/stokerConfigVersion.cmake
    DESTINATION ${package_dir})

install(FILES docs/stoker.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/completion/stoker.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stoker)
install(FILES tools/completion/_stoker DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES tools/completion/stoker.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
