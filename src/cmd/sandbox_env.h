/* The variables that --env and --env-file of a sandbox come to. */
#pragma once

#include "base/arena.h"
#include "cmd/options.h"

/* Those of the files first, then the others, each in the order in which it was given. What is only named has the value that getenv(3) says;
 * one that is not set is an error. Errors have the option in err->where and never a value in their text. */
int sandbox_environment(
        struct arena *arena, const struct text_list *env, const struct text_list *files, struct text_list *ret, struct error *err);

/* A file's text: NAME=VALUE a line, to the line's end as it is; empty lines and those that begin with '#' say nothing. Appends to RET. */
int sandbox_environment_parse(
        struct arena *arena, const char *file, const char *text, size_t size, struct text_list *ret, struct error *err);

/* Appends ITEM, which must live as long as LIST. */
void text_list_add(struct arena *arena, struct text_list *list, const char *item);
