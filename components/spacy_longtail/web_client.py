"""Requests to servers: `post_json` for any server, and a client for the chat protocol.

No server is trusted: an answer has a deadline and a maximum size, and no redirect is followed, so
that a prompt reaches only the endpoint of the config.
"""

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Timer
from typing import Any, Iterable  # noqa: UP035  # spacy-llm compares signatures with these

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from .errors import Errors
from .types import Block

WHO = "longtail.ChatCompletions.v1"
MASK = "***"
MAX_BYTES = 4 << 20  # of an answer
MAX_SHOWN = 500  # characters of an answer that an error shows
CHUNK = 1 << 16  # bytes that are read at a time
BUSY = (429, 502, 503, 504)  # statuses after which another try may succeed
LOST = (requests.ConnectionError, requests.Timeout)
AS_IT_IS = {"Accept-Encoding": "identity"}  # a small compressed answer could fill the memory


@dataclass(frozen=True)
class ChatClient:
    """Model function of spacy-llm: asks a server for an answer to each prompt.

    The key is read from the environment for each call, so that neither configs nor pickles have it.

    name (str): Name of the model on the server.
    endpoint (str): URL of the server.
    config (Dict[str, Any]): Further fields of a request.
    key_variable (Optional[str]): Environment variable of the key.
    max_tries (int): Maximum number of requests for a prompt.
    interval (float): Seconds before the second request.
    max_request_time (float): Maximum number of seconds until an answer is complete.
    context_length (Optional[int]): Context window of the model in tokens, which spacy-llm asks for.
    """

    name: str
    endpoint: str
    config: Block
    key_variable: str | None
    max_tries: int
    interval: float
    max_request_time: float
    context_length: int | None

    def __call__(self, prompts: Iterable[Iterable[str]]) -> Iterable[Iterable[str]]:
        """Ask for answers to prompts, with one request for each prompt.

        prompts (Iterable[Iterable[str]]): The prompts of each document.
        RETURNS (Iterable[Iterable[str]]): The answers to each document's prompts, in order.
        RAISES (ValueError): If the server does not answer. The message does not show the key.
        """
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        try:
            return [[self._ask(prompt, key) for prompt in own] for own in prompts]
        except Exception as error:  # of requests, of JSON, of answers in another form
            problem = f"{type(error).__name__}: {error}".rstrip(".")
        if key:
            for form in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]):
                problem = problem.replace(form, MASK)
        # raised outside of `except`, so that no traceback contains the server's answer
        raise ValueError(Errors.L292.format(who=WHO, problem=problem[:MAX_SHOWN]))

    def _ask(self, prompt: str, key: str) -> str:
        message = {"role": "user", "content": prompt}
        status, body = self._send({"messages": [message], **self.config, "model": self.name}, key)
        if not status.startswith("200"):
            raise ValueError(f"the server answered {status}: {body}")
        with suppress(KeyError, TypeError, ValueError, RecursionError):
            [choice] = json.loads(body)["choices"]
            if isinstance(content := choice["message"]["content"], str):
                return content
        raise ValueError(f"the answer has no choices[0].message.content: {body}")

    def _send(self, data: Block, key: str) -> tuple[str, str]:
        """Send a request, and again with growing waits while the server is busy or silent."""
        for n in range(self.max_tries):
            if n:
                time.sleep(self.interval * 2 ** (n - 1))
            try:
                status, body = post_json(self.endpoint, data, key, self.max_request_time)
            except LOST as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if not status.startswith(tuple(map(str, BUSY))):
                return status, body
            problem = status
        raise ConnectionError(f"no answer to {self.max_tries} requests, the last: {problem}")


def post_json(
    url: str, data: Block, key: str, seconds: float, max_bytes: int = MAX_BYTES
) -> tuple[str, str]:
    """Send JSON to a server and read its answer.

    url (str): URL of the server.
    data (Dict[str, Any]): The JSON object to send.
    key (str): Bearer token; "" for none.
    seconds (float): Maximum number of seconds until the answer is complete.
    max_bytes (int): Maximum size of the answer.
    RETURNS (Tuple[str, str]): Status with its reason, and the body.
    RAISES (requests.Timeout): If the answer is not complete in time.
    RAISES (ValueError): If the answer is too long, or leads elsewhere.
    """

    def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        return request  # without the password of a .netrc file, which requests would add

    adapter = ClosingAdapter()
    timer = Timer(seconds, adapter.close_all)
    timer.daemon = True
    with requests.Session() as session:
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        session.headers.update(AS_IT_IS)
        timer.start()
        try:
            settings: Block = {"timeout": seconds, "allow_redirects": False, "stream": True}
            with session.post(url, json=data, auth=authorize, **settings) as response:
                if response.is_redirect:
                    place = response.headers["Location"]
                    raise ValueError(f"it leads to {place!r}, and no redirect is followed")
                body = bytearray()
                while chunk := response.raw.read(CHUNK, decode_content=False):
                    body += chunk
                    if len(body) > max_bytes:
                        raise ValueError(f"its answer is longer than {max_bytes} bytes")
        except HTTPError as error:  # of urllib3, while the body is read
            raise requests.ConnectionError(error) from error
        finally:
            timer.cancel()
            if adapter.is_closed.is_set():  # even without an error: a body of unknown length just ends
                raise requests.Timeout(f"no whole answer in {seconds:g} seconds")
    return f"{response.status_code} {response.reason}", body.decode("utf8", "replace")


class ClosingAdapter(HTTPAdapter):
    """Adapter of requests whose connections another thread can close.

    The timeouts of requests are those between two bytes, which a server can send for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_closed = Event()
        self._sockets: list[socket.socket] = []

    def close_all(self) -> None:
        """Close all connections, which ends all reading from them."""
        self.is_closed.set()
        for connected in self._sockets:
            with suppress(OSError, AttributeError):  # closed already, or of TLS within TLS
                connected.shutdown(socket.SHUT_RDWR)

    def get_connection_with_tls_context(self, *args: Any, **settings: Any) -> Any:
        """Return the pool of connections for a request, which remember their sockets."""
        pool = super().get_connection_with_tls_context(*args, **settings)
        adapter = self
        kind: Any = pool.ConnectionCls

        class Connection(kind):
            def connect(self) -> None:
                super().connect()
                adapter._sockets.append(self.sock)
                if adapter.is_closed.is_set():
                    adapter.close_all()

        pool.ConnectionCls = Connection
        return pool
