/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: a profile as one page that needs nothing else: report.html with the data in it. */
#include "base/json_out.h"
#include "report/profile_run.h"

#include <string.h>

extern const char stk__report_html[]; /* made from report.html */

/* JSON inside a script ends at the first "</", whatever it stands for. */
static void add_inside_script(struct stk__text *out, const char *json)
{
    for (const char *at; (at = strstr(json, "</")); json = at + 2) {
        stk__text_add_n(out, json, (size_t)(at - json));
        stk__text_add(out, "<\\/");
    }
    stk__text_add_n(out, json, strlen(json));
}

static void add_part(struct stk__text *out, const char *name, const char *json)
{
    stk__json_name(out, name);
    add_inside_script(out, json ? json : "null");
}

char *stk_profile_report(const struct stk_profile *p)
{
    static const char mark[] = "@DATA@";
    const char *at = strstr(stk__report_html, mark);
    char *json = stk_profile_json(p);
    struct stk__text out = { 0 };
    if (!json || !at) {
        stk_text_free(json);
        return NULL;
    }
    stk__text_add_n(&out, stk__report_html, (size_t)(at - stk__report_html));
    stk__text_add(&out, "{");
    add_part(&out, "profile", json);
    stk__text_add(&out, ",\n");
    add_part(&out, "metrics", p->metrics);
    stk__text_add(&out, ",\n");
    add_part(&out, "decisions", p->decisions ? p->decisions : "[]");
    stk__text_add(&out, ",\n");
    add_part(&out, "trace", p->trace);
    stk__text_add(&out, "}");
    stk__text_add_n(&out, at + strlen(mark), strlen(at + strlen(mark)));
    stk_text_free(json);
    return stk__text_take(&out);
}

char *stk_profile_trace(const struct stk_profile *p)
{
    struct stk__text out = { 0 };
    if (!p->trace)
        return NULL;
    stk__text_add_n(&out, p->trace, strlen(p->trace));
    return stk__text_take(&out);
}
