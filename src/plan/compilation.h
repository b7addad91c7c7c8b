/* What the parts of compile() share: where memory comes from, what is asked, where errors and warnings go. Internal to plan/. */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/compile.h"

struct warnings {
        const char **list;
        size_t n, room;
};

struct compilation {
        struct arena *arena;
        const struct request *request;
        const struct facts_facts *facts;
        struct error *err;
        struct warnings warnings; /* become plan->warnings */
        const char *sage_field;   /* what asks for plan->sage */
        struct plan_plan *plan;   /* filled part by part; namespaces and ids come first, the others look at them */
};

__attribute__((format(printf, 3, 4)))
void warn(struct arena *arena, struct warnings *warnings, const char *text, ...);

/* The path of a field, made only where an error needs it: FIELD(c->arena, "mounts[%zu].type", i). */
#define FIELD(arena, ...) arena_printf((arena), __VA_ARGS__)

#define INVALID(err, where, ...) fail((err), CODE_CONFIG_INVALID, EINVAL, (where), __VA_ARGS__)
#define UNSUPPORTED(err, where, ...) fail((err), CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, (where), __VA_ARGS__)

/* The container has a namespace of this kind that is not the runtime's by default: made for it or joined by path. */
bool namespace_made(const struct plan_plan *plan, uint64_t flag);
bool namespace_own(const struct plan_plan *plan, uint64_t flag);
