/* Forbidden things, one a name. */
#pragma once

/* Tries what is called NAME, with the two sockets that a front has; prints "NAME RESULT ERRNO", unless the kernel ends us. "names": prints
 * all names. */
void attack(const char *name, int tunnel, int listener);
