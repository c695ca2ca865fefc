"""recipes/serve.py on the loopback: health, entities, refused requests, overload, stop."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from importlib import import_module
from threading import Thread
from types import ModuleType

import pytest
import spacy
from spacy.language import Language

from tests.util import ROOT

from .plugin import FACTORIES, wait_for

RECIPES = ROOT / "recipes"
STORM = '{"texts": ["Storm Ida"]}'


@pytest.fixture
def serve(monkeypatch) -> Iterator[ModuleType]:
    """The recipe as a module."""
    monkeypatch.syspath_prepend(RECIPES)
    yield import_module("serve")
    sys.modules.pop("serve")


@pytest.fixture
def nlp(tmp_path) -> Language:
    """A pipeline with a ruler and made-up scores, which waits or fails where a text says so."""
    nlp = spacy.blank("en")
    patterns = [{"label": "GEO", "pattern": "Ōsaka"}, {"label": "NAT", "pattern": "Storm Ida"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    assert "test_scores" in FACTORIES
    nlp.add_pipe("test_scores")
    nlp.add_pipe("test_waits", config={"folder": str(tmp_path)})
    nlp.add_pipe("test_fails")
    nlp.max_length = 200
    return nlp


@contextmanager
def answering(service) -> Iterator[int]:
    """Answer the requests of a service until the block ends. Yields the port."""
    thread = Thread(target=service.serve_forever)
    with service:
        thread.start()
        yield service.server_address[1]
        service.shutdown()
        thread.join()


@pytest.fixture
def port(serve, nlp) -> Iterator[int]:
    """A free port on which the pipeline answers."""
    with answering(serve.Service(("127.0.0.1", 0), nlp)) as port:
        yield port


def send(port: int, method: str, path: str, body: str | bytes | None = None) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    content = body.encode() if isinstance(body, str) else body
    connection.request(method, path, content)
    return connection.getresponse()


def ask(port: int, method: str, path: str, body: str | bytes | None = None) -> tuple[int, dict]:
    answer = send(port, method, path, body)
    return answer.status, json.loads(answer.read())


def status_of_length(port: int, length: str | None) -> int:
    """Return the status of a request whose header says this Content-Length, without a body."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("POST", "/entities")
    if length is not None:
        connection.putheader("Content-Length", length)
    connection.endheaders()
    return connection.getresponse().status


def test_health_names_the_pipeline_and_versions(port):
    status, found = ask(port, "GET", "/health")
    assert status == 200
    assert set(found) == {"pipeline", "version", "spacy_longtail"}


def test_entities_have_characters_labels_and_scores(port):
    status, found = ask(port, "POST", "/entities", '{"texts": ["Storm Ida hit Ōsaka.", ""]}')
    assert status == 200
    storm, city = found["entities"][0]
    assert (storm["start"], storm["end"], storm["label"]) == (0, 9, "NAT")
    assert 0 < storm["score"] < 1
    assert city == {"start": 14, "end": 19, "label": "GEO", "text": "Ōsaka", "score": None}
    assert found["entities"][1] == []


def test_threads_get_the_entities_of_their_own_texts(port):
    texts = [f"Storm Ida, {i} times, {'then Ōsaka' if i % 2 else 'no more'}." for i in range(40)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda t: ask(port, "POST", "/entities", json.dumps({"texts": [t]})), texts)
        )
    assert [len(found["entities"][0]) for _, found in answers] == [1 + i % 2 for i in range(40)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("nothing", 400),
        ('{"texts": "one"}', 400),
        ('{"texts": [1]}', 400),
        (b"\xff\xfe", 400),
        ('{"texts": ["\\ud800"]}', 400),
        ("[" * 900_000, 400),
        ('{"texts": ["' + "x" * 201 + '"]}', 413),
    ],
    ids=["no JSON", "no list", "no text", "no UTF-8", "lone surrogate", "deep", "text too long"],
)
def test_a_body_that_is_wrong_is_refused_and_the_service_goes_on(port, body, status):
    assert ask(port, "POST", "/entities", body)[0] == status
    assert ask(port, "GET", "/health")[0] == 200


@pytest.mark.parametrize(
    ("length", "status"),
    [(None, 411), ("", 400), ("-1", 400), ("1e3", 400), ("9" * 5000, 400), ("1000001", 413)],
    ids=["missing", "empty", "negative", "no integer", "5000 digits", "too long"],
)
def test_a_wrong_content_length_is_refused_before_the_body_is_sent(port, length, status):
    assert status_of_length(port, length) == status


def test_the_sender_of_a_body_that_is_too_long_gets_the_answer(serve, port, monkeypatch):
    monkeypatch.setattr(serve, "DISCARD_SECONDS", 60)
    assert ask(port, "POST", "/entities", "x" * 3_000_000)[0] == 413


def test_the_limits_of_characters_and_texts_can_be_set(serve, nlp):
    service = serve.Service(("127.0.0.1", 0), nlp, max_characters=10, max_texts=2)
    with answering(service) as port:
        long = ask(port, "POST", "/entities", '{"texts": ["short", "12345678901"]}')
        many = ask(port, "POST", "/entities", '{"texts": ["", "", ""]}')
        allowed = ask(port, "POST", "/entities", '{"texts": ["1234567890", ""]}')
    assert long == (413, {"error": "text 1 has more than 10 characters"})
    assert many == (413, {"error": "there are more than 2 texts"})
    assert allowed == (200, {"entities": [[], []]})


def test_head_of_health_has_no_body(port):
    answer = send(port, "HEAD", "/health")
    assert (answer.status, answer.read()) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_other_paths_are_not_found(port):
    assert ask(port, "GET", "/nowhere")[0] == ask(port, "POST", "/health")[0] == 404


def test_a_burst_of_connections_is_answered(serve, nlp):
    request = b"POST /entities HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(STORM), STORM.encode())
    service = serve.Service(("127.0.0.1", 0), nlp, max_requests=200)
    clients = [socket.create_connection(service.server_address, timeout=60) for _ in range(100)]
    with answering(service):  # before, nothing accepted the first connections
        clients += [socket.create_connection(service.server_address, timeout=60) for _ in range(100)]
        for client in clients:
            client.sendall(request)
        answers = []
        for client in clients:
            with closing(client), client.makefile("rb") as file:
                answers.append(file.read())
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.0 200 OK"}


def test_requests_beyond_the_limit_are_told_to_try_again(serve, nlp, tmp_path):
    service = serve.Service(("127.0.0.1", 0), nlp, max_requests=1)
    with answering(service) as port, ThreadPoolExecutor() as threads:
        running = threads.submit(ask, port, "POST", "/entities", '{"texts": ["wait"]}')
        wait_for((tmp_path / "started").exists)
        refused = send(port, "POST", "/entities", STORM)
        health = ask(port, "GET", "/health")
        (tmp_path / "go").touch()
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert health[0] == 200
        assert running.result() == (200, {"entities": [[]]})
        assert ask(port, "POST", "/entities", STORM)[0] == 200


def test_an_error_of_the_pipeline_is_answered_and_logged_without_text_and_address(port, capfd):
    assert ask(port, "POST", "/entities", '{"texts": ["fail Ada"]}')[0] == 500
    log = capfd.readouterr().err
    assert "ValueError" in log and "in fail" in log
    assert "Ada" not in log and "127.0.0.1" not in log
    assert ask(port, "POST", "/entities", STORM)[0] == 200


def test_a_silent_client_is_disconnected(serve, port, monkeypatch, capfd):
    monkeypatch.setattr(serve.Handler, "timeout", 0.1)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"POST /entities HTTP/1.0\r\nContent-Length: 9\r\n\r\n{")
        assert client.recv(1) == b""
    assert capfd.readouterr().err == ""


def test_the_words_of_a_request_are_forgotten(port, nlp):
    assert ask(port, "POST", "/entities", '{"texts": ["Storm Ida, zyzzyva"]}')[0] == 200
    assert "zyzzyva" not in nlp.vocab.strings


def test_a_trained_pipeline_finds_the_same_after_its_words_were_forgotten(serve):
    nlp = spacy.load("en_longtail_cnn")
    nlp.get_pipe("ner").set_labels({"COMPANY": "company", "CITY": "city or town"})
    texts = ["Siemens paid a clinic in Lyon.", "Nobody paid.", "Siemens left Lyon."]
    expected = [[(ent.text, ent.label_) for ent in doc.ents] for doc in nlp.pipe(texts)]
    found = [serve.find_entities(nlp, texts) for _ in range(3)]
    assert expected[0] == [("Siemens", "COMPANY"), ("Lyon", "CITY")]
    for entities in found:
        assert [[(ent["text"], ent["label"]) for ent in of_text] for of_text in entities] == expected


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that can be handled")
def test_a_running_request_is_finished_after_sigterm(nlp, tmp_path):
    nlp.to_disk(tmp_path / "model")
    start = "import tests.recipes.plugin, serve; serve.main()"
    command = [sys.executable, "-c", start, str(tmp_path / "model"), "--port", "0"]
    path = os.pathsep.join([str(ROOT), str(RECIPES), os.environ.get("PYTHONPATH", "")])
    with (
        subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
        ) as process,
        ThreadPoolExecutor() as threads,
    ):
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        running = threads.submit(ask, port, "POST", "/entities", '{"texts": ["wait, Storm Ida"]}')
        wait_for((tmp_path / "started").exists)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: is_closed(port))
        (tmp_path / "go").touch()
        status, found = running.result()
        assert (status, [ent["text"] for ent in found["entities"][0]]) == (200, ["Storm Ida"])
        assert process.wait(timeout=60) == 0
        assert process.stdout.read() == "stopped\n"


def is_closed(port: int) -> bool:
    """Return whether the port refuses connections."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionError:
        return True
    return False
