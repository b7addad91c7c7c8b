#include "plan/compilation.h"

#include <string.h>

void warn(struct arena *arena, struct warnings *warnings, const char *text, ...) {
        char line[512];
        va_list ap;

        if (warnings->n == warnings->room) {
                size_t room = warnings->room ? 2 * warnings->room : 4;
                const char **list = arena_array(arena, const char *, room + 1);

                if (warnings->n)
                        memcpy(list, warnings->list, warnings->n * sizeof *list);
                warnings->list = list;
                warnings->room = room;
        }
        va_start(ap, text);
        vsnprintf(line, sizeof line, text, ap);
        va_end(ap);
        warnings->list[warnings->n++] = arena_strdup(arena, line);
}

bool namespace_made(const struct plan_plan *plan, uint64_t flag) {
        return plan->namespaces->create & flag;
}

bool namespace_own(const struct plan_plan *plan, uint64_t flag) {
        if (plan->namespaces->create & flag)
                return true;
        for (size_t i = 0; i < plan->namespaces->n_join; i++)
                if (plan->namespaces->join[i].flag == flag)
                        return true;
        return false;
}
