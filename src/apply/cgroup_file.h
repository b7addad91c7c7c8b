/* Small reads from the files of a cgroup. No heap. */
#pragma once

#include <stdbool.h>

/* Longer than any of the files that are read here; what is longer is cut. */
#define CGROUP_FILE_SIZE 512

/* The text of NAME in the cgroup FD, NUL-terminated. 0 or a negative errno. */
int cgroup_file_read(int fd, const char *name, char text[CGROUP_FILE_SIZE]);
int cgroup_file_read_fd(int file, char text[CGROUP_FILE_SIZE]);

/* Does WORD stand in TEXT, between blanks and line ends? */
bool cgroup_has_word(const char *text, const char *word);

/* Is EVENT ("populated", "frozen") 1 in the text of cgroup.events? */
bool cgroup_event(const char *text, const char *event);
