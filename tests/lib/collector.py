# SPDX-License-Identifier: Apache-2.0
"""A collector of OpenTelemetry on the loopback, and what any message to one consists of."""
import http.server
import queue
import threading

from box import patience


def is_attribute(one):
    (kind, value), = one["value"].items()
    return set(one) == {"key", "value"} and one["key"] and kind in ("stringValue", "intValue") and isinstance(value, str)


class Collector:
    """Takes what is posted; answers what is asked of it: a status, or whatever a function does with the request."""

    def __init__(self):
        self.got = queue.Queue()
        self.answers = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = collector.answers.pop(0) if collector.answers else 200
                collector.got.put((self.path, dict(self.headers), body.decode()))
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self):
        return self.got.get(timeout=patience(60))

    def take_all(self):
        messages = []
        while not self.got.empty():
            messages.append(self.got.get())
        return messages
