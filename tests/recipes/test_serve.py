"""recipes/serve.py on the loopback: health, entities of many threads, refused requests."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from threading import Thread

import pytest
import spacy

from .plugin import FACTORIES

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def port(monkeypatch) -> Iterator[int]:
    """A free port on which a pipeline with a ruler and made-up scores answers."""
    monkeypatch.syspath_prepend(RECIPES)
    serve = import_module("serve")
    nlp = spacy.blank("en")
    patterns = [{"label": "GEO", "pattern": "Ōsaka"}, {"label": "NAT", "pattern": "Storm Ida"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)
    assert "test_scores" in FACTORIES
    nlp.add_pipe("test_scores")
    nlp.max_length = 200
    with serve.Service(("127.0.0.1", 0), nlp) as service:
        thread = Thread(target=service.serve_forever)
        thread.start()
        yield service.server_address[1]
        service.shutdown()
        thread.join()
    sys.modules.pop("serve")


def ask(port: int, method: str, path: str, body: str | bytes | None = None) -> tuple[int, dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    content = body.encode() if isinstance(body, str) else body
    connection.request(method, path, content)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


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
        ('{"texts": ["' + "x" * 201 + '"]}', 413),
    ],
    ids=["no JSON", "no list", "no text", "no UTF-8", "text too long"],
)
def test_a_body_that_is_wrong_is_refused_and_the_service_goes_on(port, body, status):
    assert ask(port, "POST", "/entities", body)[0] == status
    assert ask(port, "GET", "/health")[0] == 200


def test_a_body_that_is_too_long_is_refused_before_it_is_sent(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", "/entities")
    connection.putheader("Content-Length", "1000001")
    connection.endheaders()
    assert connection.getresponse().status == 413


def test_other_paths_are_not_found(port):
    assert ask(port, "GET", "/nowhere")[0] == ask(port, "POST", "/health")[0] == 404
