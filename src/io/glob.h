/* SPDX-License-Identifier: Apache-2.0 */
/* glob.h: file names from patterns.
 *
 *     *         any run of characters within a name
 *     ?         one character (a UTF-8 sequence)
 *     [a-z]     one character of a set; [!a-z] one that is not of it
 *     {a,b}     alternatives; may nest and hold '/'
 *     **        any number of directories (a part of its own)
 *     \x        the character x itself
 *
 * Names that begin with a dot are matched only by a part that begins with one. Directories never
 * match as a result; links are followed. A pattern that is the exact name of something that exists
 * means just that.
 */
#pragma once
#include "io/paths.h"

/* True if the text has none of the characters that make it a pattern. */
bool stk__glob_is_plain(const char *pattern);

/* Appends the files a pattern stands for, in no order and perhaps repeatedly (stk__paths_sort).
 * A plain path is appended whether it exists or not, unless it is a directory. Fails when
 * nothing matches, or when a directory on the way cannot be read. */
int stk__glob(const char *pattern, struct stk__paths *out, struct stk_error *err);

/* Appends the files of arguments, each a name, a pattern or "-", in order; a pattern's are sorted. */
int stk__glob_all(const struct stk_texts *patterns, struct stk__paths *out, struct stk_error *err);

/* One part of a pattern (no '/', braces already gone) against one name. */
bool stk__glob_match(const char *pattern, const char *name);

/* Appends every reading of a pattern's braces. Fails when they are not balanced or stand for too
 * many. */
int stk__glob_braces(const char *pattern, struct stk__paths *out, struct stk_error *err);
