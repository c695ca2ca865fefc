"""Serve a trained pipeline over HTTP with the standard library alone.

    python recipes/serve.py training/mine/model-best --port 8080

`GET /health` returns the name and version of the pipeline. `POST /entities` accepts
`{"texts": ["Storm Ida ...", ...]}` and returns the entities of each text, with scores if the
pipeline has them.
"""

import argparse
import json
import signal
import sys
import time
import traceback
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_WR
from threading import Lock, Semaphore, Thread
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_longtail
from spacy_longtail.pipes.scores.spans import read_scores
from spacy_longtail.types import ENTITY_SCORES

MAX_BYTES = 1_000_000  # limit for the body of a request
MAX_CHARACTERS = 20_000  # limit for one text
MAX_TEXTS = 100  # limit for the texts of one request
MAX_REQUESTS = 32  # requests for entities that are predicted or wait for their turn
MAX_CONNECTIONS = 128  # each has a thread; the next one waits in the queue of the operating system
MAX_DIGITS = 18  # of a Content-Length; Python refuses to convert thousands of digits
DISCARD_SECONDS = 2  # for the unread rest of a refused request
MAX_BATCH_CHARACTERS = 20_000  # predicted together; the memory of a prediction grows with them
WARM_UP = ["Storm Ida sank the Cutty Sark off Lisbon.", "No names here."]


class RequestError(Exception):
    """Error for a request that cannot be answered, with the HTTP status of the response."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service(ThreadingHTTPServer):
    """HTTP server with a thread for each connection, whose requests share one pipeline."""

    daemon_threads = False  # running requests are answered before the process ends
    request_queue_size = 128  # connections that the operating system keeps until they are accepted

    def __init__(
        self,
        address: tuple[str, int],
        nlp: Language,
        max_requests: int = MAX_REQUESTS,
        max_characters: int = MAX_CHARACTERS,
        max_texts: int = MAX_TEXTS,
    ) -> None:
        """Warm the pipeline up before the port opens.

        address (tuple[str, int]): Host and port; port 0 selects a free one.
        nlp (Language): The pipeline.
        max_requests (int): Maximum number of requests that are predicted or wait for their turn.
        max_characters (int): Maximum length of a text.
        max_texts (int): Maximum number of texts in a request.
        """
        find_entities(nlp, WARM_UP)
        self.nlp = nlp
        self.max_characters = min(max_characters, nlp.max_length)
        self.max_texts = max_texts
        self._prediction = Lock()
        self._requests = Semaphore(max_requests)
        self._connections = Semaphore(MAX_CONNECTIONS)
        super().__init__(address, Handler)

    def predict(self, texts: list[str]) -> list[list[dict]]:
        """Return the entities of each text, or raise a RequestError if too many requests wait.

        Predictions take turns, since a memory zone frees words that another thread may use.
        """
        if not self._requests.acquire(blocking=False):
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests, try again later")
        try:
            with self._prediction:
                return find_entities(self.nlp, texts)
        except Exception as error:
            log_error()
            raise RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "the pipeline failed") from error
        finally:
            self._requests.release()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start the thread of a connection once there are fewer than MAX_CONNECTIONS."""
        self._connections.acquire()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection after discarding what its client still sends.

        The operating system resets a connection that is closed with unread bytes, and the client
        may lose the answer.
        """
        deadline = time.monotonic() + DISCARD_SECONDS
        with suppress(OSError):
            request.shutdown(SHUT_WR)
            request.settimeout(DISCARD_SECONDS)
            while time.monotonic() < deadline and request.recv(2**16):
                pass
        self.close_request(request)
        self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the current error without the client's address, unless the client went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            log_error()


class Handler(BaseHTTPRequestHandler):
    """Answers one request with JSON."""

    server: Service
    timeout = 10  # seconds after which a silent client loses its thread

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(HTTPStatus.OK, describe(self.server.nlp))
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"no page {self.path}"})

    def do_HEAD(self) -> None:
        self.do_GET()  # _answer leaves the body out

    def do_POST(self) -> None:
        try:
            if self.path != "/entities":
                raise RequestError(HTTPStatus.NOT_FOUND, f"no page {self.path}")
            entities = self.server.predict(self._read_texts())
        except RequestError as error:
            self._answer(error.status, {"error": str(error)})
        else:
            self._answer(HTTPStatus.OK, {"entities": entities})

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a proxy can log requests, and texts may be private."""

    def _read_texts(self) -> list[str]:
        """Return the texts in the body of the request, or raise a RequestError."""
        too_large = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        length = self.headers.get("Content-Length")
        if length is None:
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "the header Content-Length is missing")
        if not length.isdecimal() or len(length) > MAX_DIGITS:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the header Content-Length is not a number")
        if int(length) > MAX_BYTES:
            raise RequestError(too_large, f"the body has more than {MAX_BYTES} bytes")
        try:
            texts = json.loads(self.rfile.read(int(length)))["texts"]
            "".join(texts).encode()  # refuses what is not a text, and half a surrogate pair
        except (ValueError, KeyError, TypeError, RecursionError):
            texts = None
        if not isinstance(texts, list):
            raise RequestError(HTTPStatus.BAD_REQUEST, 'the body is not {"texts": ["...", ...]}')
        if len(texts) > self.server.max_texts:
            raise RequestError(too_large, f"there are more than {self.server.max_texts} texts")
        longest = self.server.max_characters
        too_long = [i for i, text in enumerate(texts) if len(text) > longest]
        if too_long:
            raise RequestError(too_large, f"text {too_long[0]} has more than {longest} characters")
        return texts

    def _answer(self, status: HTTPStatus, content: dict) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")  # seconds
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def find_entities(nlp: Language, texts: list[str]) -> list[list[dict]]:
    """Return the entities of each text. Only one thread at a time may call it for a pipeline.

    nlp (Language): The pipeline.
    texts (list[str]): The texts of one request.
    RETURNS (list[list[dict]]): The entities of each text with start and end in characters, label,
        text, and score, which is None if the pipeline gives none.
    """
    longest = max(map(len, texts), default=0)
    batch_size = max(1, MAX_BATCH_CHARACTERS // max(1, longest))
    with nlp.memory_zone():  # otherwise the process keeps every word that it has seen
        return [_entities_of(doc) for doc in nlp.pipe(texts, batch_size=batch_size)]


def describe(nlp: Language) -> dict[str, str]:
    """Return the name and version of the pipeline and the version of this package."""
    name, version = nlp.meta["name"], nlp.meta["version"]
    return {"pipeline": name, "version": version, "spacy_longtail": spacy_longtail.__version__}


def _entities_of(doc: Doc) -> list[dict]:
    scores = {place: scored.score for place, scored in read_scores(doc, ENTITY_SCORES).items()}
    return [
        {
            "start": ent.start_char,
            "end": ent.end_char,
            "label": ent.label_,
            "text": ent.text,
            "score": scores.get((ent.start, ent.end, ent.label_)),
        }
        for ent in doc.ents
    ]


def log_error() -> None:
    """Log where the current error occurred and its type, but no message, which may quote a text."""
    error_type, _, trace = sys.exc_info()
    name = error_type.__name__ if error_type else ""
    print("".join(traceback.format_tb(trace)), name, sep="", file=sys.stderr, flush=True)


def main() -> None:
    """Load the pipeline and answer requests until the process is stopped."""
    parser = argparse.ArgumentParser(description="Serve a trained pipeline over HTTP.")
    parser.add_argument("pipeline", help="Folder or installed package of a pipeline.")
    parser.add_argument("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0 for all.")
    parser.add_argument("--port", type=int, default=8080, help="Port to listen on.")
    for name, default, text in (
        ("--max-requests", MAX_REQUESTS, "Maximum number of requests that are predicted or wait."),
        ("--max-characters", MAX_CHARACTERS, "Maximum length of a text."),
        ("--max-texts", MAX_TEXTS, "Maximum number of texts in a request."),
    ):
        parser.add_argument(name, type=int, default=default, help=text)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `docker stop` acts like Ctrl-C
    nlp = spacy.load(Path(options.pipeline) if Path(options.pipeline).is_dir() else options.pipeline)
    limits = options.max_requests, options.max_characters, options.max_texts
    with Service((options.host, options.port), nlp, *limits) as service:
        for number in (signal.SIGINT, signal.SIGTERM):  # shutdown waits, so it needs a thread
            signal.signal(number, lambda *_: Thread(target=service.shutdown).start())
        host, port = service.server_address[:2]
        print(f"{nlp.meta['name']} answers on http://{host}:{port}", flush=True)
        service.serve_forever()
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
