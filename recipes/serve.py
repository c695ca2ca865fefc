"""Serve a trained pipeline over HTTP with the standard library alone.

    python recipes/serve.py training/mine/model-best --port 8080

`GET /health` returns the name and version of the pipeline. `POST /entities` accepts
`{"texts": ["Storm Ida ...", ...]}` and returns the entities of each text, with scores if the
pipeline has them.
"""

import argparse
import json
import signal
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_longtail

MAX_BYTES = 1_000_000  # limit for the body of a request
WARM_UP = ["Storm Ida sank the Cutty Sark off Lisbon.", "No names here."]
SCORES_KEY = "entity_scores"


class RequestError(Exception):
    """Error for a request that cannot be answered, with the HTTP status of the response."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service(ThreadingHTTPServer):
    """HTTP server that shares one pipeline between the threads of its requests."""

    daemon_threads = False  # running requests are answered before the process ends

    def __init__(self, address: tuple[str, int], nlp: Language) -> None:
        """Warm the pipeline up before the port opens.

        address (tuple[str, int]): Host and port; port 0 selects a free one.
        nlp (Language): The pipeline. Its components must be thread-safe.
        """
        find_entities(nlp, WARM_UP)
        self.nlp = nlp
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers one request with JSON."""

    server: Service
    timeout = 30  # seconds after which a silent client loses its thread

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(HTTPStatus.OK, describe(self.server.nlp))
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"no page {self.path}"})

    def do_POST(self) -> None:
        if self.path != "/entities":
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"no page {self.path}"})
            return
        try:
            texts = self._read_texts()
        except RequestError as error:
            self._answer(error.status, {"error": str(error)})
            return
        self._answer(HTTPStatus.OK, {"entities": find_entities(self.server.nlp, texts)})

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a proxy can log requests, and texts may be private."""

    def _read_texts(self) -> list[str]:
        """Return the texts in the body of the request, or raise a RequestError."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "the header Content-Length is missing")
        if int(length) > MAX_BYTES:
            self.close_connection = True  # the body is not read
            message = f"the body has more than {MAX_BYTES} bytes"
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        try:
            texts = json.loads(self.rfile.read(int(length)))["texts"]
        except (ValueError, KeyError, TypeError):
            texts = None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise RequestError(HTTPStatus.BAD_REQUEST, 'the body is not {"texts": ["...", ...]}')
        too_long = [i for i, text in enumerate(texts) if len(text) > self.server.nlp.max_length]
        if too_long:
            message = f"text {too_long[0]} has more than {self.server.nlp.max_length} characters"
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        return texts

    def _answer(self, status: HTTPStatus, content: dict) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def find_entities(nlp: Language, texts: list[str]) -> list[list[dict]]:
    """Return the entities of each text.

    nlp (Language): The pipeline.
    texts (list[str]): The texts of one request.
    RETURNS (list[list[dict]]): The entities of each text with start and end in characters, label,
        text, and score, which is None if the pipeline gives none.
    """
    return [_entities_of(doc) for doc in nlp.pipe(texts)]


def describe(nlp: Language) -> dict[str, str]:
    """Return the name and version of the pipeline and the version of this package."""
    name, version = nlp.meta["name"], nlp.meta["version"]
    return {"pipeline": name, "version": version, "spacy_longtail": spacy_longtail.__version__}


def _entities_of(doc: Doc) -> list[dict]:
    group = doc.spans.get(SCORES_KEY)
    scored = zip(group, group.attrs.get("scores", ()), strict=False) if group else ()
    scores = {(span.start, span.end, span.label_): float(score) for span, score in scored}
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


def main() -> None:
    """Load the pipeline and answer requests until the process is stopped."""
    parser = argparse.ArgumentParser(description="Serve a trained pipeline over HTTP.")
    parser.add_argument("pipeline", help="folder or installed package of a pipeline")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 in a container")
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `docker stop` acts like Ctrl-C
    nlp = spacy.load(Path(options.pipeline) if Path(options.pipeline).is_dir() else options.pipeline)
    with Service((options.host, options.port), nlp) as service:
        host, port = service.server_address[:2]
        print(f"{nlp.meta['name']} answers on http://{host}:{port}", flush=True)
        try:
            service.serve_forever()
        except KeyboardInterrupt:
            print("stopped", flush=True)


if __name__ == "__main__":
    main()
