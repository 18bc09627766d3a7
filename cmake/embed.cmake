# embed.cmake: a file as a C string: cmake -DFROM=report.html -DTO=report_html.c -DNAME=stk__report_html -P embed.cmake
file(READ ${FROM} bytes HEX)
string(LENGTH "${bytes}" n_digits)
math(EXPR n "${n_digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "/* Made from ${NAME}. */\nextern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0\n};\n")
