/* Where clients come in. */
#pragma once

#include "broker/broker.h"

#include <stdio.h>

struct listener {
        struct source source;
        struct broker *broker;
        int fd;
};

struct listeners {
        struct listener *items;
        size_t n;
        struct deadline resume; /* set while nothing is accepted, for want of descriptors or memory */
        struct broker *broker;
};

/* Adds a listener on "ADDRESS:PORT" (IPv6 in brackets; port 0: any), and says in RET_NAME where it is in the end. */
struct listener_name {
        char text[64];
};
int listeners_add(struct listeners *listeners, const char *where, struct listener_name *ret_name, struct error *err);

int listeners_watch(struct broker *broker);
/* Something was closed, so there may be a descriptor again. */
void listeners_resume(struct broker *broker);
void listeners_close(struct broker *broker);
