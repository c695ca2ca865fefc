"""spacy-llm behind the gate: the real package, our model, and a local server that misbehaves."""

import json
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Iterable  # noqa: UP035  # spacy-llm compares signatures with these

import pytest
import requests
from spacy.language import Language

pytest.importorskip("spacy_llm", reason="needs the extra 'llm'")

from spacy_llm.registry import registry

from spacy_longtail.corpus.type_words import type_words
from spacy_longtail.models.chat_completions import create_chat_completions
from spacy_longtail.pipes.secondary.gated_pipe import GatedPipe
from tests.chat_server import ChatServer, chat, running
from tests.pipes import gated
from tests.util import entities, from_bytes

TEXT = "ANN saw it . FLAG ANN on the Vega . It rained . FLAG Ida came to Vega ."
LABELS = ["ART", "NAT"]
ANSWER = "1. Ida | True | NAT | a storm\n2. Vega | True | ART | a ship"
FOUND = [("ANN", "PER"), ("ANN", "PER"), ("Vega", "ART"), ("Ida", "NAT"), ("Vega", "ART")]
KEY = "hunter2-and-more"


@registry.llm_models("test.Answers.v1")
def make_model(answer: str) -> Callable[[Iterable[Iterable[str]]], Iterable[Iterable[str]]]:
    def model(prompts: Iterable[Iterable[str]]) -> Iterable[Iterable[str]]:
        for own in prompts:
            yield [answer for _ in own]

    return model


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ANSWER) as own:
        yield own


def pipeline(model: dict, task: dict | None = None, cache: dict | None = None, **settings) -> Language:
    block = {"factory": "llm_ner", "task": {"labels": LABELS, **(task or {})}, "model": model}
    return gated.pipeline(pipe={**block, "cache": cache or {}}, labels=LABELS, batch_size=1, **settings)


def of_server(server: ChatServer, nlp_settings: dict | None = None, **settings) -> Language:
    own = {"@llm_models": "longtail.ChatCompletions.v1", "name": "tiny", "endpoint": server.url}
    waits = {"interval": 0.01, "max_request_time": 5.0, "max_tries": 2, "context_length": 4000}
    return pipeline({**own, **waits, **settings}, **(nlp_settings or {}))


def rescue(nlp: Language) -> GatedPipe:
    return nlp.get_pipe("rescue")


@pytest.mark.filterwarnings("ignore:Task supports sharding")
def test_a_model_function_of_ones_own():
    nlp = pipeline({"@llm_models": "test.Answers.v1", "answer": ANSWER})
    assert entities(nlp(TEXT)) == FOUND
    again = from_bytes(nlp)
    again.tokenizer = nlp.tokenizer
    assert entities(again(TEXT)) == FOUND


def test_a_server_is_asked_once_for_each_flagged_sentence(server):
    words = type_words(LABELS, {"NAT": "a storm with a name"})
    nlp = of_server(server, {"task": {"label_definitions": words}})
    assert [entities(doc) for doc in nlp.pipe([TEXT, "ANN ."])] == [FOUND, FOUND[:1]]
    assert len(server.prompts) == 2 and rescue(nlp).usage["calls"] == 2
    assert ["FLAG ANN on the Vega ." in p for p in server.prompts] == [True, False]
    assert all("NAT: a storm with a name" in p and f"ART: {words['ART']}" in p for p in server.prompts)
    assert not any("ANN saw it" in p or "It rained" in p for p in server.prompts)
    assert {data["model"] for data in server.requests} == {"tiny"}


@pytest.mark.parametrize(
    "answer",
    [
        (200, "no json at all"),
        (200, json.dumps({"choices": []})),
        (200, json.dumps({"error": {"message": "out of credit"}})),
        (400, json.dumps({"error": {"message": "context_length_exceeded"}})),
        (401, json.dumps({"error": {"message": f"Incorrect key Bearer {KEY}"}})),
        (503, "later"),
        (0, ""),
    ],
    ids=lambda own: f"{own[0]} {own[1][:20]}",
)
def test_what_a_server_does_wrong_costs_one_sentence(answer, server, caplog, monkeypatch):
    monkeypatch.setenv("TEST_LLM", KEY)
    server.answer = lambda n, data: answer if "Ida" in json.dumps(data) else (200, chat(ANSWER))
    nlp = of_server(server, key_variable="TEST_LLM")
    assert entities(nlp(TEXT)) == FOUND[:3]
    assert rescue(nlp).usage["failures"] == 1 and rescue(nlp).usage["entities"] == 1
    assert len(server.requests) == (3 if answer[0] in (0, 503) else 2)  # it is asked again
    assert rescue(nlp).usage["calls"] == 2
    assert caplog.text.count("LW062") == 1 and KEY not in caplog.text
    assert {h["Authorization"] for h in server.headers} == {f"Bearer {KEY}"}
    assert KEY.encode() not in nlp.to_bytes() + nlp.config.to_bytes()


@pytest.mark.parametrize("at", [0, 15])
def test_what_was_answered_is_not_sent_again(at, server, tmp_path):
    """Neither at once, nor in the next run if there is a cache."""
    server.answer = lambda n, data: (400 if f"no{at} " in json.dumps(data) else 200, chat(ANSWER))
    cache = {"path": str(tmp_path / "cache"), "batch_size": 1}
    text = " ".join(f"FLAG no{i} on the Vega ." for i in range(16))
    for n_requests in (16, 17):
        nlp = of_server(server, {"cache": cache})
        assert len(nlp(text).ents) == 15
        assert len(server.requests) == n_requests
        assert rescue(nlp).usage["calls"] == 16 and rescue(nlp).usage["failures"] == 1


TIRED = [(0, ""), (429, "slow down"), (502, ""), (503, "later")]  # and hanging up


@pytest.mark.parametrize("answer", TIRED)
def test_a_server_that_is_tired_is_asked_again(answer, server):
    server.answer = lambda n, data: answer if n <= 2 else (200, chat(ANSWER))
    nlp = of_server(server, max_tries=3)
    assert entities(nlp(TEXT)) == FOUND
    assert len(server.requests) == 3 + 1 and rescue(nlp).usage["failures"] == 0
    server.answer = lambda n, data: answer
    assert entities(nlp(TEXT)) == FOUND[:2] and rescue(nlp).usage["failures"] == 2
    assert len(server.requests) == 4 + 2 * 3  # tries are requests


def test_a_server_that_is_not_there(server, monkeypatch):
    server.http.server_close()  # nobody listens
    sent, waits, send = [], [], requests.Session.post
    monkeypatch.setattr(
        requests.Session, "post", lambda own, url, **given: sent.append(url) or send(own, url, **given)
    )
    monkeypatch.setattr("time.sleep", waits.append)
    nlp = of_server(server, {"max_failures": 1}, max_tries=5, interval=1.0)
    with pytest.raises(ValueError, match=r"L290.*L292.*ConnectionError"):
        nlp(TEXT)
    assert len(sent) == 2 * 5 and waits == [1.0, 2.0, 4.0, 8.0] * 2


@pytest.mark.parametrize("key", ["abcd1234efgh", "§"])
def test_a_key_is_masked_whatever_it_and_its_variable_are_called(key, server, caplog, monkeypatch):
    monkeypatch.setenv("MISTRAL", f"{key}\n")  # as a file gives it
    text = f"No: {key}."
    server.answer = lambda n, data: (401, json.dumps({"error": {"message": text}}))
    nlp = of_server(server, {"max_failures": 1}, key_variable="MISTRAL")
    with pytest.raises(ValueError, match=r"L290.*No: \*\*\*") as caught:
        nlp(TEXT)
    assert "No: ***" in caplog.text and text not in caplog.text
    model = create_chat_completions("tiny", server.url, "MISTRAL")
    with pytest.raises(ValueError, match=r"L292.*No: \*\*\*") as own:
        model([["one"]])
    for error in (caught.value, own.value):
        assert not any(text in repr(part) for part in (error, error.__cause__, error.__context__))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", []),
        ("I will not answer.", []),
        ("1. Atlantis | True | ART | not in the text", []),
        ("1. Vega | True | PER | not asked for\n2. Ida | True | SECRET | x", []),
        ("1. ANN | True | NAT | the primary's", []),
        ("1. Vega | False | ART | no\n", []),
        ("1. Vega | True | ART | yes\n" * 50, [("Vega", "ART"), ("Vega", "ART")]),
        ("1. Vega . | True | ART | too long", []),
        ("| | | |\n9999. \x00 | True | ART |", []),
    ],
)
def test_answers_of_any_kind(answer, expected, server):
    """Nothing but entities of the asked types, in flagged sentences, beside the primary's."""
    server.answer = lambda n, data: (200, chat(answer))
    doc = of_server(server)(TEXT)
    assert doc.text == TEXT
    found = [pair for pair in entities(doc) if pair != ("ANN", "PER")]
    assert found == expected or (answer.startswith("1. Vega . ") and {e[1] for e in found} == {"ART"})


def test_a_long_sentence_is_cut_to_the_window(server):
    nlp = of_server(server, context_length=450)
    doc = nlp("FLAG " + "the Vega and " * 200 + ".")
    assert len(server.prompts) > 1 and rescue(nlp).usage["calls"] == 1
    assert rescue(nlp).usage["failures"] == 0
    assert entities(doc) == [("Vega", "ART")] * len(server.prompts)  # an answer names one


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"endpoint": "localhost:8000"}, "L292.*endpoint"),
        ({"endpoint": "file:///etc/passwd"}, "L292.*endpoint"),
        ({"endpoint": "http://me:pass@host/v1"}, "L292.*endpoint"),
        ({"endpoint": "http://me:pass@[host/v1"}, "L292.*endpoint"),
        ({"endpoint": "http://host/v1?version=1&Token=pass#x"}, "L292.*endpoint"),
        ({"endpoint": "http://host/v1?k=pass"}, "L292.*query"),
        ({"endpoint": "http://host/v1?pass"}, "L292.*query"),
        ({"endpoint": "http://host/v1?api-version=pass"}, "L292.*query"),
        ({"endpoint": "http://host/v1?version=1;k=pass"}, "L292.*query"),
        ({"endpoint": "http://host/v1#key=pass"}, "L292.*fragment"),
        ({"endpoint": "http://host/v1;token=pass"}, "L292.*parameters"),
        ({"endpoint": "http://host/v1/key=pass/chat"}, "L292.*parameters"),
        ({"endpoint": "http://host/v1%3Fk%3Dpass"}, "L292.*query"),
        ({"endpoint": "http://host/v1%253Btoken%253Dpass"}, "L292.*parameters"),
        ({"endpoint": "http://me%3Apass%40host/v1"}, "L292.*endpoint"),
        ({"config": {"extra_body": {"api_key": "pass"}}}, "L292.*config.extra_body.api_key"),
        ({"config": {"tools": [{"api_key": "pass"}]}}, "L292.*config.tools.api_key"),
        ({"key_variable": "NOT_SET_ANYWHERE"}, "L292.*'NOT_SET_ANYWHERE'"),
        ({"max_tries": 0}, "L001.*max_tries"),
    ],
)
def test_bad_settings_of_the_model_are_refused(settings, code):
    with pytest.raises(ValueError, match=code) as caught:
        create_chat_completions(**{"name": "tiny", "endpoint": "http://localhost/v1", **settings})
    assert not re.search("pass(?!word)", f"{caught.value!r} {caught.value.__context__!r}")


def test_a_field_that_names_a_cache_is_no_secret():
    fields = {"prompt_cache_key": "garden", "keep_alive": 60}
    assert create_chat_completions("tiny", "http://localhost/v1", config=fields).config == fields


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://[::1]:8000/v1/chat/completions",
        "https://me.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
    ],
)
def test_endpoints_of_servers_and_services_are_accepted(endpoint):
    config = {"max_tokens": 100, "logit_bias": {"50256": -100}}
    assert create_chat_completions("tiny", endpoint, config=config).endpoint == endpoint


def test_a_model_keeps_no_key(server, monkeypatch):
    monkeypatch.setenv("TEST_LLM_KEY", KEY)
    model = create_chat_completions("tiny", server.url, "TEST_LLM_KEY")
    data = pickle.dumps(model)
    assert KEY.encode() not in data and KEY not in repr(model)
    assert list(pickle.loads(data)([["one"], ["two"]])) == [[ANSWER], [ANSWER]]
    assert [h["Authorization"] for h in server.headers] == [f"Bearer {KEY}"] * 2
