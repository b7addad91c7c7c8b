#include "plan/hooks.h"

static int check(struct compilation *c, const char *kind, const struct oci_hook *hooks, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (!hooks[i].path || hooks[i].path[0] != '/')
                        return INVALID(c->err, FIELD(c->arena, "hooks.%s[%zu].path", kind, i), "expected an absolute path, found \"%s\"",
                                hooks[i].path ?: "");
                if (hooks[i].has & OCI_HOOK_HAS_TIMEOUT && hooks[i].timeout <= 0)
                        return INVALID(c->err, FIELD(c->arena, "hooks.%s[%zu].timeout", kind, i), "expected at least 1 second, found %d",
                                hooks[i].timeout);
        }
        return 0;
}

int hooks_compile(struct compilation *c) {
        struct oci_hooks *hooks = c->request->config->hooks;
        int r;

        if (!hooks)
                return 0;
        if ((r = check(c, "prestart", hooks->prestart, hooks->n_prestart)) < 0 ||
                (r = check(c, "createRuntime", hooks->create_runtime, hooks->n_create_runtime)) < 0 ||
                (r = check(c, "createContainer", hooks->create_container, hooks->n_create_container)) < 0 ||
                (r = check(c, "startContainer", hooks->start_container, hooks->n_start_container)) < 0 ||
                (r = check(c, "poststart", hooks->poststart, hooks->n_poststart)) < 0 ||
                (r = check(c, "poststop", hooks->poststop, hooks->n_poststop)) < 0)
                return r;
        c->plan->hooks = hooks;
        return 0;
}
