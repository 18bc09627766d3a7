/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.c: NumPy's array header: magic, version, length, and a Python dictionary as text:
 *
 *     \x93NUMPY 01 00 76 00 {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }    \n
 */
#include "codec/array/npy_header.h"

#include <inttypes.h>
#include <string.h>

/* Text still to be read. */
struct reader {
    const char *at, *end;
    struct stk_error *err;
};

int stk__npy_header_bytes(const uint8_t *prefix, size_t n, size_t *out, struct stk_error *err)
{
    if (n < 10 || memcmp(prefix, "\x93NUMPY", 6) != 0)
        return stk_fail(err, STK_DATA, "this is no npy file: it does not begin with \\x93NUMPY");
    int major = prefix[6];
    if (major < 1 || major > 3)
        return stk_fail(err, STK_DATA, "npy version %d.%d is unknown (1 to 3 are)", major,
                        prefix[7]);
    if (major > 1 && n < STK__NPY_PREFIX)
        return stk_fail(err, STK_DATA, "the file ends within the header");
    uint64_t len = prefix[8] | (uint64_t)prefix[9] << 8;
    if (major > 1)
        len |= (uint64_t)prefix[10] << 16 | (uint64_t)prefix[11] << 24;
    if (len > STK__NPY_MAX_HEADER)
        return stk_fail(err, STK_DATA, "the header claims %" PRIu64 " bytes; %d are allowed", len,
                        STK__NPY_MAX_HEADER);
    *out = (size_t)len + (major > 1 ? 12 : 10);
    return STK_OK;
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
        r->at++;
}

static bool take(struct reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int want(struct reader *r, char c)
{
    if (take(r, c))
        return STK_OK;
    return stk_fail(r->err, STK_DATA, "the npy header has no '%c' where one belongs", c);
}

/* A quoted text without escapes. */
static int read_text(struct reader *r, const char **text, size_t *len)
{
    skip_space(r);
    char quote = r->at < r->end ? *r->at : 0;
    if (quote != '\'' && quote != '"')
        return stk_fail(r->err, STK_DATA, "the npy header has no text where one belongs");
    const char *stop = memchr(r->at + 1, quote, (size_t)(r->end - r->at - 1));
    if (!stop)
        return stk_fail(r->err, STK_DATA, "a text of the npy header has no end");
    *text = r->at + 1;
    *len = (size_t)(stop - *text);
    r->at = stop + 1;
    return STK_OK;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    skip_space(r);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static int read_bool(struct reader *r, bool *out)
{
    *out = take_word(r, "True");
    if (*out || take_word(r, "False"))
        return STK_OK;
    return stk_fail(r->err, STK_DATA, "fortran_order of the npy header is neither True nor False");
}

static int read_dimension(struct reader *r, int64_t *out)
{
    int64_t value = 0;
    skip_space(r);
    const char *first = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *r->at++ - '0', &value))
            return stk_fail(r->err, STK_DATA, "a dimension of the npy header is too large");
    if (r->at == first)
        return stk_fail(r->err, STK_DATA, "the shape of the npy header is no list of numbers");
    if (r->at < r->end && *r->at == 'L') /* as Python 2 wrote it */
        r->at++;
    *out = value;
    return STK_OK;
}

static int read_shape(struct reader *r, struct stk__npy *out)
{
    int code = want(r, '(');
    out->rank = 0;
    while (!code && !take(r, ')')) {
        if (out->rank == STK__NPY_MAX_RANK)
            return stk_fail(r->err, STK_DATA, "the array has more than %d dimensions",
                            STK__NPY_MAX_RANK);
        code = read_dimension(r, &out->shape[out->rank++]);
        if (!code && !take(r, ','))
            return want(r, ')');
    }
    return code;
}

static int number_type(char kind, uint64_t bytes)
{
    static const struct {
        char kind;
        uint8_t bytes, dtype;
    } known[] = {
        { 'b', 1, STK_BOOL }, { 'u', 1, STK_U8 },  { 'i', 1, STK_I8 },  { 'u', 2, STK_U16 },
        { 'i', 2, STK_I16 },  { 'u', 4, STK_U32 }, { 'i', 4, STK_I32 }, { 'u', 8, STK_U64 },
        { 'i', 8, STK_I64 },  { 'f', 2, STK_F16 }, { 'f', 4, STK_F32 }, { 'f', 8, STK_F64 },
        { 'M', 8, STK_I64 },  { 'm', 8, STK_I64 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == kind && known[i].bytes == bytes)
            return known[i].dtype;
    return -1;
}

static int unknown_type(struct reader *r, const char *text, size_t len)
{
    const char *hint = len > 1 && text[1] == 'O'
                           ? "; it holds Python objects, which only pickle can read"
                       : len > 1 && text[1] == 'c' ? "; save real and imaginary part apart"
                                                   : "";
    return stk_fail(r->err, STK_TYPE, "values of type '%.*s' cannot be read%s",
                    (int)(len < 40 ? len : 40), text, hint);
}

/* "<f4", "|S10", ">U3", "<M8[ns]". */
static int read_type(struct reader *r, struct stk__raw *out)
{
    const char *text;
    size_t len;
    skip_space(r);
    if (r->at < r->end && (*r->at == '[' || *r->at == '('))
        return stk_fail(r->err, STK_TYPE,
                        "it holds a structured array; save its fields as arrays of their own");
    int code = read_text(r, &text, &len);
    if (code)
        return code;
    uint64_t number = 0;
    size_t i = 2;
    while (i < len && text[i] >= '0' && text[i] <= '9' && number < 1 << 24)
        number = number * 10 + (uint64_t)(text[i++] - '0');
    bool has_unit = len > 2 && (text[1] == 'M' || text[1] == 'm');
    if (i < 3 || !strchr("<>|=", text[0]) || (i < len && !has_unit) || number >= 1 << 24)
        return unknown_type(r, text, len);
    *out = (struct stk__raw){ .item_bytes = (uint32_t)number,
                              .is_swapped = text[0] == (stk__raw_is_big_endian() ? '<' : '>') };
    if (text[1] == 'S' || text[1] == 'U') {
        out->kind = text[1] == 'S' ? STK__RAW_ZEROED : STK__RAW_UNICODE;
        out->item_bytes *= text[1] == 'U' ? 4 : 1;
        return STK_OK;
    }
    int dtype = number_type(text[1], number);
    out->dtype = (uint8_t)dtype;
    return dtype < 0 ? unknown_type(r, text, len) : STK_OK;
}

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4 };

static int read_entry(struct reader *r, struct stk__npy *out, int *has)
{
    const char *key;
    size_t len;
    int code = read_text(r, &key, &len), what = 0;
    if (!code)
        code = want(r, ':');
    if (code)
        return code;
    if (len == 5 && !memcmp(key, "descr", 5)) {
        what = HAS_TYPE;
        code = read_type(r, &out->raw);
    } else if (len == 13 && !memcmp(key, "fortran_order", 13)) {
        what = HAS_ORDER;
        code = read_bool(r, &out->is_fortran);
    } else if (len == 5 && !memcmp(key, "shape", 5)) {
        what = HAS_SHAPE;
        code = read_shape(r, out);
    }
    if (!code && (!what || *has & what))
        return stk_fail(r->err, STK_DATA, "the npy header has a key '%.*s' %s",
                        (int)(len < 40 ? len : 40), key, what ? "twice" : "that is unknown");
    *has |= what;
    return code;
}

static int measure(struct stk__npy *out, struct stk_error *err)
{
    bool is_too_large = false;
    out->n_values = 1;
    for (int i = 0; i < out->rank; i++)
        is_too_large |=
            __builtin_mul_overflow(out->n_values, (uint64_t)out->shape[i], &out->n_values);
    is_too_large |=
        __builtin_mul_overflow(out->n_values, (uint64_t)out->raw.item_bytes, &out->bytes);
    if (is_too_large || out->bytes > INT64_MAX || out->n_values > INT64_MAX)
        return stk_fail(err, STK_DATA, "the shape of the npy header is too large for any file");
    out->is_fortran = out->is_fortran && out->rank > 1;
    return STK_OK;
}

int stk__npy_parse(const uint8_t *header, size_t n, struct stk__npy *out, struct stk_error *err)
{
    size_t expected;
    int has = 0, code = stk__npy_header_bytes(header, n, &expected, err);
    if (code)
        return code;
    if (n < expected)
        return stk_fail(err, STK_DATA, "the file ends within the header");
    *out = (struct stk__npy){ 0 };
    struct reader r = { (const char *)header + (header[6] > 1 ? 12 : 10),
                        (const char *)header + expected, err };
    code = want(&r, '{');
    while (!code && !take(&r, '}')) {
        code = read_entry(&r, out, &has);
        if (!code && !take(&r, ',')) {
            code = want(&r, '}');
            break;
        }
    }
    if (!code && has != (HAS_TYPE | HAS_ORDER | HAS_SHAPE))
        code = stk_fail(err, STK_DATA, "the npy header lacks descr, fortran_order or shape");
    return code ? code : measure(out, err);
}
