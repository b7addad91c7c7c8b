#include "plan/sandbox_parts.h"

#include <inttypes.h>

#define FIELD_WORKSPACE "sage.sandbox.filesystem.workspace"
#define REFUSE(c, ...) fail((c)->err, CODE_WORKSPACE_INVALID, EINVAL, FIELD_WORKSPACE, __VA_ARGS__)

static const char *const problems[] = {
        [FACTS_PLACE_KIND_ABSENT] = "%s does not exist",
        [FACTS_PLACE_KIND_FILE] = "%s is no directory",
        [FACTS_PLACE_KIND_OTHER] = "%s is no directory",
        [FACTS_PLACE_KIND_SYMLINK] = "%s is a symlink or lies behind one: name the directory itself",
        [FACTS_PLACE_KIND_UNREACHABLE] = "whom the commands run as may not enter %s, or a directory above it",
};

/* What runs as root or as the host, and lies where commands write, would be theirs to replace. */
static int check_programs(struct compilation *c, const char *workspace) {
        const char *hit = sandbox_place_in(workspace) ?: sandbox_place_below(workspace);

        if (!hit && path_is_below(c->facts->tree->program, workspace))
                hit = c->facts->tree->program;
        return hit ? REFUSE(c, "%s and %s are not apart: commands could change what this host runs", workspace, hit) : 0;
}

/* A process that may write it needs no more than a glimpse of it (/proc/PID/exe). A host that is not root runs from a sealed copy (finish() in
 * compile.c); root's program should be nobody else's. */
static int check_program_owner(struct compilation *c) {
        uint32_t uid = c->plan->sandbox->uid;

        if (c->facts->identity->euid != 0 || c->facts->tree->program_uid != uid)
                return 0;
        return fail(c->err, CODE_IDENTITY_INVALID, EINVAL, "sage.sandbox.host.linux_execution_uid",
                "uid %u owns this runtime, %s, and could change what the host runs", uid, c->facts->tree->program);
}

int sandbox_check_workspace(struct compilation *c, const struct facts_place **ret) {
        const struct sage_filesystem *f = c->plan->sage->filesystem;
        const struct facts_place *place = facts_place(c->facts, f->workspace);
        uint32_t uid = c->plan->sandbox->uid;
        int r;

        if (!place)
                return fail(c->err, CODE_INTERNAL, ENODATA, FIELD_WORKSPACE, "a plan needs what sandbox_looks() names of the facts");
        if (place->kind != FACTS_PLACE_KIND_DIRECTORY)
                return REFUSE(c, problems[place->kind], f->workspace);
        if (f->has & SAGE_FILESYSTEM_HAS_WORKSPACE_ST_INO && (place->dev != f->workspace_st_dev || place->ino != f->workspace_st_ino))
                return REFUSE(c,
                        "%s is another directory than was meant: expected device %" PRIu64 ", inode %" PRIu64 ", found %" PRIu64
                        ", %" PRIu64,
                        f->workspace, f->workspace_st_dev, f->workspace_st_ino, place->dev, place->ino);
        if ((r = check_programs(c, f->workspace)) < 0 || (r = check_program_owner(c)) < 0)
                return r;
        if (place->uid != uid)
                return REFUSE(c, "%s belongs to uid %u, and commands run as uid %u, which must own it", f->workspace, place->uid, uid);
        *ret = place;
        return 0;
}
