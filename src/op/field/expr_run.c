/* SPDX-License-Identifier: Apache-2.0 */
/* expr_run.c: runs a compiled expression over rows.
 *
 * Live rows are taken in runs, each in groups of block_rows; a group goes through the program's
 * loops one after the other, and a loop goes through its values in blocks, all its instructions on
 * one block before the next:
 *
 *     rows of the run   [ group 0 | group 1 | … ]
 *     loop over group   [ block | block | … ]  ×  instructions
 */
#include "op/field/expr_run.h"

#include "base/rows/blob.h"
#include "base/type.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

struct run {
    const struct stk__expr_program *program;
    struct stk_rows *rows;
    struct stk_column *out;
    const struct stk__elementwise_kernels *kernels;
    int row, n;                     /* the group at hand */
    size_t width[STK__EXPR_LIMIT];  /* by domain: values per row */
    uint8_t *base[STK__EXPR_LIMIT]; /* by register: its first value in this group */
    size_t step[STK__EXPR_LIMIT];   /* by register: bytes per value; 0: the same block every time */
    size_t room[STK__EXPR_LIMIT];   /* by register: bytes at base, of FULL ones */
};

static const uint8_t nothing[64]; /* stands for the values of empty rows */

/* ---- elementwise ---- */

static const uint8_t kernel_of[] = {
#define ROW(name) [STK__EXPR_##name] = STK__EW_##name,
    STK__EXPR_ELEMENTWISE(ROW)
#undef ROW
};

static const uint8_t reduce_of[] = {
#define ROW(name) [STK__EXPR_##name - STK__EXPR_SUM] = STK__REDUCE_##name,
    STK__EXPR_REDUCE(ROW)
#undef ROW
};

static uint8_t *value_at(const struct run *run, int16_t reg, size_t at)
{
    return reg < 0 ? NULL : run->base[reg] + at * run->step[reg];
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Fills len bytes with a period of bytes, from `phase` on. */
static void repeat_bytes(uint8_t *dst, const uint8_t *src, size_t period, size_t phase, size_t len)
{
    size_t filled = smaller(period - phase, len);
    memcpy(dst, src + phase, filled);
    if (filled < len) {
        size_t more = smaller(phase, len - filled);
        memcpy(dst + filled, src, more);
        filled += more;
    }
    while (filled < len) {
        size_t more = smaller(filled, len - filled);
        memcpy(dst + filled, dst, more);
        filled += more;
    }
}

/* Values [at, at + n) of a row-wise repetition of register a. */
static void expand(struct run *run, const struct stk__expr_instr *instr, size_t at, size_t n)
{
    size_t width = run->width[instr->domain], bytes = stk_dtype_bytes(instr->dtype);
    size_t period = run->width[run->program->reg[instr->a].domain];
    uint8_t *dst = value_at(run, instr->dst, at);
    while (n) {
        size_t row = at / width, column = at % width, part = smaller(width - column, n);
        repeat_bytes(dst, value_at(run, instr->a, row * period), period * bytes,
                     column % period * bytes, part * bytes);
        dst += part * bytes;
        at += part;
        n -= part;
    }
}

static void fail_row(struct run *run, int row, const char *why)
{
    if (run->rows->mask[row] == STK_LIVE)
        stk_rows_fail(run->rows, row, STK_DATA, "%s", why);
}

static void check_nonzero(struct run *run, const struct stk__expr_instr *instr, size_t at, size_t n)
{
    stk__reduce_fn all = run->kernels->reduce[STK__REDUCE_ALL][instr->dtype];
    uint8_t is_fine;
    all(&is_fine, value_at(run, instr->a, at), n);
    if (is_fine)
        return;
    const uint8_t *value = value_at(run, instr->a, at);
    size_t bytes = stk_dtype_bytes(instr->dtype), width = run->width[instr->domain];
    for (size_t i = 0; i < n; i++) {
        all(&is_fine, value + i * bytes, 1);
        if (!is_fine)
            fail_row(run, run->row + (int)((at + i) / width), "division by zero");
    }
}

static void run_block(struct run *run, const struct stk__expr_instr *instr, size_t at, size_t n)
{
    stk__elementwise_fn kernel;
    if (instr->code == STK__EXPR_EXPAND) {
        expand(run, instr, at, n);
        return;
    }
    if (instr->code == STK__EXPR_NONZERO) {
        check_nonzero(run, instr, at, n);
        return;
    }
    if (instr->code == STK__EXPR_CONVERT)
        kernel = run->kernels->convert[instr->dtype][instr->to];
    else
        kernel = run->kernels->op[kernel_of[instr->code]][instr->dtype];
    kernel(value_at(run, instr->dst, at), value_at(run, instr->a, at), value_at(run, instr->b, at),
           value_at(run, instr->c, at), n);
}

static void run_values(struct run *run, const struct stk__expr_loop *loop)
{
    const struct stk__expr_instr *first = run->program->instr + loop->first;
    size_t block = (size_t)run->program->block_values;
    size_t n = run->width[loop->domain] * (size_t)run->n;
    for (size_t at = 0; at < n; at += block)
        for (int i = 0; i < loop->n; i++)
            run_block(run, first + i, at, smaller(block, n - at));
}

/* ---- by row ---- */

static void reduce_rows(struct run *run, const struct stk__expr_instr *instr)
{
    stk__reduce_fn reduce =
        run->kernels->reduce[reduce_of[instr->code - STK__EXPR_SUM]][instr->dtype];
    bool wants_values = instr->code == STK__EXPR_AMIN || instr->code == STK__EXPR_AMAX;
    size_t width = run->width[run->program->reg[instr->a].domain];
    for (int i = 0; i < run->n; i++) {
        if (wants_values && !width)
            fail_row(run, run->row + i, "an element without values has no least or greatest");
        else
            reduce(value_at(run, instr->dst, (size_t)i), value_at(run, instr->a, (size_t)i * width),
                   width);
    }
}

static void slice_rows(struct run *run, const struct stk__expr_instr *instr)
{
    size_t from = run->width[run->program->reg[instr->a].domain], to = run->width[instr->domain];
    for (size_t i = 0; i < (size_t)run->n; i++)
        memcpy(value_at(run, instr->dst, i * to),
               value_at(run, instr->a, i * from + (size_t)instr->imm * to),
               to * stk_dtype_bytes(instr->dtype));
}

static void measure_rows(struct run *run, const struct stk__expr_instr *instr)
{
    const struct stk_span *span = run->rows->in[instr->a].span + run->row;
    const uint8_t *mask = run->rows->mask + run->row;
    for (int i = 0; i < run->n; i++) {
        int64_t len = 0;
        if (instr->imm != STK__EXPR_OF_BLOB)
            len = (int64_t)span[i].bytes / instr->imm;
        else if (mask[i] == STK_LIVE)
            len = stk__blob_open(span[i].data).n;
        memcpy(value_at(run, instr->dst, (size_t)i), &len, sizeof len);
    }
}

static void compare_rows(struct run *run, const struct stk__expr_instr *instr)
{
    const struct stk_span *left = run->rows->in[instr->a].span + run->row;
    const struct stk_span *right = instr->b < 0 ? NULL : run->rows->in[instr->b].span + run->row;
    for (int i = 0; i < run->n; i++) {
        const void *data = right ? (const void *)right[i].data : instr->text;
        size_t bytes = right ? right[i].bytes : (size_t)instr->imm;
        *value_at(run, instr->dst, (size_t)i) =
            left[i].bytes == bytes && (!bytes || !memcmp(left[i].data, data, bytes));
    }
}

static void run_by_row(struct run *run, const struct stk__expr_instr *instr)
{
    if (instr->code == STK__EXPR_SLICE)
        slice_rows(run, instr);
    else if (instr->code == STK__EXPR_LEN)
        measure_rows(run, instr);
    else if (instr->code == STK__EXPR_SAME)
        compare_rows(run, instr);
    else
        reduce_rows(run, instr);
}

/* ---- where registers are ---- */

static int64_t dim_of(const struct run *run, int domain, int i)
{
    const struct stk__expr_domain *d = &run->program->domain[domain];
    return d->field < 0 ? d->shape[i] : run->rows->in[d->field].dims[run->row * d->rank + i];
}

static void describe(const struct run *run, int domain, char *text, size_t size)
{
    const struct stk__expr_domain *d = &run->program->domain[domain];
    const char *name = d->field < 0 ? "a value" : run->program->type->field[d->field].name;
    size_t used = (size_t)snprintf(text, size, "%.60s is [", name);
    for (int i = 0; i < d->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)dim_of(run, domain, i));
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* False, with the row marked, when shapes that meet differ in this row. */
static bool check_shapes(struct run *run)
{
    for (int k = 0; k < run->program->n_checks; k++) {
        int a = run->program->check[k].a, b = run->program->check[k].b;
        bool is_equal = true;
        for (int i = 0; i < run->program->domain[a].rank; i++)
            is_equal &= dim_of(run, a, i) == dim_of(run, b, i);
        if (is_equal)
            continue;
        char ta[160], tb[160];
        describe(run, a, ta, sizeof ta);
        describe(run, b, tb, sizeof tb);
        stk_rows_fail(run->rows, run->row, STK_DATA, "shapes differ: %s, %s", ta, tb);
        return false;
    }
    return true;
}

static void measure_domains(struct run *run)
{
    for (int i = 0; i < run->program->n_domains; i++) {
        const struct stk__expr_domain *domain = &run->program->domain[i];
        run->width[i] = domain->field < 0 ? (size_t)domain->width : 1;
        for (int k = 0; domain->field >= 0 && k < domain->rank; k++)
            run->width[i] *= (size_t)dim_of(run, i, k);
    }
}

/* A row's values where they lie, or a copy when that is no place for their dtype. */
static uint8_t *span_values(struct run *run, const struct stk_span *span, size_t bytes)
{
    if (!span->bytes || !span->data)
        return (uint8_t *)nothing;
    if ((uintptr_t)span->data % bytes == 0)
        return span->data;
    uint8_t *copy = stk_rows_alloc(run->rows, span->bytes);
    return copy ? memcpy(copy, span->data, span->bytes) : NULL;
}

static uint8_t *output_memory(struct run *run, int index, size_t bytes)
{
    const struct stk__expr_output *output = &run->program->output[index];
    struct stk_column *column = &run->out[output->to];
    if (output->field.kind == STK_FIXED)
        return column->data + (size_t)run->row * column->stride;
    int16_t domain = run->program->reg[output->reg].domain;
    uint8_t *data = stk_rows_alloc(run->rows, bytes + !bytes);
    column->span[run->row] = (struct stk_span){ .data = data, .bytes = data ? bytes : 0 };
    for (int i = 0; i < output->field.rank; i++)
        column->dims[run->row * output->field.rank + i] = (int32_t)dim_of(run, domain, i);
    return data;
}

static uint8_t *scratch_memory(struct run *run, int reg, size_t bytes)
{
    if (run->room[reg] && bytes <= run->room[reg])
        return run->base[reg];
    run->room[reg] = bytes + !bytes;
    return stk_rows_alloc(run->rows, run->room[reg]);
}

/* Points the registers at the group at hand. */
static int bind(struct run *run)
{
    for (int i = 0; i < run->program->n_regs; i++) {
        const struct stk__expr_reg *reg = &run->program->reg[i];
        size_t bytes = run->step[i] * run->width[reg->domain] * (size_t)run->n;
        const struct stk_column *column = &run->rows->in[reg->index];
        if (reg->source == STK__EXPR_OUT)
            run->base[i] = output_memory(run, reg->index, bytes);
        else if (reg->source == STK__EXPR_FULL)
            run->base[i] = scratch_memory(run, i, bytes);
        else if (reg->source == STK__EXPR_COLUMN && run->program->domain[reg->domain].field >= 0)
            run->base[i] = span_values(run, &column->span[run->row], run->step[i]);
        else if (reg->source == STK__EXPR_COLUMN)
            run->base[i] = column->data + (size_t)run->row * column->stride;
        if (!run->base[i])
            return STK_MEMORY;
    }
    return STK_OK;
}

/* What stays where it is for the whole run. */
static int prepare(struct run *run)
{
    const struct stk__expr_program *program = run->program;
    uint8_t *slots = (uint8_t *)nothing;
    if (program->n_slots)
        slots = stk_rows_alloc(run->rows, (size_t)program->n_slots * STK__EXPR_BLOCK_BYTES);
    if (!slots)
        return STK_MEMORY;
    for (int i = 0; i < program->n_regs; i++) {
        const struct stk__expr_reg *reg = &program->reg[i];
        bool stays = reg->source == STK__EXPR_LOCAL || reg->source == STK__EXPR_CONST;
        run->step[i] = stays ? 0 : stk_dtype_bytes(reg->dtype);
        run->room[i] = 0;
        run->base[i] = NULL;
        if (reg->source == STK__EXPR_LOCAL)
            run->base[i] = slots + (size_t)reg->index * STK__EXPR_BLOCK_BYTES;
        if (reg->source == STK__EXPR_CONST)
            run->base[i] = (uint8_t *)reg->block; /* only ever read */
    }
    return STK_OK;
}

/* Whether rows of the fixed columns in use lie one behind the other. */
static bool is_dense(const struct run *run)
{
    for (int i = 0; i < run->program->n_regs; i++) {
        const struct stk__expr_reg *reg = &run->program->reg[i];
        const struct stk__expr_domain *domain = &run->program->domain[reg->domain];
        const struct stk_column *column =
            reg->source == STK__EXPR_COLUMN ? &run->rows->in[reg->index]
            : reg->source == STK__EXPR_OUT  ? &run->out[run->program->output[reg->index].to]
                                            : NULL;
        if (column && domain->field < 0 && column->stride != run->step[i] * (size_t)domain->width)
            return false;
    }
    return true;
}

static int run_group(struct run *run)
{
    const struct stk__expr_program *program = run->program;
    if (program->n_checks && !check_shapes(run))
        return STK_OK;
    measure_domains(run);
    int rc = bind(run);
    for (int i = 0; !rc && i < program->n_loops; i++) {
        const struct stk__expr_loop *loop = &program->loop[i];
        if (loop->is_by_row)
            run_by_row(run, &program->instr[loop->first]);
        else
            run_values(run, loop);
    }
    return rc;
}

/* How many of the first n rows are live before one that is not. */
static int count_live(const uint8_t *mask, int n)
{
    int live = 0;
    uint64_t eight;
    for (; live + 8 <= n; live += 8) {
        memcpy(&eight, mask + live, sizeof eight);
        if (eight) /* STK_LIVE is 0 */
            break;
    }
    while (live < n && mask[live] == STK_LIVE)
        live++;
    return live;
}

int stk__expr_run(const struct stk__expr_program *program, struct stk_rows *rows,
                  struct stk_column *out)
{
    struct run run;
    run.program = program;
    run.rows = rows;
    run.out = out;
    run.kernels = &stk__kernels()->elementwise;
    int rc = prepare(&run);
    int64_t block_rows = is_dense(&run) ? program->block_rows : 1;
    for (int row = 0; row < rows->n && !rc; row += run.n) {
        int64_t left = rows->n - row;
        run.n = count_live(rows->mask + row, (int)(left < block_rows ? left : block_rows));
        run.row = row;
        if (run.n)
            rc = run_group(&run);
        else
            run.n = 1; /* a row to step over */
    }
    return rc;
}

/* ---- for the ops ---- */

int stk__expr_run_state(struct stk_rows *rows)
{
    return stk__expr_run(rows->state, rows, rows->out);
}

static uint32_t field_bit(int field)
{
    return field < 0 ? 0 : UINT32_C(1) << field;
}

void stk__expr_infer_reads(struct stk_infer *inf, const struct stk__expr_program *program)
{
    inf->reads = 0;
    inf->never_fails = !program->n_checks;
    for (int i = 0; i < program->n_regs; i++)
        if (program->reg[i].source == STK__EXPR_COLUMN)
            inf->reads |= field_bit(program->reg[i].index);
    for (int i = 0; i < program->n_domains; i++)
        inf->reads |= field_bit(program->domain[i].field);
    for (int i = 0; i < program->n_instrs; i++) {
        const struct stk__expr_instr *instr = &program->instr[i];
        if (instr->code == STK__EXPR_LEN || instr->code == STK__EXPR_SAME)
            inf->reads |= field_bit(instr->a);
        if (instr->code == STK__EXPR_SAME)
            inf->reads |= field_bit(instr->b);
        inf->never_fails &= instr->code != STK__EXPR_NONZERO && instr->code != STK__EXPR_SLICE &&
                            instr->code != STK__EXPR_AMIN && instr->code != STK__EXPR_AMAX;
    }
}

void stk__expr_infer(struct stk_infer *inf, const struct stk__expr_program *program)
{
    stk_infer_pass(inf);
    for (int i = 0; i < program->n_outputs; i++) {
        int to = program->output[i].to;
        inf->out->field[to] = program->output[i].field;
        inf->from[to] = -1;
        inf->out->n_fields = to >= inf->out->n_fields ? to + 1 : inf->out->n_fields;
    }
    inf->scratch_bytes = program->scratch_bytes;
    stk__expr_infer_reads(inf, program);
    inf->state = (void *)program; /* handed back as const */
}

bool stk__expr_is_numbers(const struct stk_field *field)
{
    return field->kind == STK_FIXED || field->kind == STK_SHAPED;
}

int stk__expr_pick(const struct stk_infer *inf, const char *name, struct stk_error *err)
{
    int found = -1, n_found = 0;
    for (int f = 0; f < inf->in[0]->n_fields; f++) {
        const struct stk_field *field = &inf->in[0]->field[f];
        if (!stk__expr_is_numbers(field) || field->rank == 0)
            continue;
        found = f;
        n_found++;
    }
    if (!name && n_found == 1)
        return found;
    return stk_infer_pick(inf, name, stk__expr_is_numbers, "numbers", err);
}
