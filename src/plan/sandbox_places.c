#include "plan/sandbox_parts.h"

/* Sage's list, then what programs need of /etc: where libraries are, which of several programs a name means, and the time. */
const char *const sandbox_places[] = {
        "/usr/bin",
        "/usr/sbin",
        "/usr/lib",
        "/usr/lib64",
        "/usr/libexec",
        "/usr/share",
        "/usr/local/bin",
        "/usr/local/lib",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/etc/alternatives",
        "/etc/ld.so.cache",
        "/etc/localtime",
};
const size_t sandbox_n_places = ELEMENTSOF(sandbox_places);

const char *sandbox_place_in(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(sandbox_places); i++)
                if (path_is_below(path, sandbox_places[i]))
                        return sandbox_places[i];
        return NULL;
}

const char *sandbox_place_below(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(sandbox_places); i++)
                if (path_is_below(sandbox_places[i], path))
                        return sandbox_places[i];
        return NULL;
}
