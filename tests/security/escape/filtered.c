/* filtered FILTER COMMAND…: executes COMMAND under the payload filter that a bundle would get, and nothing else of a sandbox. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apply/seccomp.h"
#include "base/arena.h"
#include "request.h"

int main(int argc, char **argv) {
        int request = argc > 2 ? request_find(argv[1]) : -1, none;
        struct arena arena = { 0 };
        struct filter_program program;
        struct error err;

        if (request < 0)
                return fputs("usage: filtered FILTER COMMAND…\n", stderr), 125;
        program = payload_filter_build(&arena, requests[request].parts, FILTER_THIS_MACHINE);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_load(&program, 0, &none, &err) < 0)
                return fprintf(stderr, "filtered: %s\n", strerror(errno)), 125;
        execvp(argv[2], &argv[2]);
        return fprintf(stderr, "filtered: %s: %s\n", argv[2], strerror(errno)), 127;
}
