/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on both sides of a connection. With java_store.c the one door to OpenSSL. */
#include "tls_gateway/tls.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "tls_gateway/java_store.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define BUNDLE_MAX (8u << 20)
#define DAY (24L * 60 * 60)

struct tls_host {
	char *name;
	SSL_CTX *context; /* towards clients */
};

struct tls {
	SSL_CTX *servers; /* towards servers */
	struct tls_host *hosts;
	size_t count;
};

struct tls_session {
	SSL *ssl;
	int alert; /* to end the handshake with; 0: none */
	bool is_distrusted;
};

static const unsigned char protocol[] = "\x08http/1.1";

static int fail(struct error *err, const char *what)
{
	char why[160];

	ERR_error_string_n(ERR_peek_last_error(), why, sizeof(why));
	return error_set(err, ERROR_HOST, "TLS: %s: %s", what, why);
}

static bool add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
	X509_EXTENSION *extension;
	bool is_added;
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
	is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

/* A certificate of KEY without extensions, that begins a day ago: clocks inside may differ. */
static X509 *new_certificate(EVP_PKEY *key, const char *name, X509 *issuer)
{
	X509 *certificate = X509_new();
	X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;
	BIGNUM *number = BN_new();

	if (!subject || !number || BN_rand(number, 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
	    !BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) ||
	    X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    !X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY) ||
	    !X509_gmtime_adj(X509_getm_notAfter(certificate), 365 * DAY) ||
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name,
				       -1, -1, 0) != 1 ||
	    X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject) !=
		    1 ||
	    X509_set_pubkey(certificate, key) != 1) {
		X509_free(certificate);
		certificate = NULL;
	}
	BN_free(number);
	return certificate;
}

static X509 *make_authority(EVP_PKEY *key, const struct strv *hosts)
{
	X509 *authority = new_certificate(key, "aisbx gateway of this sandbox", NULL);
	owned(str_done) struct str names = STR_INIT;

	str_add(&names, "critical");
	for (size_t i = 0; i < hosts->count; i++)
		str_addf(&names, ",permitted;DNS:%s", hosts->items[i]);
	if (authority &&
	    (!add_extension(authority, authority, NID_basic_constraints,
			    "critical,CA:TRUE,pathlen:0") ||
	     !add_extension(authority, authority, NID_key_usage, "critical,keyCertSign") ||
	     !add_extension(authority, authority, NID_subject_key_identifier, "hash") ||
	     !add_extension(authority, authority, NID_name_constraints, str_cstr(&names)) ||
	     X509_sign(authority, key, EVP_sha256()) == 0)) {
		X509_free(authority);
		authority = NULL;
	}
	return authority;
}

static X509 *make_leaf(EVP_PKEY *key, X509 *authority, EVP_PKEY *authority_key, const char *host)
{
	/* A common name has at most 64 bytes; clients read the other one. */
	X509 *leaf = new_certificate(key, "aisbx gateway", authority);
	owned(free_ptr) char *name = xasprintf("DNS:%s", host);

	if (leaf && (!add_extension(leaf, authority, NID_subject_alt_name, name) ||
		     !add_extension(leaf, authority, NID_basic_constraints, "critical,CA:FALSE") ||
		     !add_extension(leaf, authority, NID_key_usage, "critical,digitalSignature") ||
		     !add_extension(leaf, authority, NID_ext_key_usage, "serverAuth") ||
		     !add_extension(leaf, authority, NID_subject_key_identifier, "hash") ||
		     !add_extension(leaf, authority, NID_authority_key_identifier, "keyid") ||
		     X509_sign(leaf, authority_key, EVP_sha256()) == 0)) {
		X509_free(leaf);
		leaf = NULL;
	}
	return leaf;
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (!context)
		return NULL;
	(void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	(void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
						SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
						   SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	return context;
}

/* A client that speaks HTTP/2 alone cannot be served. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
			   const unsigned char *in, unsigned int in_len, void *cookie)
{
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)cookie;
	if (SSL_select_next_proto(&chosen, out_len, protocol, sizeof(protocol) - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int greet(SSL *ssl, int *alert, void *cookie)
{
	const struct tls_session *session = SSL_get_app_data(ssl);

	(void)cookie;
	*alert = session->alert;
	return session->alert ? SSL_CLIENT_HELLO_ERROR : SSL_CLIENT_HELLO_SUCCESS;
}

static SSL_CTX *context_of_leaf(X509 *leaf, EVP_PKEY *key)
{
	SSL_CTX *context = new_context(TLS_server_method());

	if (context && (SSL_CTX_use_certificate(context, leaf) != 1 ||
			SSL_CTX_use_PrivateKey(context, key) != 1)) {
		SSL_CTX_free(context);
		return NULL;
	}
	if (context) {
		SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
		SSL_CTX_set_client_hello_cb(context, greet, NULL);
	}
	return context;
}

/* The host's certificates: the variable's file, else the system's. */
static int read_host_bundle(struct str *ret_text, char **ret_path, struct error *err)
{
	static const char *const places[] = { "/etc/ssl/certs/ca-certificates.crt",
					      "/etc/pki/tls/certs/ca-bundle.crt",
					      "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", NULL };
	const char *given = getenv("SSL_CERT_FILE");

	if (given && *given) {
		*ret_path = xstrdup(given);
		return file_read(AT_FDCWD, given, BUNDLE_MAX, ret_text, err);
	}
	for (const char *const *place = places; *place; place++) {
		if (file_read(AT_FDCWD, *place, BUNDLE_MAX, ret_text, err) == 0) {
			*ret_path = xstrdup(*place);
			return 0;
		}
	}
	return error_advise(err, ERROR_HOST,
			    "install ca-certificates, or name a file by "
			    "SSL_CERT_FILE",
			    "TLS: this machine has no list of certificate authorities");
}

static SSL_CTX *context_of_servers(const struct str *bundle, struct java_store *java_store)
{
	SSL_CTX *context = new_context(TLS_client_method());
	X509_STORE *store = context ? SSL_CTX_get_cert_store(context) : NULL;
	BIO *text = BIO_new_mem_buf(bundle->data, (int)bundle->len);
	X509 *certificate;
	size_t count = 0;

	while (store && text && (certificate = PEM_read_bio_X509_AUX(text, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(store, certificate) == 1 &&
			 java_store_add(java_store, certificate);
		X509_free(certificate);
	}
	ERR_clear_error();
	BIO_free(text);
	if (context && count == 0) {
		SSL_CTX_free(context);
		return NULL;
	}
	if (context) {
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
		(void)SSL_CTX_set_alpn_protos(context, protocol, sizeof(protocol) - 1);
	}
	return context;
}

static bool add_pem(X509 *certificate, struct str *bundle)
{
	BIO *text = BIO_new(BIO_s_mem());
	bool is_written = text && PEM_write_bio_X509(text, certificate) == 1;
	char *bytes;
	long len = is_written ? BIO_get_mem_data(text, &bytes) : 0;

	if (is_written) {
		str_add_char(bundle, '\n');
		str_add_bytes(bundle, bytes, (size_t)len);
	}
	BIO_free(text);
	return is_written;
}

static int make_hosts(struct tls *tls, const struct strv *hosts, struct str *bundle,
		      struct java_store *java_store)
{
	EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *authority = authority_key && key ? make_authority(authority_key, hosts) : NULL;
	bool is_made =
		authority && add_pem(authority, bundle) && java_store_add(java_store, authority);

	tls->hosts = xcalloc(hosts->count + 1, sizeof(*tls->hosts));
	for (size_t i = 0; is_made && i < hosts->count; i++) {
		X509 *leaf = make_leaf(key, authority, authority_key, hosts->items[i]);
		struct tls_host *host = &tls->hosts[tls->count++];

		host->name = xstrdup(hosts->items[i]);
		host->context = leaf ? context_of_leaf(leaf, key) : NULL;
		is_made = host->context != NULL;
		X509_free(leaf);
	}
	X509_free(authority);
	/* All that it signs is signed. */
	EVP_PKEY_free(authority_key);
	EVP_PKEY_free(key);
	return is_made ? 0 : -1;
}

int tls_open(const struct strv *hosts, struct tls **ret_tls, struct tls_trust *ret_trust,
	     struct error *err)
{
	owned(free_ptr) char *path = NULL;
	owned(java_store_done) struct java_store java_store = { 0 };
	struct tls *tls = xcalloc(1, sizeof(*tls));

	*ret_tls = tls;
	if (read_host_bundle(&ret_trust->bundle, &path, err) < 0)
		return -1;
	tls->servers = context_of_servers(&ret_trust->bundle, &java_store);
	if (!tls->servers)
		return error_set(err, ERROR_INPUT, "TLS: no certificate can be read from %s", path);
	if (make_hosts(tls, hosts, &ret_trust->bundle, &java_store) < 0 ||
	    !java_store_write(&java_store, &ret_trust->java_store))
		return fail(err, "no certificate can be made");
	return 0;
}

static struct tls_session *begin(SSL_CTX *context, int fd)
{
	struct tls_session *session = xcalloc(1, sizeof(*session));

	session->ssl = context ? SSL_new(context) : NULL;
	if (!session->ssl || SSL_set_fd(session->ssl, fd) != 1) {
		tls_close(session);
		return NULL;
	}
	(void)SSL_set_app_data(session->ssl, session);
	return session;
}

struct tls_session *tls_to_server(struct tls *tls, const char *host, int fd)
{
	struct tls_session *session = begin(tls->servers, fd);

	if (!session)
		return NULL;
	SSL_set_hostflags(session->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (SSL_set1_host(session->ssl, host) != 1 ||
	    SSL_set_tlsext_host_name(session->ssl, host) != 1) {
		tls_close(session);
		return NULL;
	}
	SSL_set_connect_state(session->ssl);
	return session;
}

struct tls_session *tls_to_client(struct tls *tls, const char *host, int fd)
{
	struct tls_session *session = NULL;

	for (size_t i = 0; i < tls->count && !session; i++) {
		if (strcmp(tls->hosts[i].name, host) == 0)
			session = begin(tls->hosts[i].context, fd);
	}
	if (session)
		SSL_set_accept_state(session->ssl);
	return session;
}

void tls_close(struct tls_session *session)
{
	if (!session)
		return;
	SSL_free(session->ssl);
	free(session);
}

/* What a call that gave RESULT waits for; 0: it is broken. */
static uint32_t events_of(const SSL *ssl, int result)
{
	switch (SSL_get_error(ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return EPOLLIN;
	case SSL_ERROR_WANT_WRITE:
		return EPOLLOUT;
	default:
		return 0;
	}
}

int tls_handshake(struct tls_session *session, uint32_t *ret_events)
{
	int result, reason;

	ERR_clear_error();
	result = SSL_do_handshake(session->ssl);
	if (result == 1)
		return 1;
	*ret_events = events_of(session->ssl, result);
	if (*ret_events)
		return 0;
	reason = ERR_GET_REASON(ERR_peek_error());
	session->is_distrusted = reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA ||
				 reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
				 reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN;
	return -1;
}

ssize_t tls_read(struct tls_session *session, void *buffer, size_t size, uint32_t *ret_events)
{
	size_t got = 0;
	int result, reason;

	ERR_clear_error();
	result = SSL_read_ex(session->ssl, buffer, size, &got);
	if (result == 1)
		return (ssize_t)got;
	if (SSL_get_error(session->ssl, result) == SSL_ERROR_ZERO_RETURN)
		return 0;
	*ret_events = events_of(session->ssl, result);
	if (*ret_events)
		return -1;
	reason = ERR_GET_REASON(ERR_peek_error());
	/* Clients that check certificates late say so here: TLS 1.3 has ended our handshake by then. */
	session->is_distrusted = reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA ||
				 reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
				 reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN;
	return -2;
}

ssize_t tls_write(struct tls_session *session, const void *bytes, size_t len, uint32_t *ret_events)
{
	size_t put = 0;
	int result;

	ERR_clear_error();
	result = SSL_write_ex(session->ssl, bytes, len, &put);
	if (result == 1)
		return (ssize_t)put;
	*ret_events = events_of(session->ssl, result);
	return *ret_events ? -1 : -2;
}

void tls_finish(struct tls_session *session)
{
	ERR_clear_error();
	(void)SSL_shutdown(session->ssl);
}

const char *tls_distrust(const struct tls_session *to_server)
{
	long result = SSL_get_verify_result(to_server->ssl);

	return result == X509_V_OK ? NULL : X509_verify_cert_error_string(result);
}

void tls_pass_distrust(struct tls_session *to_client, const struct tls_session *to_server)
{
	switch (SSL_get_verify_result(to_server->ssl)) {
	case X509_V_OK:
		to_client->alert = SSL_AD_HANDSHAKE_FAILURE;
		return;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		to_client->alert = SSL_AD_CERTIFICATE_EXPIRED;
		return;
	case X509_V_ERR_CERT_REVOKED:
		to_client->alert = SSL_AD_CERTIFICATE_REVOKED;
		return;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
		to_client->alert = SSL_AD_UNKNOWN_CA;
		return;
	default:
		to_client->alert = SSL_AD_BAD_CERTIFICATE;
	}
}

bool tls_is_distrusted(const struct tls_session *to_client)
{
	return to_client->is_distrusted;
}
