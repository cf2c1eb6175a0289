# SPDX-License-Identifier: Apache-2.0
"""A server of S3's own protocol on the loopback, which computes each request's signature itself and stores what it was sent."""
import base64
import contextlib
import hashlib
import hmac
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY, SECRET, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-test-1"
PAGE = 2


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Refusal(Exception):
    """A request that is answered with an error: status and code."""


def canonical(handler, signed, payload):
    """The canonical request, by the rules of Signature Version 4."""
    path, _, query = handler.path.partition("?")
    pairs = sorted((urllib.parse.quote(urllib.parse.unquote(name), safe="-_.~"), urllib.parse.quote(urllib.parse.unquote(value), safe="-_.~"))
                   for name, _, value in (part.partition("=") for part in query.split("&") if part))
    headers = "".join(f"{name}:{' '.join((handler.headers.get(name) or '').split())}\n" for name in signed)
    return "\n".join((handler.command, urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"), "&".join(f"{a}={b}" for a, b in pairs),
                      headers, ";".join(signed), payload))


def check(handler, body):
    """Raises Refusal unless the request is signed by SECRET and its body is what was signed."""
    scheme, _, rest = (handler.headers.get("Authorization") or "").partition(" ")
    fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    payload, date = handler.headers.get("x-amz-content-sha256"), handler.headers.get("x-amz-date") or ""
    if scheme != "AWS4-HMAC-SHA256" or not payload:
        raise Refusal(403, "AccessDenied")
    signed = fields["SignedHeaders"].split(";")
    scope = f"{date[:8]}/{REGION}/s3/aws4_request"
    needed = {"host"} | {name.lower() for name in handler.headers if name.lower().startswith("x-amz-")}
    if fields["Credential"] != f"{KEY}/{scope}" or not needed <= set(signed):
        raise Refusal(403, "InvalidAccessKeyId")
    if abs(time.time() - time.mktime(time.strptime(date, "%Y%m%dT%H%M%SZ")) + time.timezone) > 900:
        raise Refusal(403, "RequestTimeTooSkewed")
    text = "\n".join(("AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical(handler, signed, payload).encode()).hexdigest()))
    key = digest(digest(digest(digest(("AWS4" + SECRET).encode(), date[:8]), REGION), "s3"), "aws4_request")
    if not hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), fields["Signature"]):
        raise Refusal(403, "SignatureDoesNotMatch")
    if payload != hashlib.sha256(body).hexdigest():
        raise Refusal(400, "XAmzContentSHA256Mismatch")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def list(self, query):
        store = self.server.store
        given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        begin = int(base64.b64decode(given["continuation-token"]).decode().strip("~ ?")) if "continuation-token" in given else 0
        prefix = f"/{self.server.bucket}/" + given["prefix"]
        names = sorted(name for name in store if name.startswith(prefix))
        more = begin + PAGE < len(names) or self.server.fault == "endless"
        # A token with every letter that has to be escaped.
        token = base64.b64encode(f"~~ ?{begin + PAGE}~?".encode()).decode()
        keys = "".join(f"<Contents><Key>{name[len(self.server.bucket) + 2:]}</Key></Contents>" for name in names[begin:begin + PAGE])
        text = (f"<ListBucketResult>{keys}<IsTruncated>{str(more).lower()}</IsTruncated>"
                + (f"<NextContinuationToken>{token}</NextContinuationToken>" if more else "") + "</ListBucketResult>")
        self.answer(200, text.encode())

    def put(self, path, body):
        if self.server.fault != "forgets":
            self.server.store[path] = body[:-1] if self.server.fault == "shortens" else body
        self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')

    def get(self, path):
        body = self.server.store.get(path)
        if body is None:
            raise Refusal(404, "NoSuchKey")
        if self.server.fault == "cuts":
            self.answer(200, body[:len(body) // 2], length=len(body))
            self.close_connection = True
        elif self.server.fault == "floods":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(bytes(1 << 20))
        else:
            self.answer(200, body, ETag=f'"{hashlib.md5(body).hexdigest()}"')

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        self.server.seen.append((self.command, self.path))
        try:
            check(self, body)
            if self.server.token and self.headers.get("x-amz-security-token") != self.server.token:
                raise Refusal(403, "InvalidToken")
            if self.command == "PUT":
                self.put(path, body)
            elif query:
                self.list(query)
            else:
                self.get(path)
        except Refusal as why:
            self.answer(why.args[0], f"<Error><Code>{why.args[1]}</Code></Error>".encode())

    do_GET = do_PUT = do_HEAD = handle_one


@contextlib.contextmanager
def server(certificate=None, bucket="kept-things"):
    """The server, with its url, while the block runs. CERTIFICATE: a file with one and its key, for TLS."""
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.daemon_threads = True
    served.store, served.seen, served.fault, served.token, served.bucket = {}, [], None, None, bucket
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        served.socket = context.wrap_socket(served.socket, server_side=True)
    served.url = f"{'https' if certificate else 'http'}://127.0.0.1:{served.server_address[1]}"
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.shutdown()
        served.server_close()
