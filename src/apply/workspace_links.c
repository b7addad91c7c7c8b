#define _GNU_SOURCE
#include "apply/workspace_links.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 256u

/* Whoever chooses inode numbers (the file system) has nothing from choosing them badly; Knuth's multiplier spreads neighbours. */
static struct workspace_link *place_of(const struct workspace_links *links, uint64_t inode) {
        size_t at = (size_t)((inode * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (links->room - 1);

        while (links->places[at].inode && links->places[at].inode != inode)
                at = (at + 1) & (links->room - 1);
        return &links->places[at];
}

static int grow(struct workspace_links *links) {
        struct workspace_links bigger = { .n = links->n, .room = links->room ? 2 * links->room : FIRST_ROOM };

        bigger.places = calloc(bigger.room, sizeof *bigger.places);
        if (!bigger.places)
                return -ENOMEM;
        for (size_t i = 0; i < links->room; i++)
                if (links->places[i].inode)
                        *place_of(&bigger, links->places[i].inode) = links->places[i];
        free(links->places);
        *links = bigger;
        return 0;
}

int workspace_links_count(struct workspace_links *links, uint64_t inode, uint32_t count) {
        struct workspace_link *place;
        int r;

        if (2 * links->n >= links->room && (r = grow(links)) < 0)
                return r;
        place = place_of(links, inode);
        if (place->inode == 0) {
                place->inode = inode;
                links->n++;
        }
        if (place->links < count)
                place->links = count;
        place->seen++;
        return 0;
}

const struct workspace_link *workspace_links_find(const struct workspace_links *links, uint64_t inode) {
        const struct workspace_link *place = links->room ? place_of(links, inode) : NULL;

        return place && place->inode ? place : NULL;
}

static bool missing(const struct workspace_link *place) {
        return place && place->inode && place->seen < place->links;
}

const struct workspace_link *workspace_links_missing(const struct workspace_links *links, const struct workspace_links *also) {
        for (size_t i = 0; i < links->room; i++) {
                const struct workspace_link *place = &links->places[i];

                if (missing(place) && (!also || missing(workspace_links_find(also, place->inode))))
                        return place;
        }
        return NULL;
}

void workspace_links_free(struct workspace_links *links) {
        free(links->places);
        *links = (struct workspace_links){ 0 };
}
