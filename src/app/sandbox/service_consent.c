/* SPDX-License-Identifier: Apache-2.0 */
/* What the user agreed to of services, and what is remembered of where they keep their state. */
#include "app/config/own_list.h"
#include "app/config/trust.h"
#include "app/prepare/plan_context.h"
#include "app/sandbox/service_parts.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "host/host.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* Which service at a place is meant: another one there, or elsewhere, is not agreed to. */
static char *what_is_trusted(const struct service *service)
{
	return xasprintf("service %s port %u uid %u", service->recipe, service->port, service->uid);
}

int service_check_consent(const struct request *request, const struct spec *spec,
			  const struct service *service, struct error *err)
{
	owned(free_ptr) char *what = what_is_trusted(service);

	if (!request->services_agreed &&
	    !trust_has(spec->config_dir, service->dir, what, strlen(what))) {
		error_set(err, ERROR_CONSENT,
			  "the data of %s (port %u) may be as secret as a password, and you have "
			  "not agreed to clones of it",
			  service->name, service->port);
		return error_add_hint(err, "aisbx services trust %s", service->name);
	}
	if (spec->net != NET_NONE && !request->services_with_network)
		return error_advise(err, ERROR_CONSENT, "--services-with-network",
				    "with a network, the data of %s could leave this machine",
				    service->name);
	return 0;
}

int app_service_trust(const char *name, struct error *err)
{
	owned(services_done) struct services services = { NULL, 0 };
	owned(host_done) struct host host = { 0 };
	struct service *service = NULL;

	if (host_read_self(&host, err) < 0 || services_find(&services, err) < 0 ||
	    services_pick(&services, name, &service, err) < 0)
		return -1;
	if (service->why || !service->dir)
		return error_set(err, ERROR_DENIED, "%s cannot be cloned: %s", name,
				 service->why ? service->why : "it has no state");
	owned(free_ptr) char *what = what_is_trusted(service);

	return trust_add(host.config_dir, service->dir, what, strlen(what), err);
}

/*
 * What the recipe calls the state of SERVICE. Another user's process may stand wherever it likes: only what is that user's own is hidden
 * from root's sandboxes. A mask takes a star for a pattern.
 */
static void add_places(const struct service *service, struct str *text, size_t *count)
{
	const char *row = service->dir ? recipe_get(service->recipe, "hide", 0) : NULL;
	owned(strv_done) struct strv words = STRV_INIT;
	struct error ignored;

	if (!row || !service_owns_dir(service) || recipe_expand(service, row, &words, &ignored) < 0)
		return;
	for (size_t i = 0; i < words.count && *count < SERVICE_PLACES_MAX; i++) {
		if (!strchr(words.items[i], '*') && ++*count)
			str_add_bytes(text, words.items[i], strlen(words.items[i]) + 1);
	}
}

void service_places_keep(const struct services *services)
{
	owned(host_done) struct host host = { 0 };
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int dir_fd = -1;
	struct error ignored;
	size_t count = 0;

	for (size_t i = 0; i < services->count; i++)
		add_places(&services->items[i], &text, &count);
	if (host_read_self(&host, &ignored) < 0 || dir_make_all(host.state_dir) < 0)
		return;
	dir_fd = open(host.state_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (dir_fd >= 0 && flock(dir_fd, LOCK_EX) == 0)
		(void)own_list_replace(dir_fd, SERVICE_PLACES, &text);
}
