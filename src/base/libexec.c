#include "base/libexec.h"

#include <stdio.h>

static const char *directory = PKGLIBEXECDIR;

void libexec_use(const char *other) {
        directory = other;
}

struct libexec_path libexec_path(const char *program) {
        struct libexec_path path;

        snprintf(path.path, sizeof path.path, "%s/%s", directory, program);
        return path;
}
