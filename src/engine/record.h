/* The two appends a run leaves in the spool. */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include "base/error.h"
#include "observe/result.h"
#include "spec/spec.h"

/* START, before the command; the caller owns *ret_fd and passes it to record_end. */
int record_start(const struct spec *spec, int *ret_fd, struct error *err);

/* END, after it. */
int record_end(const struct run_result *result, int fd, struct error *err);

#endif
