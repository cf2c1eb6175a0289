/* The sandbox's own network namespace: loopback up, no route, nothing else. */
#ifndef CONFINE_NETWORK_H
#define CONFINE_NETWORK_H

/* Moves the calling process into a new, empty network namespace and brings its loopback up. No heap. */
int network_isolate(void);

/* Joins the network namespace behind PATH below DIR_FD. No heap. */
int network_join(int dir_fd, const char *path);

#endif
