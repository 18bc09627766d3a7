/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c: keeps elements for the next time. The executor carries it out. */
#include "op/cache/cache.h"

#include "op/order/order.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cache {
    const char *directory, *key;
    int compression;
};

static const char *const compressions[] = { "none", "zstd", NULL };

static const struct stk_param params[] = {
    STK_TEXT_ROW(cache, directory, NULL, STK_TAKES_NONE | STK_TAKES_AUTO,
                 "where elements are kept on disk; none: in memory; auto: in memory, at the place "
                 "in the chain where that saves most time, which is measured"),
    STK_CHOICE_ROW(cache, compression, compressions, 0, 0,
                   "of elements on disk: none, or zstd, which takes less space and more time"),
    STK_TEXT_ROW(cache, key, NULL, STK_TAKES_NONE,
                 "on disk: stands for what has no text, such as functions: give another one when "
                 "they change"),
    STK_ROWS_END,
};

/* One way of running. A child of a fork has its own: locks of the parent's may be held for ever. */
struct variant {
    struct stk__cache_way way;
    pid_t pid;
    struct stk__kept *kept;
    struct variant *next;
};

struct stk__cache {
    pthread_mutex_t lock; /* guards all that follows */
    struct variant *variant;
    bool has_files, has_choice;
    uint64_t files;
    struct stk__cache_choice choice;
};

static int open_cache(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct cache *p = given;
    (void)arena;
    if (p->directory && !*p->directory)
        return stk_fail(err, STK_VALUE, "directory is empty; none keeps elements in memory");
    struct stk__cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return stk_fail(err, STK_MEMORY, "out of memory");
    pthread_mutex_init(&cache->lock, NULL);
    *state = cache;
    return STK_OK;
}

static void close_cache(void *state)
{
    struct stk__cache *cache = state;
    for (struct variant *v = cache->variant, *next; v; v = next) {
        next = v->next;
        stk__kept_free(v->kept);
        free(v);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static bool is_same(const struct variant *v, const struct stk__cache_way *way)
{
    return v->way.seed == way->seed && v->way.rank == way->rank && v->way.world == way->world &&
           v->way.parts == way->parts && v->way.made_by == way->made_by &&
           v->way.origin == way->origin && v->pid == getpid();
}

static struct variant *add_variant(struct stk__cache *cache, const struct stk__cache_way *way,
                                   const struct stk__kept_home *home)
{
    struct variant *v = calloc(1, sizeof *v);
    if (!v || !(v->kept = stk__kept_new(way->type, way->parts, way->is_sparse, home))) {
        free(v);
        return NULL;
    }
    v->way = *way;
    v->way.type = NULL;
    v->pid = getpid();
    v->next = cache->variant;
    cache->variant = v;
    return v;
}

struct stk__kept *stk__cache_kept(struct stk__cache *cache, const struct stk__cache_way *way,
                                  const struct stk__kept_home *home)
{
    pthread_mutex_lock(&cache->lock);
    struct variant *v = cache->variant;
    while (v && !is_same(v, way))
        v = v->next;
    if (!v)
        v = add_variant(cache, way, home);
    pthread_mutex_unlock(&cache->lock);
    return v ? v->kept : NULL;
}

bool stk__cache_files(struct stk__cache *cache, uint64_t *sum)
{
    pthread_mutex_lock(&cache->lock);
    bool has_files = cache->has_files;
    *sum = cache->files;
    pthread_mutex_unlock(&cache->lock);
    return has_files;
}

void stk__cache_set_files(struct stk__cache *cache, uint64_t sum)
{
    pthread_mutex_lock(&cache->lock);
    cache->has_files = true;
    cache->files = sum;
    pthread_mutex_unlock(&cache->lock);
}

void stk__cache_choose(struct stk__cache *cache, const struct stk__cache_choice *choice)
{
    pthread_mutex_lock(&cache->lock);
    if (!cache->has_choice)
        cache->choice = *choice;
    cache->has_choice = true;
    pthread_mutex_unlock(&cache->lock);
}

bool stk__cache_choice(struct stk__cache *cache, struct stk__cache_choice *out)
{
    pthread_mutex_lock(&cache->lock);
    bool has_choice = cache->has_choice;
    *out = cache->choice;
    pthread_mutex_unlock(&cache->lock);
    return has_choice;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    inf->count = inf->in_count[0];
    return STK_OK;
}

const struct stk__op stk__op_cache = {
    .subject = STK__ABOUT_RUNNING,
    .decl = { "cache", 1, "Keep elements for the next time they are wanted.",
              "Elements that have come this far are kept, and what comes before is not "
              "run for them again: not in the next epoch, nor by another iterator of the same "
              "dataset. It keeps what fits into the budget (the option memory) beside everything "
              "else, and throws nothing out: where half fits, half is served. It can be used while "
              "it fills, and what it has stays when a loop is left early.\n"
              "\n"
              "A cache changes how fast a chain is, never what it delivers. Everything before it "
              "sees the first epoch in all of them, whether elements are kept or made again: a "
              "shuffle there gives one order, a random op draws once. What comes behind differs "
              "from epoch to epoch as ever, so put a cache behind what is slow and before what is "
              "random. An element that cannot be made is kept as such.\n"
              "\n"
              "With a directory elements are kept there, for the next process too, as far as the "
              "disk has room. What is there is never taken for something else: another chain, "
              "other files or another seed have another place in the directory.\n"
              "\n"
              "    image_folder('train').decode().resize(224, "
              "224).cache().shuffle().flip(probability=0.5).batch"
              "(32)\n"
              "    range(10).map('x = x * x').cache().repeat(3)",
              params, sizeof(struct cache) },
    .flags = STK__OP_CACHE,
    .open = open_cache,
    .close = close_cache,
    .infer = infer,
};
