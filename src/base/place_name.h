/* Short file names for places: what belongs to a path is found again by it, whatever the path's length and bytes are. */
#ifndef BASE_PLACE_NAME_H
#define BASE_PLACE_NAME_H

#define PLACE_NAME_SIZE 19 /* KIND, a dash, 16 hex digits */

/* "u-8a5edab282632443" for KIND 'u' and PATH "/": the first half of the path's sha256. Pure. */
void place_name(char kind, const char *path, char ret_name[static PLACE_NAME_SIZE]);

#endif
