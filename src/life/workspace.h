/* The workspaces of strict sandboxes, below one --root: who uses which, and what was put into one so that it cannot be made there.
 *
 *   ROOT/.workspaces/DEVICE.INODE/        flock(2) on it serialises those below
 *   ROOT/.workspaces/DEVICE.INODE/ID      a symlink: the sandbox uses it, and its target is a digest of its protected_paths
 *   ROOT/.workspaces/DEVICE.INODE/.N      a symlink to a placeholder, from the workspace; the last sandbox takes it along
 *
 * A protected path holds against the payload of this sandbox and of every other one of the same workspace, so all of them must protect the same;
 * what the host does there is its own affair. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "life/state.h"
#include "spec/plan.h"

/* Claims the workspace of PLAN, a strict sandbox, for CONTAINER, whose status is saved first, and puts a placeholder (an empty file that nobody can
 * write) where a protected path is missing, or the first name on the way to it. CODE_WORKSPACE_INVALID: a living sandbox protects other paths
 * there, or one of them cannot be protected. */
int workspace_claim(struct arena *arena, struct container *container, const struct plan_plan *plan, struct error *err);

/* Gives it back: once no process of the sandbox is there. Nothing to do for another container. */
int workspace_release(const struct container *container, struct error *err);
