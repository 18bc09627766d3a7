# declared.cmake: a namespace of everything that files of a folder declare, as C, sorted by name:
# cmake -DTOP=… -DFOLDER=train/layers -DHEADER=train/model/layer.h -DTYPE=stk__layer -DNAMESPACE=stk__layers -DWHAT=model -DTO=… -P declared.cmake
#
# A declaration is a line `const struct stk__layer stk__layer_conv2d = …`: of that type, with its name behind the type's.
# It begins with a struct stk_decl of that name.
file(GLOB_RECURSE files ${TOP}/${FOLDER}/*.c)
set(names "")
foreach(file ${files})
    file(STRINGS ${file} lines REGEX "^const struct ${TYPE} ${TYPE}_[a-z0-9_]+ =")
    foreach(line ${lines})
        string(REGEX REPLACE "^const struct ${TYPE} ${TYPE}_([a-z0-9_]+) =.*" "\\1" name "${line}")
        list(APPEND names ${name})
    endforeach()
endforeach()
if(NOT names)
    message(FATAL_ERROR "${FOLDER} declares no struct ${TYPE}")
endif()
list(SORT names COMPARE STRING)
set(externs "")
set(rows "")
foreach(name ${names})
    string(APPEND externs "extern const struct ${TYPE} ${TYPE}_${name};\n")
    string(APPEND rows "    &${TYPE}_${name}.decl,\n")
endforeach()
file(WRITE ${TO} "/* Made from the declarations in ${FOLDER}. */
#include \"${HEADER}\"

${externs}
static const struct stk_decl *const decls[] = {
${rows}};
const struct stk__namespace ${NAMESPACE} = { \"${WHAT}\", decls, sizeof decls / sizeof *decls };
")
