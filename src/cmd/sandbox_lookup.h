/* What the options of a sandbox stand for on this host: files are read, users and directories looked up. */
#pragma once

#include "cmd/command.h"
#include "cmd/spec_sandbox.h"

/* Everything of RET but the workspace's numbers, where FRESH stands for a workspace that is still to be made (NULL: one must be named).
 * Nothing is read but what the options name, the host policy, and the host's passwd and terminal. Changes nothing. Errors have the option in
 * err->where. What RET points to lives in the invocation's arena. */
int sandbox_look_up(
        struct invocation *invocation, const struct sandbox_options *o, const char *fresh, struct sandbox_found *ret, struct error *err);

/* Makes the directories of --cache that are not there, for their user. They stay. */
int sandbox_make_caches(const struct sandbox_found *found, struct error *err);
