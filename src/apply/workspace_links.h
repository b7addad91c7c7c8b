/* Names of files that have several: an inode that has more names than a walk came upon has one outside of what was walked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workspace_link {
        uint64_t inode; /* 0: an empty place */
        uint32_t links, seen;
};

/* A hash table with open addressing; zeroed is empty. */
struct workspace_links {
        struct workspace_link *places;
        size_t n, room; /* room: 0 or a power of two */
};

/* One name of INODE, which has LINKS of them, was seen. 0 or -ENOMEM. */
int workspace_links_count(struct workspace_links *links, uint64_t inode, uint32_t count);
/* NULL: never seen. */
const struct workspace_link *workspace_links_find(const struct workspace_links *links, uint64_t inode);
/* Some inode has names that were not seen; its place, or NULL. ALSO (may be NULL): only one of which that holds there, too. */
const struct workspace_link *workspace_links_missing(const struct workspace_links *links, const struct workspace_links *also);
void workspace_links_free(struct workspace_links *links);
