#include "plan/sandbox_parts.h"

#define FIELD_UID "sage.sandbox.host.linux_execution_uid"

static int refuse(struct compilation *c, const char *text, unsigned id) {
        return fail(c->err, CODE_IDENTITY_INVALID, EINVAL, FIELD_UID, text, id);
}

/* A host that is not root can be nobody else: its user namespace takes its own id alone (user_namespaces(7)). */
int sandbox_identity(struct compilation *c, uint32_t *ret_uid, uint32_t *ret_gid) {
        const struct facts_identity *caller = c->facts->identity;
        const struct sage_host *host = c->plan->sage->host;
        const struct oci_process *process = c->request->config->process;
        const struct oci_user *user = process ? process->user : NULL;
        uint32_t uid = caller->euid, gid = caller->egid;

        if (host && host->has & SAGE_HOST_HAS_LINUX_EXECUTION_UID) { /* and the gid with it (sage_host.c) */
                uid = host->linux_execution_uid;
                gid = host->linux_execution_gid;
        } else if (caller->euid == 0 && user) {
                uid = user->uid;
                gid = user->gid;
        }
        if (uid == 0 || gid == 0)
                return refuse(c,
                        uid == 0 ? "commands of a sandbox never run as uid %u: name another, with its gid"
                                 : "commands of a sandbox never run as gid %u: name another, with its uid",
                        0);
        if (caller->euid != 0 && (uid != caller->euid || gid != caller->egid))
                return refuse(c, "only root can make a sandbox of another user; the caller is uid %u", caller->euid);
        *ret_uid = uid;
        *ret_gid = gid;
        return 0;
}
