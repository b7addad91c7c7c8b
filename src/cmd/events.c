#define _GNU_SOURCE
#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "apply/cgroup_file.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/duration.h"
#include "cmd/stats.h"
#include "life/state.h"

enum { STAT_FILE_MAX = 1 << 20, SIZES_MAX = 16, DOMAINS_MAX = 64, DAY_S = 86400 };

struct events_options {
        bool stats;
        const char *interval;
};

static const struct option_row options[] = {
        { "stats", 0, OPTION_FLAG, offsetof(struct events_options, stats), "print what it has used, once" },
        { "interval", 0, OPTION_TEXT, offsetof(struct events_options, interval), "time between two lines, such as 100ms (5s)" },
};
extern const struct command command_events;

struct watched {
        const char *id;
        int cgroup;        /* directory */
        int init;          /* pidfd */
        int memory_events; /* file, -1 where memory is not counted */
        uint64_t oom_kills;
        struct str text; /* of the file that was read last */
        const char *sizes[SIZES_MAX + 1];
        struct stats_rdt rdt; /* without a root: the container has none */
};

static void watched_close(struct watched *w) {
        close_fd(&w->cgroup);
        close_fd(&w->init);
        close_fd(&w->memory_events);
        str_free(&w->text);
}

static const char *read_file(void *data, const char *file) {
        struct watched *w = data;

        str_free(&w->text);
        return file_read(w->cgroup, file, STAT_FILE_MAX, &w->text) < 0 ? NULL : w->text.text ? w->text.text : "";
}

static uint64_t count_oom_kills(const struct watched *w) {
        char text[CGROUP_FILE_SIZE];

        return w->memory_events >= 0 && cgroup_file_read_fd(w->memory_events, text) == 0 ? stats_number(text, "oom_kill") : 0;
}

/* The sizes of huge pages that this kernel counts, by the names of the files. */
static void find_sizes(struct arena *arena, struct watched *w) {
        _cleanup_close_ int listed = openat(w->cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_dir_ DIR *entries = listed < 0 ? NULL : fdopendir(listed);
        size_t n = 0;

        if (!entries)
                return;
        take_fd(&listed);
        for (struct dirent *entry; n < SIZES_MAX && (entry = readdir(entries));) {
                const char *size = str_after(entry->d_name, "hugetlb."), *rest = size ? strchr(size, '.') : NULL;

                if (rest && streq(rest, ".current"))
                        w->sizes[n++] = arena_strndup(arena, size, (size_t)(rest - size));
        }
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In the order of their numbers, which are as long as each other. */
static void find_domains(struct arena *arena, struct stats_rdt *rdt) {
        const char **found = arena_array(arena, const char *, DOMAINS_MAX + 1);
        _cleanup_dir_ DIR *entries = opendir(arena_printf(arena, "%s/mon_data", rdt->monitored));
        size_t n = 0;

        for (struct dirent *entry; entries && n < DOMAINS_MAX && (entry = readdir(entries));)
                if (str_after(entry->d_name, "mon_L3_"))
                        found[n++] = arena_printf(arena, "mon_data/%s", entry->d_name);
        qsort(found, n, sizeof *found, by_name);
        rdt->domains = found;
}

static void find_rdt(struct arena *arena, const struct status_rdt_claim *claim, struct stats_rdt *ret) {
        *ret = (struct stats_rdt){
                .root = claim->root, .group = claim->group, .monitored = claim->monitor ? claim->monitor : claim->group
        };
        find_domains(arena, ret);
}

static int watch(struct invocation *invocation, const char *id, struct watched *w, struct error *err) {
        _cleanup_container_ struct container container = CONTAINER_CLOSED;
        enum oci_status status;
        int r;

        if ((r = container_open(invocation->arena, invocation->root, id, CONTAINER_UNLOCKED, &container, err)) < 0 ||
                (r = container_state(&container, &status, &w->init, err)) < 0)
                return r;
        if (w->init < 0)
                return fail(err, CODE_INVALID_STATE, ESRCH, "", "container not running");
        if (!container.status.cgroup)
                return fail(err, CODE_CAPABILITY_UNSUPPORTED, EOPNOTSUPP, "", "the container has no cgroup that would count what it uses");
        w->id = id;
        if (container.status.rdt)
                find_rdt(invocation->arena, container.status.rdt, &w->rdt);
        w->cgroup = open(container.status.cgroup->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (w->cgroup < 0)
                return fail_errno(err, CODE_INTERNAL, errno, container.status.cgroup->path, "cannot open the container's cgroup");
        w->memory_events = openat(w->cgroup, "memory.events", O_RDONLY | O_CLOEXEC);
        w->oom_kills = count_oom_kills(w);
        find_sizes(invocation->arena, w);
        return 0;
}

/* One line, in one write: a reader never gets half of one from us. */
static int print(struct str *line, struct error *err) {
        str_puts(line, "}\n");
        return command_print(line, "the event", err);
}

/* An id has no character that JSON would have to escape (state_id_valid()). */
static int print_stats(struct watched *w, struct error *err) {
        const struct stats_source source = {
                .read = read_file, .data = w, .huge_page_sizes = w->sizes, .rdt = w->rdt.root ? &w->rdt : NULL
        };
        _cleanup_str_ struct str line = { 0 };

        str_printf(&line, "{\"type\":\"stats\",\"id\":\"%s\",\"data\":", w->id);
        stats_append(&line, &source);
        return print(&line, err);
}

static int print_oom_kills(struct watched *w, struct error *err) {
        _cleanup_str_ struct str line = { 0 };
        uint64_t now = count_oom_kills(w);

        if (now <= w->oom_kills) /* also once the cgroup is gone */
                return 0;
        w->oom_kills = now;
        str_printf(&line, "{\"type\":\"oom\",\"id\":\"%s\"", w->id);
        return print(&line, err);
}

/* The kernel wakes pollers of memory.events when a count in it changes (cgroup-v2.rst). */
static int follow(struct watched *w, uint64_t interval_us, struct error *err) {
        uint64_t next = time_monotonic_us() + interval_us;
        int r;

        for (;;) {
                struct pollfd polled[] = { { .fd = w->init, .events = POLLIN }, { .fd = w->memory_events, .events = POLLPRI } };
                uint64_t now = time_monotonic_us();

                (void)poll(polled, ELEMENTSOF(polled), now >= next ? 0 : (int)((next - now) / 1000 + 1));
                if ((r = print_oom_kills(w, err)) < 0)
                        return r;
                if (polled[0].revents) /* the container has ended */
                        return 0;
                now = time_monotonic_us();
                if (now < next)
                        continue;
                if ((r = print_stats(w, err)) < 0)
                        return r;
                next = now + interval_us;
        }
}

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        __attribute__((cleanup(watched_close))) struct watched w = { .cgroup = -1, .init = -1, .memory_events = -1 };
        struct events_options o = { .interval = "5s" };
        uint64_t interval_us;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_events, argc, argv, &o, 1, 1, &operands, NULL, err)) < 0)
                return r;
        if (duration_parse(o.interval, DAY_S, &interval_us) < 0)
                return fail(err, CODE_USAGE, EINVAL, "--interval", "expected a time such as 5s or 100ms, found `%s`", o.interval);
        if ((r = watch(invocation, operands[0], &w, err)) < 0)
                return r;
        *ret_status = 0;
        return o.stats ? print_stats(&w, err) : follow(&w, interval_us, err);
}

const struct command command_events = { "events", "ID", "print what a container uses, and its out-of-memory kills", run, options,
        ELEMENTSOF(options), 1, OPTIONS_ANYWHERE };
