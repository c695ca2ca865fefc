"""Torch's threads: batches side by side, other threads left alone, and forked processes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest
import spacy
from spacy.tokens import Doc

from tests.util import tiny_bert

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
pytest.importorskip("transformers", reason="needs the extra 'transformers'")

from spacy_longtail.layers import torch_threads  # noqa: E402
from spacy_longtail.layers.torch_threads import openmp_setter, side_by_side  # noqa: E402
from spacy_longtail.models import Transformer  # noqa: E402

needs_openmp = pytest.mark.skipif(openmp_setter() is None, reason="torch's OpenMP cannot be asked")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def threads_of_a_new_thread() -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


@needs_openmp
def test_each_batch_is_read_on_one_thread(three_threads):
    assert side_by_side(lambda batch: (batch, torch.get_num_threads()), "abc") == [
        ("a", 1),
        ("b", 1),
        ("c", 1),
    ]


@needs_openmp
def test_other_threads_keep_their_number_while_batches_are_read(three_threads):
    started, checked = Event(), Event()

    def read(batch: int) -> int:
        started.set()
        assert checked.wait(30)
        return batch

    reader = Thread(target=side_by_side, args=(read, [0, 1]))
    reader.start()
    assert started.wait(30)
    during = threads_of_a_new_thread(), torch.get_num_threads()
    checked.set()
    reader.join()
    assert during == (3, 3)
    assert (threads_of_a_new_thread(), torch.get_num_threads()) == (3, 3)


def test_threads_are_as_before_after_an_error(three_threads):
    with pytest.raises(IndexError):
        side_by_side(lambda batch: [][1], [None, None])
    assert (threads_of_a_new_thread(), torch.get_num_threads()) == (3, 3)


def test_batches_are_read_in_order_where_openmp_cannot_be_asked(three_threads, monkeypatch):
    monkeypatch.setattr(torch_threads, "openmp_setter", lambda: None)
    assert side_by_side(lambda batch: (batch, torch.get_num_threads()), "ab") == [("a", 3), ("b", 3)]


def test_rows_do_not_depend_on_the_number_of_threads(tmp_path, three_threads):
    model = Transformer(str(tiny_bert(tmp_path)), batch_pieces=254)
    model.initialize()
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=["Rome", "sent", "help"] * n) for n in range(1, 60)]
    found = model.predict(docs)
    torch.set_num_threads(1)
    wanted = model.predict(docs)
    for own, expected in zip(found, wanted, strict=True):
        assert own == pytest.approx(expected, abs=1e-5)


SERVE = """
import multiprocessing, sys
import spacy, torch
from spacy.tokens import Doc
from spacy.training import Example
import spacy_longtail

bert, is_used = sys.argv[1], sys.argv[2] == "used"
torch.set_num_threads(2)
transformer = {"@architectures": "longtail.Transformer.v1", "name": bert}
embed = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 64, "attrs": ["NORM"], "rows": [500],
         "include_static_vectors": False}
bilstm = {"@architectures": "longtail.BiLSTM.v1", "hidden_width": 64, "embed": embed}
tagger = {"@architectures": "longtail.TokenClassifier.v1"}
mrc = {"@architectures": "longtail.MRC.v1", "tok2vec": transformer}
queries = {"SHIP": "ships", "TOWN": "towns"}
gate = {"tok2vec": embed, "hidden_width": 64}
PIPES = {
    "transformer": ("longtail_token_ner", {"model": {**tagger, "tok2vec": transformer}}),
    "bilstm": ("longtail_token_ner", {"model": {**tagger, "tok2vec": bilstm}}),
    "mrc": ("longtail_mrc_ner", {"model": mrc, "queries": queries}),
    "spaCy's tagger": ("tagger", {"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": transformer}}),
}
for name in ("RNNCNNGate", "LSTMAttentionGate", "SelfAttentionGate"):
    model = {"@architectures": f"longtail.{name}.v1", **gate}
    PIPES[name] = ("longtail_sentence_gate", {"model": model, "rare_labels": ["SHIP"]})

words = ["Maria", "sailed", "to", "Oslo", "on", "the", "Fram", "."]
starts = [True] + [False] * 7
iob = ["O", "O", "O", "B-TOWN", "O", "O", "B-SHIP", "O"]
texts = [" ".join([*words[:6], f"Fram{i}", "."] * 60) for i in range(6)]
torch.ones(1000, 1000) @ torch.ones(1000, 1000)  # so that OpenMP has started its threads
multiprocessing.set_start_method("fork", force=True)
for name, (factory, config) in PIPES.items():
    nlp = spacy.blank("en")
    nlp.add_pipe(factory, config=config)
    gold = [
        Doc(nlp.vocab, words=words, ents=iob, tags=list("XXXNXXNX"), sent_starts=starts),
        Doc(nlp.vocab, words=words, ents=["O"] * 8, tags=list("XXXXXXXX"), sent_starts=starts),
    ]
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=words), doc) for doc in gold])
    if is_used:
        list(nlp.pipe(texts[:2]))
    by_two = [doc.to_bytes() for doc in nlp.pipe(texts, n_process=2, batch_size=2)]
    assert by_two == [doc.to_bytes() for doc in nlp.pipe(texts)], name
    assert torch.get_num_threads() == 2
    print(name, "is the same", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("use", ["used", "fresh"])
def test_forked_processes_find_the_same_and_end(use, tmp_path, light):
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    variables |= {**light, "TOKENIZERS_PARALLELISM": "true"}
    command = [sys.executable, "-c", SERVE, str(tiny_bert(tmp_path, width=64)), use]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is the same") == 7
