#include "plan/sandbox_parts.h"

/* Sage's list, and the headers without which its compilers build nothing; then what programs need of /etc: where libraries are, which of
 * several programs a name means, the time, and what the JDKs of distributions keep there and do not start without. */
const char *const sandbox_places[] = {
        "/usr/bin",
        "/usr/sbin",
        "/usr/lib",
        "/usr/lib64",
        "/usr/libexec",
        "/usr/share",
        "/usr/include",
        "/usr/local/bin",
        "/usr/local/lib",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/etc/alternatives",
        "/etc/ld.so.cache",
        "/etc/localtime",
        "/etc/java",
        "/etc/java-17-openjdk",
        "/etc/java-21-openjdk",
        "/etc/java-25-openjdk",
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
