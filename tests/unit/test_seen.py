"""Results say so where an encoder was pretrained on the sentences that a model is judged on."""

import pytest
import spacy
import srsly
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_longtail.encoders import TRANSFORMERS, check_encoder
from spacy_longtail.pipes.sources import sources_of
from spacy_longtail.studies.advice import pretrained_candidates
from spacy_longtail.studies.advice.advice import find_candidates
from spacy_longtail.studies.advice.pretrained_candidates import find_pretrained
from spacy_longtail.training import pretrained
from spacy_longtail.training.pretrained import (
    MIN_WORDS,
    SAMPLED,
    SEEN_FILE,
    seen_share,
    sketch,
    warn_seen,
    write_seen,
)
from tests.util import corpus_of, new_file, save_docs

VOCAB = Vocab()


def sentences(name, n):
    return [Doc(VOCAB, words=f"The {name} number {i} left at noon .".split()) for i in range(n)]


def test_a_sample_of_the_longer_sentences_is_kept(tmp_path):
    found = sketch(sentences("ship", 4000))
    assert found.dtype == "<u4" and (found[1:] > found[:-1]).all()
    assert 4000 / SAMPLED * 0.9 < len(found) < 4000 / SAMPLED * 1.1
    assert sketch(sentences("ship", 12)).tolist() == [456404693, 1530798459]
    short = [Doc(VOCAB, words=["See", "page", str(i), "."]) for i in range(200)]
    assert len(short[0]) < MIN_WORDS and not len(sketch(short))
    write_seen(tmp_path, short)
    assert seen_share(tmp_path, [save_docs(tmp_path / "a.spacy", short)]) == 0
    (tmp_path / SEEN_FILE).write_bytes(b"12345")
    with pytest.raises(ValueError, match=r"L274.*damaged"):
        seen_share(tmp_path, [])


def test_the_share_is_that_of_the_sentences_in_common(tmp_path):
    ships, boats = sentences("ship", 1000), sentences("boat", 900)
    write_seen(tmp_path, ships)
    seen = save_docs(tmp_path / "train" / "00000.spacy", ships[:300])  # as with --docs-per-file
    other = save_docs(tmp_path / "train" / "00001.spacy", boats)
    assert seen_share(tmp_path, [seen]) == 1
    assert seen_share(tmp_path, [other]) == 0
    assert seen_share(tmp_path, [tmp_path / "train"]) == pytest.approx(0.25, abs=0.08)
    assert seen_share(tmp_path, [seen, tmp_path / "none.spacy"]) == 1


def test_spaces_and_case_make_no_difference(tmp_path):
    write_seen(tmp_path, sentences("ship", 400))
    nlp = spacy.blank("en")
    shouted = [
        nlp(" ".join(doc.text.split()).replace(" .", ".").upper()) for doc in sentences("ship", 400)
    ]
    assert seen_share(tmp_path, [save_docs(tmp_path / "a.spacy", shouted)]) == 1
    both = Doc.from_docs(sentences("ship", 200))
    for i, token in enumerate(both):
        token.is_sent_start = i % 8 == 0
    assert seen_share(tmp_path, [save_docs(tmp_path / "b.spacy", [both])]) == 1


@pytest.fixture
def corpus(tmp_path):
    def make(times):
        texts = {
            part: [f"The [Fram{i}|SHIP] left [Oslo|PORT] at {time} ." for i in range(60)]
            for part, time in times.items()
        }
        return corpus_of(tmp_path / "corpus" / "-".join(times.values()), **texts)

    return make


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """In the place of the one that comes with the package."""
    folder = new_file(tmp_path / "en_longtail_cnn" / "meta.json", "{}").parent
    monkeypatch.setattr(pretrained_candidates, "shipped_encoder", lambda lang: str(folder))
    monkeypatch.setattr(pretrained_candidates, "share_of_letters", lambda encoder, corpus: 1.0)
    texts = (f"The Fram{i} left Oslo at noon ." for i in range(60))
    write_seen(folder, (Doc(VOCAB, words=text.split()) for text in texts))
    return folder


@pytest.mark.parametrize("place", ["components.tok2vec.source", "initialize.components.ner.pretrained"])
def test_pretraining_sentences_are_compared_with_dev_and_test(place, corpus, encoder, recwarn):
    block = {}
    config = Config({"paths": {"pretrained": str(encoder), "train": None, "count": 3}, **block})
    long = {"PER": "a person " * 40, "GEO": "/" + "x" * 5000, "TIM": "a time\nor date"}
    config["components"] = {"ner": {"descriptions": long}}  # no paths
    known = {"train": "dusk", "dev": "noon"}
    warn_seen(config, corpus(known))  # a method that does not begin with it
    for name in reversed(place.split(".")):
        block = {name: block or str(encoder)}
    config = Config({**config, **block})
    warn_seen(config, corpus({"train": "noon", "dev": "dusk", "test": "dawn"}))  # train may be known
    assert not len(recwarn)
    for parts in (known, {"train": "dusk", "dev": "dawn", "test": "noon"}):
        with pytest.warns(
            UserWarning, match=r"LW103.*en_longtail_cnn was pretrained on (100|5\d|4\d) %"
        ):
            warn_seen(config, corpus(parts))


def test_a_corpus_is_read_once_for_all_methods(corpus, encoder, monkeypatch):
    read = []
    monkeypatch.setattr(pretrained, "seen_share", lambda *given: read.append(given) or 0.0)
    config = Config({"components": {"tok2vec": {"source": str(encoder)}}})
    folder = corpus({"train": "dusk", "dev": "night"})

    for _ in range(3):
        warn_seen(config, folder)

    assert len(read) == 1


def test_an_encoder_that_has_seen_the_corpus_is_not_recommended(corpus, encoder, tmp_path, monkeypatch):
    said = []
    known = corpus({"train": "noon", "dev": "dusk", "test": "dawn"})
    fresh = corpus({"train": "morning", "dev": "dusk", "test": "dawn"})
    assert not any(name.endswith("en_longtail_cnn") for name in find_pretrained(known, said.append))
    assert any("en_longtail_cnn is not tried" in text for text in said)
    assert find_pretrained(fresh)[0].endswith("en_longtail_cnn")
    with pytest.raises(ValueError, match=r"L563.*3. %"):
        find_candidates(known, [str(encoder)])


@pytest.mark.parametrize("name", ["en_longtail_cnn", *TRANSFORMERS])
def test_every_encoder_says_what_it_has_seen(name):
    folder = check_encoder(name)
    sources = sources_of(srsly.read_json(folder / "meta.json"))
    assert len(sources) == 72 and all(source["license"] for source in sources)
    assert (
        (folder / SEEN_FILE).read_bytes()
        == (check_encoder("en_longtail_cnn") / SEEN_FILE).read_bytes()
        != b""
    )
