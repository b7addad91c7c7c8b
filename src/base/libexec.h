/* Where the small programs are that the runtime starts when a bundle needs what they can do (architecture.md, "Helper programs").
 *
 * Such a program runs with the runtime's rights, so its place is fixed when the runtime is built ($(libexecdir)/sage-runtime). The
 * command line alone may name another (--libexec): whoever writes that is the runtime's caller. No bundle, annotation or environment
 * variable can, and nothing is looked for beside the bundle or in PATH. */
#pragma once

#include <limits.h>

/* DIRECTORY, absolute, must live as long as the process. */
void libexec_use(const char *directory);

struct libexec_path { char path[PATH_MAX]; };

/* The path of PROGRAM, "sage-netdev" say. */
struct libexec_path libexec_path(const char *program);
