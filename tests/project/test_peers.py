"""benchmarks/peers.py: peers are scored over the same words, each run leaves one record."""

import re
import sys
from pathlib import Path

import pytest
import srsly
from spacy.tokens import Doc

from tests.util import ROOT, blank, tiny_gliner, toy_corpus, toy_docs, write_files

FAKE = '''"""Finds what it read in training."""

from protocol import entities_of, run


def train(task):
    # a comment
    folder = task.folder / "model"
    folder.mkdir()
    names = {}
    for words, tags in task.train:
        for start, end, label, _ in entities_of(tags):
            names[tuple(words[start:end])] = label
    return names, folder


def predict(names, sentences):
    return [
        [(i, i + 1, names[(word,)], 0.75) for i, word in enumerate(words) if (word,) in names]
        for words in sentences
    ]


run(train, predict)
'''


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import peers

    return peers


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "toy", dev=toy_docs(), test=toy_docs())


def test_entities_and_tags(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    import protocol

    tags = ["B-PER", "I-PER", "I-GEO", "O", "B-GEO", "B-GEO"]
    expected = [(0, 2, "PER"), (2, 3, "GEO"), (4, 5, "GEO"), (5, 6, "GEO")]
    assert [e[:3] for e in protocol.entities_of(tags)] == expected
    assert protocol.entities_of(["B-X", "I-X"], [0.5, 1.0]) == [(0, 2, "X", 0.75)]
    assert protocol.in_words(["ab", "c-d"], [(0, 2, "X", None), (3, 4, "Y", 0.5)]) == [
        (0, 1, "X", None),
        (1, 2, "Y", 0.5),
    ]
    assert protocol.in_words(["a-b"], [(2, 3, "Y", None), (0, 1, "X", None)]) == [(0, 1, "X", None)]
    assert protocol.macro_f1(["PER", "GEO"], [["B-PER", "O"]], [["B-PER", "B-GEO"]]) == 0.5


def test_a_run_leaves_one_record(peers, corpus, tmp_path, monkeypatch):
    folder, work, results = tmp_path / "peers", tmp_path / "work", tmp_path / "peers.jsonl"
    protocol = (ROOT / "benchmarks" / "peers" / "protocol.py").read_bytes()
    write_files(folder, {"fake.py": FAKE, "protocol.py": protocol})
    rows = {"fake": {"title": "a fake", "module": "fake", "environment": "here"}}
    srsly.write_yaml(folder / "peers.yml", {"peers": rows, "environments": {"here": []}})
    monkeypatch.setattr(peers, "FOLDER", folder)
    monkeypatch.setattr(peers, "environment", lambda name, work: (work, {"fake": "1.0"}))
    monkeypatch.setattr(peers, "python_of", lambda folder: Path(sys.executable))
    given = {"encoder": tmp_path, "seeds": "0,1", "work": work, "results": results}
    peers.main([corpus], **given)
    peers.main([corpus], **given)  # nothing is left to do
    first, second = srsly.read_jsonl(results)
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["versions"] == {"fake": "1.0"}
    assert first["lines"] == 15
    assert first["test"]["ents_macro_f"] == 0.625
    # the fake finds names of one word: the two of Maria, of five people
    types = first["test"]["ents_per_type"]
    assert types["GEO"]["f"] == 1.0
    assert types["NAT"]["f"] == first["test"]["ents_tail_f"] == 0.0
    assert types["PER"]["r"] == pytest.approx(2 / 5)
    assert first["test"]["calibration_error"] > 0
    task = srsly.read_json(work / "runs" / "toy.fake.0.1.0" / "task.json")
    assert isinstance(task["test"][0][0], str)  # words alone, no tags


def test_calibration_error(peers):
    assert peers.calibration_error([0.9, 0.9, 0.2, 0.2], [True, True, False, False]) == pytest.approx(
        0.15
    )
    assert peers.calibration_error([1.0], [True]) == 0.0


def test_sentences_of_documents(peers):
    doc = Doc(
        blank().vocab, words=["a", "b", "c"], sent_starts=[True, False, True], ents=["O", "O", "B-X"]
    )
    assert [(peers.words_of(d), peers.tags_of(d)) for d in peers.cut(doc)] == [
        (["a", "b"], ["O", "O"]),
        (["c"], ["B-X"]),
    ]


def test_every_environment_is_of_a_peer(peers):
    rows = [*peers.read_peers([]), *peers.read_peers([], "hub")]
    known = srsly.read_yaml(peers.FOLDER / "peers.yml")["environments"]
    assert {peer.environment for peer in rows} == set(known)


@pytest.fixture
def here(peers, monkeypatch):
    """This environment in place of those of peers, and short trainings."""
    monkeypatch.setattr(peers, "environment", lambda name, work: (work, {}))
    monkeypatch.setattr(peers, "python_of", lambda folder: Path(sys.executable))
    return peers


@pytest.mark.slow
def test_stock_and_ours(here, corpus, tmp_path):
    results = tmp_path / "peers.jsonl"
    given = {"seeds": "0", "work": tmp_path / "work", "limit": 8, "results": results}
    here.main([corpus], tmp_path, peers="spacy,light", **given)
    stock, ours = srsly.read_jsonl(results)
    assert stock["test"]["ents_macro_f"] > 0.5 and ours["test"]["ents_macro_f"] > 0.5
    assert stock["test"]["calibration_error"] is None
    assert 0 <= ours["test"]["calibration_error"] < 0.5
    assert min(stock["core_minutes"], ours["core_minutes"], stock["disk_mib"], ours["disk_mib"]) > 0
    assert not (tmp_path / "work" / "runs" / "toy.light.0.1.8" / "model").exists()


@pytest.mark.slow
def test_weights_of_a_hub(here, corpus, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    import hub

    results = tmp_path / "peers.jsonl"
    given = {"work": tmp_path / "work", "results": results}
    hub.main("gliner_medium", [corpus], model=str(tiny_gliner(tmp_path / "gliner")), **given)
    (record,) = srsly.read_jsonl(results)
    assert record["peer"] == "gliner_medium"
    n_mentions = sum(row["support"] for row in record["test"]["ents_per_type"].values())
    assert n_mentions == 14 and record["test"]["calibration_error"] is not None


def test_the_page_says_first_where_peers_are_ahead(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from pages import comparisons

    def record(peer, f, minutes):
        test = {"ents_macro_f": f, "ents_tail_f": f, "ents_f": f, "calibration_error": None}
        costs = {"core_minutes": minutes, "words_per_core_second": 10, "peak_mib": 20, "disk_mib": 1.5}
        return {"peer": peer, "corpus": "crossner_ai", "test": test, "lines": 40, **costs}

    rows = [record("flair", 0.9, 3.0), record("flair", 0.8, 5.0), record("light", 0.6, 1.0)]
    monkeypatch.setattr(comparisons, "measured", lambda: rows)
    first, _, rest = comparisons.render().partition("## What wins where")
    assert re.search(
        r"\| AI \| macro \| 85\.0 \(flair, CRF\) \| [67]\d\.\d \(ours, six layers\) \|", first
    )
    assert "shortest training" not in first
    assert "| flair, CRF | 2 | 4.00 | 10 | 20 | 1.5 | 40 |" in rest
