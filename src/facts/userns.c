/* What is known to forbid new user namespaces, from the settings. Whether one can really be made, only trial.c proves. */
#define _GNU_SOURCE
#include "facts/probe.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>

/* A switch of /proc/sys that only some kernels have. */
static void read_switch(const char *path, uint64_t bit, uint64_t *has, bool *ret) {
        uint64_t value;

        if (probe_number(path, &value) < 0)
                return;
        *ret = value != 0;
        *has |= bit;
}

/* "unconfined", or "NAME (enforce)" of which NAME is kept. */
static const char *confinement(struct arena *arena) {
        char text[512], *mode;

        if (probe_read("/proc/self/attr/apparmor/current", text, sizeof text) <= 0)
                return NULL;
        mode = strstr(text, " (");
        if (mode)
                *mode = '\0';
        return arena_strdup(arena, text);
}

/* Debian's switch and AppArmor's restriction let through who has CAP_SYS_ADMIN on the host; a limit of 0 holds for root too. Under
 * AppArmor's, an unconfined process gets a namespace in which it has no capabilities, a confined one what its profile says. */
static bool nothing_forbids(const struct facts_userns *userns, const struct facts_identity *identity) {
        if (!(userns->has & FACTS_USERNS_HAS_MAX) || userns->max == 0)
                return false;
        if (facts_capable(identity, CAP_SYS_ADMIN))
                return true;
        if ((userns->has & FACTS_USERNS_HAS_UNPRIVILEGED_CLONE) && !userns->unprivileged_clone)
                return false;
        return !userns->apparmor_restricted || (userns->confinement && !streq(userns->confinement, "unconfined"));
}

int probe_userns(struct arena *arena, const struct facts_identity *identity, struct facts_userns **ret, struct error *err) {
        struct facts_userns *userns = arena_new(arena, struct facts_userns);

        (void)err;
        if (probe_number("/proc/sys/user/max_user_namespaces", &userns->max) == 0)
                userns->has |= FACTS_USERNS_HAS_MAX;
        read_switch("/proc/sys/kernel/unprivileged_userns_clone", FACTS_USERNS_HAS_UNPRIVILEGED_CLONE, &userns->has,
                &userns->unprivileged_clone);
        read_switch("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", FACTS_USERNS_HAS_APPARMOR_RESTRICTED, &userns->has,
                &userns->apparmor_restricted);
        userns->confinement = confinement(arena);
        userns->filtered = prctl(PR_GET_SECCOMP) > 0;
        userns->has |= FACTS_USERNS_HAS_FILTERED;
        userns->possible = nothing_forbids(userns, identity);
        *ret = userns;
        return 0;
}
