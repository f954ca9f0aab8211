"""A real HTTP server on this machine that answers as told, and fails as told."""

import json
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: All ways in which a request can fail and may be asked again.
FAULTS = ("429-seconds", "429-date", "500", "503", "hang", "close", "truncated")


class FailingServer:
    """Serves ``answer(body)`` as JSON, unless ``fault(number)`` names a way to fail.

    An answer may be (status, headers, text); requests are counted from 0 as they come.
    `retry_after` is what a 429 says; a hanging request is held `hang` seconds at most.
    """

    def __init__(self, answer, fault=lambda number: None, *, retry_after="0", hang=30.0):
        self.answer, self.fault, self.retry_after, self.hang = answer, fault, retry_after, hang
        self.requests, self.paths, self.authorizations = [], [], set()
        self.under_way = self.most_under_way = 0
        self.lock, self.closing = threading.Lock(), threading.Event()
        outer = self

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 256

            def handle_error(self, request, client_address):
                """Say nothing of clients that hung up."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_POST(self):
                outer.serve(self)

            def log_message(self, *arguments):
                """Say nothing."""

        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Answer nobody any more."""
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def serve(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.lock:
            number = len(self.requests)
            self.requests.append(body)
            self.paths.append(handler.path)
            self.authorizations.add(handler.headers["Authorization"])
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            fault = "close" if self.closing.is_set() else self.fault(number)
            self.fail(handler, fault, body) if fault else self.reply(handler, self.answer(body))
        finally:
            with self.lock:
                self.under_way -= 1

    def fail(self, handler, fault, body):
        if fault == "429-seconds":
            self.reply(handler, (429, {"Retry-After": self.retry_after}, "slow down"))
        elif fault == "429-date":
            self.reply(handler, (429, {"Retry-After": formatdate(usegmt=True)}, "slow down"))
        elif fault in ("500", "503"):
            self.reply(handler, (int(fault), {}, '{"error": {"message": "overloaded"}}'))
        elif fault == "truncated":
            text = json.dumps(self.answer(body))
            self.reply(handler, (200, {"Content-Length": str(len(text) + 50)}, text))
            handler.close_connection = True
        else:
            if fault == "hang":
                self.closing.wait(self.hang)
            handler.close_connection = True

    def reply(self, handler, answer):
        status, headers, text = answer if isinstance(answer, tuple) else (200, {}, answer)
        content = text if isinstance(text, str | bytes) else json.dumps(text)
        content = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
        handler.wfile.flush()
