"""A sidecar, an upstream that answers as told, and a client, for tests; all are real."""

import http.client
import json
import math
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

from dnip import Coefficients

KEY = "Bearer sk-SECRET-0123456789"
FITTED = Coefficients(["a", "b"], [2, 1], 2)
CHOICE = {"type": "choice", "choice": "b"}
LISTED = [{"value": "a", "probability": 0.4}, {"value": "b", "probability": 0.6}]
SYSTEM_ONE = {
    "answers": {
        "topic": {**CHOICE, "probabilities": {"a": 0.4, "b": 0.6}},
        "tone": {"type": "noul", "noul": 0.25},
    },
    "usage": {"input_tokens": 7, "note": "é\ud800"},
}
REFUSAL = {"type": "refusal", "name": "tone"}
OPENAI = {"answers": [{**CHOICE, "name": "topic", "probabilities": LISTED}, REFUSAL]}


def completion(text, *places):
    """A chat completion; each place is a token, and the probabilities of the likeliest there."""
    content = [
        {
            "token": token,
            "logprob": math.log(top[token]),
            "bytes": None,
            "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in top.items()],
        }
        for token, top in places
    ]
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    head = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [{**choice, "logprobs": {"content": content}}]}


def reply(content=b"", status="200 OK", *headers):
    """A whole HTTP answer."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + content


class Upstream:
    """Writes what ``answer`` is, or returns: bytes, or an iterator after which it hangs up."""

    def __init__(self, answer=b""):
        self.answer = answer
        self.requests = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        with suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with suppress(OSError), connection, connection.makefile("rb") as file:
            while line := file.readline():
                head = [line, *iter(file.readline, b"\r\n")]
                headers = dict(row.decode().strip().split(": ", 1) for row in head[1:])
                named = {name.lower(): value for name, value in headers.items()}
                body = file.read(int(named.get("content-length", 0)))
                self.requests.append((line.decode().strip(), named, body))
                answer = self.answer(body) if callable(self.answer) else self.answer
                if not isinstance(answer, bytes):
                    for part in answer:
                        connection.sendall(part)
                    return
                connection.sendall(answer)


def ask(port, path="/v1/systemone", method="POST", body=b"{}", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
    connection.request(method, path, body, {"Authorization": KEY, **(headers or {})})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content, response.headers


def numbers(port):
    """What the sidecar counts, by name and labels."""
    lines = ask(port, "/metrics", "GET", None)[1].decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(number) for name, number in pairs}


def message(answer):
    status, content, _ = answer
    return status, json.loads(content)["error"]["message"]


@contextmanager
def serving(upstream, coefficients, *, grace=60, timeout=200, heads=200, most=None, **settings):
    """Serve from a thread of this process; yields the server, and its port.

    `heads` is what a client has to send a head, and to take an answer.
    """
    from dnip.llm.serving.application import make_app
    from dnip.llm.serving.server import listen, make_server

    app = make_app(upstream, {"topic": coefficients}, timeout=timeout, **settings)
    server = make_server(app, grace=grace, timeout=heads, most=most)
    with listen("127.0.0.1", 0, timeout=heads) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield server, listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def sidecar(upstream, port=0, *options, before=()):
    """A process that serves, and its port; what it said on standard error is left in ``err``."""
    command = [*before, sys.executable, "-m", "dnip", "serve", "--port", str(port)]
    command += ["--upstream", upstream]
    command += [] if "--classes" in options else ["--coefficients", "topic=c.json"]
    command += [*options] if "--drain" in options else [*options, "--drain", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.port = int(re.search(r"http://\S+:(\d+)", process.stdout.readline())[1])
        try:
            yield process
        finally:
            process.terminate()
            process.err = process.stderr.read()


def decision(body):
    """An answer that depends on the request, so that none can take another's place."""
    a = (body["state"] * 37 % 101 + 1) / 103
    probabilities = {"a": a, "b": 1 - a}
    choice = max(probabilities, key=probabilities.get)
    answer = {"type": "choice", "choice": choice, "probabilities": probabilities}
    return {"answers": {"topic": answer}}
