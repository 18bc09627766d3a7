/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_head.c: `stoker head`: the first elements or batches, field by field. */
#include "commands.h"
#include "complain.h"
#include "dump.h"
#include "json_print.h"
#include "operand.h"
#include "png_out.h"
#include "value_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_VALUES = 8, FIRST_TEXT = 72, MAX_TYPE = 160 };

/* Of the columns that people see. */
struct widths {
    int name, type;
};

struct head {
    const struct cli_args *args;
    const struct cli_chain *chain;
    struct cli_json_file json; /* with --json */
    int64_t n_elements;        /* shown so far: numbers the PNG files */
};

/* What the numbers of a field look like. Not-a-number is left out of min, max and mean. */
struct range {
    double lo, hi, sum;
    int64_t n, n_nan;
    const char *first[FIRST_VALUES];
    int n_first;
};

static void scan_values(struct range *range, const struct stk_view *view, int dim, const char *p)
{
    if (dim < view->rank) {
        for (int64_t i = 0; i < view->shape[dim]; i++)
            scan_values(range, view, dim + 1, p + i * view->strides[dim]);
        return;
    }
    double value = cli_value_read(view->dtype, p);
    if (range->n_first < FIRST_VALUES)
        range->first[range->n_first++] = p;
    if (isnan(value)) {
        range->n_nan++;
        return;
    }
    range->lo = range->n == 0 || value < range->lo ? value : range->lo;
    range->hi = range->n == 0 || value > range->hi ? value : range->hi;
    range->sum += value;
    range->n++;
}

/* "uint8[224, 224, 3]", "bytes[32]", "ragged int64[57], 32 lists". */
static void type_text(const struct stk_view *view, char *out, size_t size)
{
    const char *dtype = view->kind == STK_BYTES ? "bytes" : stk_dtype_name(view->dtype);
    size_t len =
        (size_t)snprintf(out, size, "%s%s", view->kind == STK_RAGGED ? "ragged " : "", dtype);
    if (view->row_rank) { /* an array of texts, or several */
        if (view->row_splits && len < size)
            len += (size_t)snprintf(out + len, size - len, "[%" PRId64, view->n_row_splits - 1);
        for (int d = 0; d < view->row_rank && len < size; d++)
            len += (size_t)snprintf(out + len, size - len, "%s%" PRId64,
                                    d || view->row_splits ? ", " : "[", view->row_shape[d]);
        snprintf(out + len, len < size ? size - len : 0, "]");
        return;
    }
    for (int d = 0; d < view->rank && len < size; d++)
        len += (size_t)snprintf(out + len, size - len, "%s%" PRId64 "%s", d ? ", " : "[",
                                view->shape[d], d + 1 == view->rank ? "]" : "");
    int64_t n_lists = view->row_splits           ? view->n_row_splits - 1
                      : view->kind == STK_RAGGED ? view->n_splits - 1
                                                 : -1;
    if (n_lists >= 0 && len < size)
        snprintf(out + len, size - len, ", %" PRId64 " list%s", n_lists, n_lists == 1 ? "" : "s");
}

static void print_strings(const struct stk_view *view)
{
    struct stk__text text = { 0 };
    int64_t n = view->n_splits - 1;
    for (int64_t i = 0; i < n && i < FIRST_VALUES; i++) {
        size_t len = (size_t)(view->splits[i + 1] - view->splits[i]);
        size_t limit = n > 1 ? FIRST_TEXT / 3 : FIRST_TEXT;
        stk__json_bytes(&text, NULL, (const char *)view->data + view->splits[i],
                        len < limit ? len : limit);
        if (len > limit)
            stk__text_add(&text, "… (%zu bytes)", len);
    }
    printf("%s%s\n", text.data ? text.data : "", n > FIRST_VALUES ? ", …" : "");
    stk__text_free(&text);
}

/* Integers with the class they name, where the dataset has names. */
static void print_first(const struct head *head, const struct stk_view *view,
                        const struct range *range)
{
    bool is_real = cli_dtype_kind(view->dtype) == 'f';
    char text[CLI_VALUE_TEXT];
    for (int i = 0; i < range->n_first; i++) {
        double value = cli_value_read(view->dtype, range->first[i]);
        bool may_be_class = !is_real && value >= 0 && value < 1e9;
        const char *name = !may_be_class ? NULL
                                         : stk_dataset_class_name(head->chain->dataset, view->name,
                                                                  (int64_t)value);
        fputs(i ? ", " : "", stdout);
        if (is_real)
            printf("%.6g", value);
        else
            fputs(cli_value_text(text, view->dtype, range->first[i]), stdout);
        if (name) {
            fputs(" (", stdout);
            cli_name_print(stdout, name);
            putchar(')');
        }
    }
    fputs(range->n + range->n_nan > range->n_first ? ", …" : "", stdout);
}

static void print_numbers(const struct head *head, const struct stk_view *view,
                          const struct range *range)
{
    if (view->rank > 0 && range->n) {
        double mean = range->sum / (double)range->n;
        printf("min %.6g  max %.6g  mean %.6g", range->lo, range->hi, mean);
        if (range->n_nan)
            printf("  nan %" PRId64, range->n_nan);
        fputs("  ", stdout);
    }
    print_first(head, view, range);
    putchar('\n');
}

static void json_numbers(struct stk__text *out, const struct stk_view *view,
                         const struct range *range)
{
    if (range->n) {
        const double mean = range->sum / (double)range->n;
        cli_value_json(out, "min", STK_F64, &range->lo);
        cli_value_json(out, "max", STK_F64, &range->hi);
        cli_value_json(out, "mean", STK_F64, &mean);
    }
    stk__json_open(out, "first", '[');
    for (int i = 0; i < range->n_first; i++)
        cli_value_json(out, NULL, view->dtype, range->first[i]);
    stk__json_close(out, ']');
}

static void json_field(struct cli_json_file *to, const struct stk_view *view,
                       const struct range *range)
{
    static const char *const kinds[] = { "fixed", "shaped", "bytes", "ragged" };
    struct stk__text *out = &to->text;
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "name", view->name);
    stk__json_string(out, "kind", kinds[view->kind]);
    stk__json_string(out, "dtype", stk_dtype_name(view->dtype));
    stk__json_wholes(out, "shape", view->shape, view->rank);
    if (view->kind == STK_BYTES)
        cli_dump_view(to, "text", view);
    else
        json_numbers(out, view, range);
    stk__json_close(out, '}');
}

static void text_field(const struct head *head, const struct stk_view *view,
                       const struct range *range, struct widths widths)
{
    char type[MAX_TYPE];
    type_text(view, type, sizeof type);
    printf("  %s", cli_style(stdout, CLI_BOLD));
    cli_name_pad(stdout, view->name, widths.name);
    printf("%s  %s%-*s%s  ", cli_style(stdout, CLI_PLAIN), cli_style(stdout, CLI_CYAN), widths.type,
           type, cli_style(stdout, CLI_PLAIN));
    if (view->kind == STK_BYTES)
        print_strings(view);
    else
        print_numbers(head, view, range);
}

static int show_field(struct head *head, const struct stk_view *view, int64_t n_rows,
                      struct widths widths)
{
    struct range range = { 0 };
    if (view->kind != STK_BYTES)
        scan_values(&range, view, 0, view->data);
    if (head->args->json)
        json_field(&head->json, view, &range);
    else
        text_field(head, view, &range, widths);
    if (!head->args->png || !cli_png_is_image(view, n_rows))
        return CLI_OK;
    struct cli_png_rows rows = { head->n_elements, n_rows };
    const char *note = cli_png_write(head->args->png, view, rows, range.lo, range.hi);
    if (note && !head->args->json)
        printf("  %-*s  -> %s/%03" PRId64 "_%s.png%s%s\n", widths.name, "", head->args->png,
               head->n_elements, view->name, n_rows > 1 ? " and following" : "", note);
    return note ? CLI_OK : CLI_FAILED;
}

static void show_origin(const struct stk_batch *batch, int64_t row)
{
    char *origin = stk_batch_origin(batch, row);
    cli_name_print(stdout, origin ? origin : "");
    stk_text_free(origin);
}

static void show_title(const struct stk_batch *batch, int64_t index)
{
    int64_t n_rows = stk_batch_n_rows(batch);
    printf("%s#%" PRId64 "%s  ", cli_style(stdout, CLI_BOLD), index, cli_style(stdout, CLI_PLAIN));
    if (n_rows > 1)
        printf("%" PRId64 " rows: ", n_rows);
    if (n_rows > 0)
        show_origin(batch, 0);
    if (n_rows > 1) {
        fputs(" … ", stdout);
        show_origin(batch, n_rows - 1);
    }
    putchar('\n');
}

/* What comes before the fields of a batch. */
static void begin_batch(struct head *head, const struct stk_batch *batch, int64_t index)
{
    struct stk__text *out = &head->json.text;
    if (!head->args->json) {
        show_title(batch, index);
        return;
    }
    stk__json_open(out, NULL, '{');
    stk__json_whole(out, "rows", stk_batch_n_rows(batch));
    cli_dump_origins(&head->json, batch);
    stk__json_open(out, "fields", '[');
}

static void end_batch(struct head *head)
{
    if (!head->args->json)
        return;
    stk__json_close(&head->json.text, ']');
    stk__json_close(&head->json.text, '}');
    cli_json_drain(&head->json);
}

static void measure(const struct stk_batch *batch, struct widths *widths)
{
    struct stk_view view;
    char type[MAX_TYPE];
    for (int i = 0; i < stk_batch_n_fields(batch); i++) {
        if (stk_batch_view_at(batch, i, &view))
            continue;
        type_text(&view, type, sizeof type);
        int name_len = (int)strlen(view.name), type_len = (int)strlen(type);
        widths->name = name_len > widths->name ? name_len : widths->name;
        widths->type = type_len > widths->type ? type_len : widths->type;
    }
}

static int show_batch(struct head *head, const struct stk_batch *batch, int64_t index)
{
    int64_t n_rows = stk_batch_n_rows(batch);
    int code = CLI_OK;
    struct widths widths = { 0 };
    measure(batch, &widths);
    begin_batch(head, batch, index);
    for (int i = 0; code == CLI_OK && i < stk_batch_n_fields(batch); i++) {
        struct stk_view view;
        if (stk_batch_view_at(batch, i, &view))
            continue;
        code = show_field(head, &view, n_rows, widths);
    }
    end_batch(head);
    head->n_elements += n_rows;
    return code;
}

static int show_all(struct head *head, struct stk_iterator *it)
{
    struct stk_error err = { 0 };
    int code = CLI_OK, status = STK_OK;
    for (int64_t i = 0; i < head->args->n && code == CLI_OK; i++) {
        struct stk_batch *batch = NULL;
        status = stk_iterator_next(it, &batch, &err);
        if (status)
            break;
        code = show_batch(head, batch, i);
        stk_batch_unref(batch);
    }
    if (status == STK_OK || status == STK_END)
        return code;
    return cli_report(&err, head->chain, true);
}

static int make_directory(const char *dir)
{
    if (!dir || mkdir(dir, 0777) == 0 || errno == EEXIST)
        return CLI_OK;
    cli_complain("cannot make the directory %s: %s", dir, strerror(errno));
    return CLI_FAILED;
}

static int show_head(struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_error err = { 0 };
    struct head head = { .args = args, .chain = chain, .json = cli_json_to(stdout) };
    struct stk_iterator *it;
    if (make_directory(args->png))
        return CLI_FAILED;
    if (stk_iterator_new(chain->dataset, args->options, &it, &err))
        return cli_report(&err, chain, false);
    stk__json_open(&head.json.text, NULL, '{');
    stk__json_open(&head.json.text, "elements", '[');
    int code = show_all(&head, it);
    stk__json_close(&head.json.text, ']');
    stk__json_close(&head.json.text, '}');
    if (args->json)
        cli_json_finish(&head.json);
    stk__text_free(&head.json.text);
    stk_iterator_free(it);
    return code;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK)
        code = show_head(args, &chain);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "n", "N", "how many elements or batches (default 3)", CLI_COUNT,
      offsetof(struct cli_args, n) },
    { "png", "DIR", "write fields that are images to DIR/NNN_field.png", CLI_TEXT,
      offsetof(struct cli_args, png) },
    { "json", NULL, "print one JSON object", CLI_FLAG, offsetof(struct cli_args, json) },
    { 0 },
};

const struct cli_command cli_head = {
    .name = "head",
    .operand = "CHAIN",
    .summary = "Show the first elements or batches of a chain, field by field.",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
