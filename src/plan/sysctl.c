#define _GNU_SOURCE
#include "plan/sysctl.h"

#include <linux/sched.h>

#include "plan/namespaces.h"

struct owner {
        const char *key;     /* below /proc/sys; one that ends in '/' stands for all below it */
        uint64_t flag;       /* CLONE_NEW* of the namespace it belongs to */
        const char *instead; /* the member of config.json that says the same; NULL: none */
};

/* namespaces(7), ipc_namespaces(7), network_namespaces(7), uts_namespaces(7); kernel: ipc/ipc_sysctl.c, kernel/ucount.c. */
static const struct owner owners[] = {
        { "fs/mqueue/", CLONE_NEWIPC, NULL },
        { "kernel/auto_msgmni", CLONE_NEWIPC, NULL },
        { "kernel/domainname", CLONE_NEWUTS, NULL },
        { "kernel/hostname", CLONE_NEWUTS, "hostname" },
        { "kernel/msg_next_id", CLONE_NEWIPC, NULL },
        { "kernel/msgmax", CLONE_NEWIPC, NULL },
        { "kernel/msgmnb", CLONE_NEWIPC, NULL },
        { "kernel/msgmni", CLONE_NEWIPC, NULL },
        { "kernel/sem", CLONE_NEWIPC, NULL },
        { "kernel/sem_next_id", CLONE_NEWIPC, NULL },
        { "kernel/shm_next_id", CLONE_NEWIPC, NULL },
        { "kernel/shm_rmid_forced", CLONE_NEWIPC, NULL },
        { "kernel/shmall", CLONE_NEWIPC, NULL },
        { "kernel/shmmax", CLONE_NEWIPC, NULL },
        { "kernel/shmmni", CLONE_NEWIPC, NULL },
        { "net/", CLONE_NEWNET, NULL },
        { "user/", CLONE_NEWUSER, NULL },
};

static const struct owner *find(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(owners); i++) {
                const char *rest = str_after(path, owners[i].key);

                if (rest && (*rest == '\0') != (owners[i].key[strlen(owners[i].key) - 1] == '/'))
                        return &owners[i];
        }
        return NULL;
}

/* sysctl(8): where the first separator is a dot, a slash stands for a dot inside a name ("net.ipv4.conf.eth0/100.forwarding"). */
static char *to_path(struct arena *arena, const char *key) {
        char *path = arena_strdup(arena, key);

        if (path[strcspn(path, "./")] == '.')
                for (char *p = path; *p; p++)
                        *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
        return path;
}

/* Names between single slashes, none of them "." or "..": the path is opened below /proc/sys. */
static bool is_clean(const char *path) {
        if (!*path)
                return false;
        for (;;) {
                size_t n = strcspn(path, "/");

                if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
                        return false;
                if (!path[n])
                        return true;
                path += n + 1;
        }
}

/* What docker has in place of the member. Its file is the host's root's to write, whatever user namespace the UTS one belongs to
 * (kernel/utsname_sysctl.c), and setdomainname(2) asks that one: so it becomes the member. */
static int compile_domainname(struct compilation *c, const char *field, const char *value) {
        if (c->plan->domainname && !streq(value, c->plan->domainname))
                return INVALID(c->err, field, "differs from the member \"domainname\"");
        return namespaces_compile_name(c, field, value, &c->plan->domainname);
}

/* 1: RET is a file to write, 0: nothing is left to do. */
static int compile_one(struct compilation *c, const struct string_pair *pair, struct plan_sysctl *ret) {
        char *path = to_path(c->arena, pair->key);
        const struct owner *owner = is_clean(path) ? find(path) : NULL;
        const char *field = FIELD(c->arena, "linux.sysctl[\"%s\"]", pair->key);

        if (!owner)
                return INVALID(c->err, field, "no namespace has this setting: it would change the host");
        if (owner->instead)
                return INVALID(c->err, field, "use the member \"%s\" in its place", owner->instead);
        if (!namespace_own(c->plan, owner->flag))
                return INVALID(c->err, field, "the container shares the host's %s, which this would change",
                        owner->flag == CLONE_NEWIPC           ? "IPC namespace"
                                : owner->flag == CLONE_NEWNET ? "network namespace"
                                : owner->flag == CLONE_NEWUTS ? "UTS namespace"
                                                              : "user namespace");
        if (streq(path, "kernel/domainname"))
                return compile_domainname(c, field, pair->value);
        *ret = (struct plan_sysctl){ .key = path, .value = pair->value, .namespace = owner->flag };
        return 1;
}

int sysctl_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        int r;

        if (linux->n_sysctl == 0)
                return 0;
        c->plan->sysctls = arena_array(c->arena, struct plan_sysctl, linux->n_sysctl);
        for (size_t i = 0; i < linux->n_sysctl; i++) {
                if ((r = compile_one(c, &linux->sysctl[i], &c->plan->sysctls[c->plan->n_sysctls])) < 0)
                        return r;
                c->plan->n_sysctls += (size_t)r;
        }
        if (c->plan->n_sysctls == 0)
                c->plan->sysctls = NULL;
        return 0;
}
