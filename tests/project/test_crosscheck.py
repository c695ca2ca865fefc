"""benchmarks/crosscheck.py: our pipeline and the plain tagger see and do the same, step by step."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from spacy.tokens import Doc, Span

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from tests.util import SENTENCES, blank, parse, tiny_bert

torch = pytest.importorskip("torch", reason="needs the extra 'transformers'")
pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
pytest.importorskip("seqeval")

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "papers" / "bert_softmax.cfg"
N_STEPS = 8
NO_PIECE = "\u200b"  # a word that the tokenizer drops


@pytest.fixture(scope="module")
def crosscheck():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import crosscheck
    finally:
        sys.path.pop(0)
    return crosscheck


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    nlp = blank()
    docs = [parse(nlp, text) for text in SENTENCES]
    pieces = Doc(nlp.vocab, words=["Oslo.Rome", "met", "Maria-Jon", "tea"])
    pieces.set_ents([Span(pieces, 0, 1, "GEO"), Span(pieces, 2, 4, "PER")])
    none = Doc(nlp.vocab, words=["In", NO_PIECE, "Rome"])
    none.set_ents([Span(none, 1, 3, "GEO")])
    parts = {"train": [*docs, pieces, none], "dev": docs, "test": [*docs[:4], pieces, none]}
    write_corpus(folder, parts, CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"]))
    return folder


@pytest.fixture
def task(crosscheck, corpus, bert):
    return crosscheck.Task(CONFIG, corpus, str(bert), N_STEPS, 60, 0.01)


def sides(crosscheck, task):
    ours = crosscheck.Ours(task, 0)
    return ours, crosscheck.Plain(task, ours, 0)


def rewritten(folder, old, new):
    """The config with a setting changed."""
    text = CONFIG.read_text(encoding="utf8")
    assert old in text
    (folder / "changed.cfg").write_text(text.replace(old, new), encoding="utf8")
    return folder / "changed.cfg"


def test_words_and_gold(crosscheck, task):
    ours, plain = sides(crosscheck, task)
    batch = next(iter(ours.batches(0)))
    own = ours.nlp.get_pipe("ner")._gold(batch)
    same = crosscheck.plain_batch(batch)
    assert [s.words for s in same] == [[t.text for t in eg.predicted] for eg in batch]
    tags = [tag for s in same for tag in s.tags]
    assert tags == [ours.nlp.get_pipe("ner").codec.tags[i] for i in own.tags]
    assert [plain.model.tags[i] for i in plain.model.gold(same)] == tags
    assert {tag[0] for tag in tags} == set("BIO")
    assert own.lengths.tolist() == [len(s.words) for s in same]


@pytest.mark.parametrize("pooling", ["reduce_mean.v1", "reduce_first.v1"])
def test_a_word_is_the_same_row(pooling, crosscheck, task, tmp_path):
    config = rewritten(tmp_path, "reduce_mean.v1", pooling)
    ours, plain = sides(crosscheck, task._replace(config=config))
    docs = [eg.predicted for eg in ours.corpus(ours.nlp)]
    if pooling == "reduce_first.v1":  # thinc refuses words without a piece
        docs = [doc for doc in docs if NO_PIECE not in doc.text]
    words = [[t.text for t in doc] for doc in docs]
    encoder = ours.nlp.get_pipe("tok2vec")
    encoder.set_annotations(docs, encoder.predict(docs))
    wanted = np.concatenate(ours.nlp.get_pipe("ner").model.get_ref("tok2vec").predict(docs))
    rows = []
    plain.model.output.register_forward_pre_hook(lambda _, given: rows.append(given[0]))
    plain.model.eval()
    with torch.no_grad():
        batch = plain.model.encode(words)
        plain.model(batch)
    n_pieces = torch.bincount(batch.word, minlength=batch.n_words)
    assert (n_pieces.min(), n_pieces.max()) == ((0, 3) if pooling == "reduce_mean.v1" else (1, 1))
    assert np.allclose(wanted, rows[0].numpy(), atol=1e-5)


@pytest.mark.parametrize("optimizer", ["Adam.v1", "longtail.Adam.v1"])
def test_the_same_steps(optimizer, crosscheck, task, tmp_path):
    """Losses and weights, dropout and the learning rates' schedule included."""
    config = rewritten(tmp_path, '"longtail.Adam.v1"', f'"{optimizer}"')
    text = (
        config.read_text(encoding="utf8")
        .replace("eps = 0.00000001", "eps = 1e-13")
        .replace("L2 = 0.01", "L2 = 0.5")
    )
    if optimizer == "Adam.v1":
        text = text.replace("weight_mix = 1.0\n", "")
    config.write_text(text, encoding="utf8")  # thinc adds eps before the correction of bias, torch after
    ours, plain = sides(crosscheck, task._replace(config=config))
    batches = list(itertools.islice(ours.batches(0), N_STEPS))
    same = [crosscheck.plain_batch(batch) for batch in batches]
    torch.manual_seed(1)
    losses = [ours.update(batch) for batch in batches]
    torch.manual_seed(1)
    assert [plain.update(batch) for batch in same] == pytest.approx(losses, rel=1e-3)
    encoder = ours.nlp.get_pipe("tok2vec").model.transformer
    output = ours.nlp.get_pipe("ner").model.get_ref("output_layer")
    assert np.abs(output.get_param("W")).max() > 1e-3
    head = plain.model.output.weight.detach().numpy()[
        [plain.model.column[t] for t in ours.nlp.get_pipe("ner").codec.tags]
    ]
    assert np.allclose(output.get_param("W"), head, atol=1e-4)
    for (name, a), b in zip(encoder.named_parameters(), plain.model.encoder.parameters(), strict=True):
        if not name.endswith("key.bias"):  # attention does not depend on it: its gradient is rounding
            assert torch.allclose(a, b, atol=1e-4), name
    docs = [eg.reference for batch in batches for eg in batch]
    words = [[t.text for t in doc] for doc in docs]
    assert ours.predict(list(map(crosscheck.bare, docs))) == plain.predict(words)
