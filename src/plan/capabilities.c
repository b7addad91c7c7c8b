#include "plan/capabilities.h"

#include <stdlib.h>
#include <strings.h>

struct capability {
        const char *name;
        uint8_t number;
};

/* linux/capability.h up to 6.18; sorted by name as strcasecmp() sees it ('_' before letters), for bsearch(). */
static const struct capability capabilities[CAPABILITY_COUNT] = {
        { "CAP_AUDIT_CONTROL", 30 },
        { "CAP_AUDIT_READ", 37 },
        { "CAP_AUDIT_WRITE", 29 },
        { "CAP_BLOCK_SUSPEND", 36 },
        { "CAP_BPF", 39 },
        { "CAP_CHECKPOINT_RESTORE", 40 },
        { "CAP_CHOWN", 0 },
        { "CAP_DAC_OVERRIDE", 1 },
        { "CAP_DAC_READ_SEARCH", 2 },
        { "CAP_FOWNER", 3 },
        { "CAP_FSETID", 4 },
        { "CAP_IPC_LOCK", 14 },
        { "CAP_IPC_OWNER", 15 },
        { "CAP_KILL", 5 },
        { "CAP_LEASE", 28 },
        { "CAP_LINUX_IMMUTABLE", 9 },
        { "CAP_MAC_ADMIN", 33 },
        { "CAP_MAC_OVERRIDE", 32 },
        { "CAP_MKNOD", 27 },
        { "CAP_NET_ADMIN", 12 },
        { "CAP_NET_BIND_SERVICE", 10 },
        { "CAP_NET_BROADCAST", 11 },
        { "CAP_NET_RAW", 13 },
        { "CAP_PERFMON", 38 },
        { "CAP_SETFCAP", 31 },
        { "CAP_SETGID", 6 },
        { "CAP_SETPCAP", 8 },
        { "CAP_SETUID", 7 },
        { "CAP_SYS_ADMIN", 21 },
        { "CAP_SYS_BOOT", 22 },
        { "CAP_SYS_CHROOT", 18 },
        { "CAP_SYS_MODULE", 16 },
        { "CAP_SYS_NICE", 23 },
        { "CAP_SYS_PACCT", 20 },
        { "CAP_SYS_PTRACE", 19 },
        { "CAP_SYS_RAWIO", 17 },
        { "CAP_SYS_RESOURCE", 24 },
        { "CAP_SYS_TIME", 25 },
        { "CAP_SYS_TTY_CONFIG", 26 },
        { "CAP_SYSLOG", 34 },
        { "CAP_WAKE_ALARM", 35 },
};

static int compare(const void *name, const void *row) {
        return strcasecmp(name, ((const struct capability *)row)->name);
}

int capability_number(const char *name) {
        const struct capability *row = bsearch(name, capabilities, ELEMENTSOF(capabilities), sizeof capabilities[0], compare);

        return row ? row->number : -1;
}

const char *capability_name(unsigned number) {
        for (size_t i = 0; i < ELEMENTSOF(capabilities); i++)
                if (capabilities[i].number == number)
                        return capabilities[i].name;
        return NULL;
}

/* One set by name. config.md: "Any value which cannot be mapped to a relevant kernel interface […] MUST be logged as a warning". */
static uint64_t set(struct arena *arena, const char *const *names, size_t n, unsigned last, const char *field, const char *which,
        struct warnings *warnings) {
        uint64_t bits = 0;

        for (size_t i = 0; i < n; i++) {
                int number = capability_number(names[i]);

                if (number < 0)
                        warn(arena, warnings, "%s.capabilities.%s: \"%s\" is no capability that this runtime knows", field, which,
                                names[i]);
                else if ((unsigned)number > last)
                        warn(arena, warnings, "%s.capabilities.%s: this kernel does not have %s", field, which, names[i]);
                else
                        bits |= UINT64_C(1) << number;
        }
        return bits;
}

struct reason {
        const char *of_one, *of_several;
};

/* Takes out of *BITS what is not in ALLOWED, and says so by name: in one line, because buildah asks for its whole set as ambient and for
 * none as inheritable in every container. */
static void restrict_to(struct arena *arena, uint64_t *bits, uint64_t allowed, const char *field, const char *which, struct reason why,
        struct warnings *warnings) {
        uint64_t out = *bits & ~allowed;
        const char *names = NULL;

        *bits &= allowed;
        if (!out)
                return;
        for (unsigned number = 0; number < 64; number++)
                if (out >> number & 1)
                        names = arena_printf(arena, "%s%s%s", names ?: "", names ? ", " : "", capability_name(number) ?: "a capability");
        warn(arena, warnings, "%s.capabilities.%s: %s cannot be given, because %s", field, which, names,
                out & (out - 1) ? why.of_several : why.of_one);
}

struct plan_capabilities *capabilities_compile(
        struct arena *arena, const struct oci_capabilities *asked, unsigned last, const char *field, struct warnings *warnings) {
        struct plan_capabilities *sets = arena_new(arena, struct plan_capabilities);

        if (!asked)
                return sets;
        sets->bounding = set(arena, asked->bounding, asked->n_bounding, last, field, "bounding", warnings);
        sets->effective = set(arena, asked->effective, asked->n_effective, last, field, "effective", warnings);
        sets->inheritable = set(arena, asked->inheritable, asked->n_inheritable, last, field, "inheritable", warnings);
        sets->permitted = set(arena, asked->permitted, asked->n_permitted, last, field, "permitted", warnings);
        sets->ambient = set(arena, asked->ambient, asked->n_ambient, last, field, "ambient", warnings);

        /* capset(2) and prctl(PR_CAP_AMBIENT_RAISE) answer EPERM to these; capabilities(7). */
        restrict_to(arena, &sets->effective, sets->permitted, field, "effective",
                (struct reason){ "it is not permitted", "they are not permitted" }, warnings);
        restrict_to(arena, &sets->inheritable, sets->bounding, field, "inheritable",
                (struct reason){ "it is not in the bounding set", "they are not in the bounding set" }, warnings);
        restrict_to(arena, &sets->ambient, sets->permitted & sets->inheritable, field, "ambient",
                (struct reason){ "it is not permitted and inheritable", "they are not permitted and inheritable" }, warnings);
        return sets;
}

void capabilities_limit(struct arena *arena, struct plan_capabilities *sets, uint64_t held, const char *field, struct warnings *warnings) {
        static const struct reason why = { "the runtime does not have it", "the runtime does not have them" };

        restrict_to(arena, &sets->permitted, held, field, "permitted", why, warnings);
        sets->effective &= held;
        sets->inheritable &= held;
        sets->ambient &= held;
}
