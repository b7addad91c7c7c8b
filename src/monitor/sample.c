#define _GNU_SOURCE
#include "monitor/sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* Fields behind the name, which is field 2: state is 3. */
enum { STATE = 3, UTIME = 14, STIME = 15, CUTIME = 16, CSTIME = 17, NUM_THREADS = 20, RSS = 24, FIELDS };

static bool read_file(int proc, pid_t pid, const char *name, char *text, size_t size) {
        _cleanup_close_ int fd = -1;
        char path[32];
        ssize_t n;

        snprintf(path, sizeof path, "%d/%s", pid, name);
        fd = openat(proc, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, size - 1);
        text[n > 0 ? n : 0] = '\0';
        return n > 0;
}

/* The name may hold any of " )(", so the last ')' ends it. */
static bool read_fields(int proc, pid_t pid, uint64_t fields[FIELDS]) {
        char text[1024], *at;

        if (!read_file(proc, pid, "stat", text, sizeof text) || !(at = strrchr(text, ')')) || at[1] != ' ')
                return false;
        fields[STATE] = (uint64_t)at[2];
        at = at[2] ? at + 3 : at + 2;
        for (int field = STATE + 1; field < FIELDS; field++)
                fields[field] = strtoull(at, &at, 10);
        return true;
}

void sample_add(int proc, pid_t pid, struct sample *sample) {
        static uint64_t tick_us, page;
        uint64_t f[FIELDS];

        if (!tick_us) {
                tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
                page = (uint64_t)sysconf(_SC_PAGESIZE);
        }
        if (!read_fields(proc, pid, f))
                return;
        sample->cpu_us += (f[UTIME] + f[STIME] + f[CUTIME] + f[CSTIME]) * tick_us;
        sample->memory_bytes += f[RSS] * page;
        sample->tasks += f[NUM_THREADS];
}

/* proc_pid_status(5), NSpid: the process's numbers, ours first and its own last. */
bool sample_is_init(int proc, pid_t pid) {
        static const char key[] = "\nNSpid:";
        char text[4096], *at, *end;

        if (!read_file(proc, pid, "status", text, sizeof text) || !(at = strstr(text, key)))
                return false;
        at += sizeof key - 1;
        end = at + strcspn(at, "\n");
        return end - at > 2 && end[-1] == '1' && (end[-2] == '\t' || end[-2] == ' ');
}

bool sample_is_stopped(int proc, pid_t pid) {
        uint64_t f[FIELDS];

        return !read_fields(proc, pid, f) || f[STATE] == 'T' || f[STATE] == 't' || f[STATE] == 'Z' || f[STATE] == 'X';
}
