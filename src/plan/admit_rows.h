/* The obstacles behind admit(): tables of rows, one file a subject. */
#pragma once

#include "plan/admit.h"
#include "plan/demand.h"

struct question {
        struct arena *arena;
        struct demand demand;
        uint64_t disk_bytes;             /* the limit on disk use; 0: none in particular */
        const struct facts_facts *facts; /* a part that is NULL is not known and is held to be fine */
};

struct obstacle {
        const char *code;
        uint64_t items;  /* ITEM_BIT()s that it breaks, of those that are demanded */
        /* The text of the gap, or NULL: nothing in the way of ITEM. May build it in q->arena. */
        const char *(*find)(const struct question *q, const struct obstacle *row, enum item item);
        unsigned detail; /* for a FIND that serves several rows, else 0 */
        const char *remedy;
};

struct obstacles { const struct obstacle *rows; size_t n; };

extern const struct obstacles admit_namespace_obstacles;
extern const struct obstacles admit_security_obstacles;
extern const struct obstacles admit_scheduling_obstacles;
extern const struct obstacles admit_cgroup_obstacles;
extern const struct obstacles admit_cgroup_root_obstacles;
extern const struct obstacles admit_quota_obstacles;
extern const struct obstacles admit_sandbox_obstacles;

/* The word is in the list. */
bool admit_listed(const char *word, const char *const *words, size_t n);
/* The words with ", " between them, or "none". */
const char *admit_list(struct arena *arena, const char *const *words, size_t n);
bool admit_kernel_before(const struct facts_kernel *kernel, unsigned major, unsigned minor);
