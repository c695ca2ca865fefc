"""What a hostile or broken server can do to a prompt, a run and the memory."""

import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler

import pytest

from spacy_longtail.web_client import ChatClient, post_json
from tests.chat_server import ChatServer, chat, running

ANSWER = chat("Oslo").encode()


@pytest.fixture
def servers() -> Iterator[tuple[ChatServer, ChatServer]]:
    with running("Oslo") as server, running("Oslo") as other:
        yield server, other


@pytest.fixture
def server(servers) -> ChatServer:
    return servers[0]


def drip(server: ChatServer, request: BaseHTTPRequestHandler, text: bytes = b" ") -> None:
    """Send bytes one by one until the client has gone, or the test is over."""
    while not server.is_over.wait(0.05):
        request.wfile.write(text)
        request.wfile.flush()


def client_of(server: ChatServer, **settings) -> ChatClient:
    given = {"config": {}, "key_variable": None, "context_length": None, "max_tries": 2, **settings}
    return ChatClient(
        **{"name": "tiny", "endpoint": server.url, "interval": 0.01, "max_request_time": 5.0, **given}
    )


def test_an_answer_is_read(server):
    assert client_of(server)([["Where?", "And where?"], []]) == [["Oslo", "Oslo"], []]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status, servers):
    server, other = servers
    server.respond = lambda request: server.start(request, status, Location=f"{other.url}/steal")
    with pytest.raises(ValueError, match=rf"L292.*leads to '{other.url}/steal'"):
        client_of(server)([["secret"]])
    assert (len(server.bodies), len(other.bodies)) == (1, 0)


def drip_in_headers(server, request):
    request.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
    drip(server, request)


def drip_in_body(server, request, text=b" ", **headers):
    server.start(request, **headers)
    drip(server, request, text)


def say_nothing(server, request):
    server.is_over.wait()


@pytest.mark.parametrize(
    "respond",
    [
        drip_in_headers,
        drip_in_body,
        partial(drip_in_body, Content_Length="1000000"),
        partial(drip_in_body, text=b"1\r\n \r\n", Transfer_Encoding="chunked"),
        say_nothing,
    ],
)
def test_a_slow_server_holds_a_run_no_longer_than_allowed(respond, server):
    server.respond = lambda request: respond(server, request)
    client = client_of(server, max_request_time=0.5)
    start = time.monotonic()
    with pytest.raises(
        ValueError, match=r"L292.*no answer to 2 requests.*no whole answer in 0.5 seconds"
    ):
        client([["secret"]])
    assert time.monotonic() - start < 5
    assert len(server.bodies) == 2


def test_an_answer_without_an_end_is_cut(server):
    sent = []

    def respond(request):
        server.start(request)
        while not server.is_over.is_set():
            request.wfile.write(b" " * 1_000_000)
            sent.append(1_000_000)

    server.respond = respond
    with pytest.raises(ValueError, match=r"L292.*longer than"):
        client_of(server)([["secret"]])
    assert sum(sent) < 50_000_000  # what the system's buffers take, too


def test_an_answer_just_short_enough_is_read(server):
    assert post_json(server.url, {}, "", 5.0, max_bytes=len(ANSWER)) == ("200 OK", ANSWER.decode())
    with pytest.raises(ValueError, match="longer than"):
        post_json(server.url, {}, "", 5.0, max_bytes=len(ANSWER) - 1)


def test_an_answer_that_breaks_off_is_asked_for_again(server):
    def respond(request):
        server.start(request, Content_Length=str(len(ANSWER)))
        request.wfile.write(ANSWER[:5] if len(server.bodies) == 1 else ANSWER)

    server.respond = respond
    assert client_of(server)([["Where?"]]) == [["Oslo"]]


def test_a_compressed_answer_is_not_expanded(server):
    def respond(request):
        server.start(request, Content_Encoding="gzip")
        request.wfile.write(b"\x1f\x8b\x08\x00")

    server.respond = respond
    with pytest.raises(ValueError, match=r"L292.*choices"):
        client_of(server)([["Where?"]])
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_no_other_password_than_the_key_is_sent(server, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password pass\n", encoding="utf8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("TEST_LLM", "abcd1234")
    client_of(server, key_variable="TEST_LLM")([["Where?"]])
    client_of(server)([["Where?"]])
    assert [headers.get("Authorization") for headers in server.headers] == ["Bearer abcd1234", None]
