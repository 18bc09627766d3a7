/* SPDX-License-Identifier: Apache-2.0 */
/* json_print.c: see json_print.h. */
#include "json_print.h"

#include "complain.h"

struct cli_json_file cli_json_to(FILE *file)
{
    return (struct cli_json_file){ .file = file, .text.is_tight = true };
}

void cli_json_drain(struct cli_json_file *out)
{
    enum { MUCH = 1 << 16 };
    struct stk__text *text = &out->text;
    if (text->len < MUCH)
        return;
    fwrite(text->data, 1, text->len - 1, out->file);
    text->data[0] = text->data[text->len - 1];
    text->data[text->len = 1] = 0;
}

void cli_json_finish(struct cli_json_file *out)
{
    struct stk__text *text = &out->text;
    stk__text_add(text, "\n");
    if (text->failed)
        cli_output_lose(": out of memory");
    else
        fwrite(text->data, 1, text->len, out->file);
    stk__text_free(text);
}
