#include "plan/sandbox_parts.h"

#define FIELD_UID "sage.sandbox.host.linux_execution_uid"

/* The host's setting, else what root's bundle says, else the caller. */
void sandbox_identity_of(const struct sage_request *request, const struct oci_config *config, const struct facts_identity *caller,
        uint32_t *ret_uid, uint32_t *ret_gid) {
        const struct oci_user *user = config->process ? config->process->user : NULL;
        const struct sage_host *host = request->host;

        *ret_uid = caller->euid;
        *ret_gid = caller->egid;
        if (host && host->has & SAGE_HOST_HAS_LINUX_EXECUTION_UID) { /* and the gid with it (sage_host.c) */
                *ret_uid = host->linux_execution_uid;
                *ret_gid = host->linux_execution_gid;
        } else if (caller->euid == 0 && user) {
                *ret_uid = user->uid;
                *ret_gid = user->gid;
        }
}

static int refuse(struct compilation *c, const char *text, uint32_t id) {
        return fail(c->err, CODE_IDENTITY_INVALID, EINVAL, FIELD_UID, text, id);
}

/* A host that is not root can be nobody else: its user namespace takes its own id alone (user_namespaces(7)). */
int sandbox_check_identity(struct compilation *c) {
        const struct facts_identity *caller = c->facts->identity;
        uint32_t uid = c->plan->sandbox->uid, gid = c->plan->sandbox->gid;

        if (uid == 0)
                return refuse(c, "commands of a sandbox never run as uid %u: name another, with its gid", uid);
        if (gid == 0)
                return refuse(c, "commands of a sandbox never run as gid %u: name another, with its uid", gid);
        if (caller->euid != 0 && (uid != caller->euid || gid != caller->egid))
                return refuse(c, "only root can make a sandbox of another user; the caller is uid %u", caller->euid);
        return 0;
}
