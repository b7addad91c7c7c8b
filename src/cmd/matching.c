#include "cmd/matching.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"
#include "life/state.h"

static int compile_pattern(const char *pattern, regex_t *ret, struct error *err) {
        char reason[128];
        int r = regcomp(ret, pattern, REG_EXTENDED | REG_NOSUB);

        if (r == 0)
                return 0;
        regerror(r, ret, reason, sizeof reason);
        return fail(err, CODE_USAGE, EINVAL, "--regex", "`%s` is no regular expression: %s", pattern, reason);
}

static int is_id(const struct dirent *entry) {
        return state_id_valid(entry->d_name);
}

int matching_containers(struct invocation *invocation, const char *pattern,
        int (*act)(struct invocation *invocation, const char *id, const void *options, struct error *err), const void *options,
        struct error *err) {
        struct dirent **entries = NULL;
        struct error first = { 0 };
        int n, r, n_failed = 0;
        regex_t compiled;

        if ((r = compile_pattern(pattern, &compiled, err)) < 0)
                return r;
        n = scandir(invocation->root, &entries, is_id, alphasort);
        if (n < 0 && errno != ENOENT)
                r = fail_errno(err, CODE_INTERNAL, errno, invocation->root, "cannot read the state directory");
        for (int i = 0; i < n; i++) {
                struct error one;

                if (regexec(&compiled, entries[i]->d_name, 0, NULL, 0) == 0 && act(invocation, entries[i]->d_name, options, &one) < 0 &&
                        one.code != CODE_NOT_FOUND) { /* gone meanwhile */
                        log_message(LOG_LEVEL_WARNING, "%s: %s", entries[i]->d_name, one.text);
                        if (n_failed++ == 0)
                                first = one;
                }
                free(entries[i]);
        }
        free(entries);
        regfree(&compiled);
        if (n_failed)
                return fail(err, first.code, first.errnum, first.where, "%d containers that match `%s` failed, the first with: %s",
                        n_failed, pattern, first.text);
        return r;
}
