#include "base/fd.h"

struct fd_path fd_path(int fd) {
        struct fd_path p;

        snprintf(p.path, sizeof p.path, "/proc/self/fd/%d", fd);
        return p;
}
