/* SPDX-License-Identifier: Apache-2.0 */
/* What the routes of the agent do. */
#ifndef ENVD_ROUTES_H
#define ENVD_ROUTES_H

#include "envd/call.h"

/* process.c, process_calls.c */
void process_start(struct call *call, const struct value *message);
void process_connect(struct call *call, const struct value *message);
void process_list(struct call *call, const struct value *message);
void process_send_signal(struct call *call, const struct value *message);
void process_send_input(struct call *call, const struct value *message);
void process_stream_input(struct call *call, const struct value *message);
void process_stream_input_end(struct call *call, const char *bytes, size_t len);
void process_close_stdin(struct call *call, const struct value *message);
void process_update(struct call *call, const struct value *message);
bool process_more(struct call *call);
void process_left(struct call *call);

/* entries.c */
void entries_list(struct call *call, const struct value *message);
void entries_stat(struct call *call, const struct value *message);
void entries_make(struct call *call, const struct value *message);
void entries_move(struct call *call, const struct value *message);
void entries_remove(struct call *call, const struct value *message);

/* watch.c */
void watch_stream(struct call *call, const struct value *message);
void watch_left(struct call *call);
void watch_create(struct call *call, const struct value *message);
void watch_events(struct call *call, const struct value *message);
void watch_remove(struct call *call, const struct value *message);

/* transfer.c */
void transfer_download(struct call *call, const struct value *message);
bool transfer_more(struct call *call);
void transfer_upload(struct call *call, const struct value *message);
void transfer_part(struct call *call, const char *bytes, size_t len);
void transfer_left(struct call *call);

/* interpreter.c */
void interpreter_open(struct call *call, const struct value *message);
void interpreter_body(struct call *call, const char *bytes, size_t len);
bool interpreter_more(struct call *call);
void interpreter_left(struct call *call);

#endif
