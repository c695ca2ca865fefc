"""A server on this machine that answers requests of the chat protocol as a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ChatServer:
    """Keeps the requests that it gets.

    answer (Callable[[int, Dict], Tuple[int, str]]): Status and body of the answer to a request, by
        its number and its data. With the status 0 the server hangs up.
    respond (Callable[[BaseHTTPRequestHandler], None]): Writes the answer to a connection.
    """

    def __init__(self, content: str) -> None:
        server = self
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.is_over = threading.Event()
        self.answer: Callable[[int, dict], tuple[int, str]] = lambda n, data: (200, chat(content))

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                server.headers.append(dict(self.headers))
                server.respond(self)

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # a client that hung up
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1/chat/completions"

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        status, body = self.answer(len(self.bodies), self.requests[-1])
        if status:
            self.start(request, status)
            request.wfile.write(body.encode())
        else:
            request.connection.close()

    def start(self, request: BaseHTTPRequestHandler, status: int = 200, **headers: str) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()

    @property
    def requests(self) -> list[dict]:
        return [json.loads(body) for body in self.bodies]

    @property
    def prompts(self) -> list[str]:
        return [data["messages"][0]["content"] for data in self.requests]


def chat(content: str) -> str:
    """Return the body of an answer with this content."""
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})


@contextmanager
def running(content: str) -> Iterator[ChatServer]:
    """Run a server that answers every request with this content, unless a test changes that."""
    server = ChatServer(content)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.is_over.set()
    server.http.shutdown()
    server.http.server_close()
    thread.join()
