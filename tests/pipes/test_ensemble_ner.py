"""`longtail_ensemble_ner` says what its members say of each token, wherever it is loaded."""

from itertools import pairwise

import numpy as np
import pytest
import spacy

from spacy_longtail.training.averaging import average
from spacy_longtail.unlabelled.teacher import PoolTeacher, soft_tagger
from tests.util import (
    DESCRIBED_MODEL,
    LISTENER,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    blank,
    entity_offsets,
    examples,
    one_pipe,
    reloaded,
    start_sentences,
    toy_vectors,
    train,
    trained_once,
    two_sentences,
    words,
)

WITH_VECTORS = {**TOKEN_MODEL, "tok2vec": {"@architectures": "longtail.StaticVectors.v1", "width": 16}}
TYPES = ["NAT", "PER", "ART", "GEO"]


def add_ner(nlp, **settings):
    return nlp.add_pipe(
        "longtail_token_ner", name="ner", config={"model": TOKEN_MODEL, "head": "softmax", **settings}
    )


def learnt(nlp, seed=0, steps=12, types=(), **settings):
    """A pipeline whose NER is trained, with its types in an order of its own."""
    ner = nlp.get_pipe("ner") if nlp.has_pipe("ner") else add_ner(nlp, **settings)
    for label in types:
        ner.add_label(label)
    train(nlp, steps, seed)
    return nlp


def plain(seed=0, **settings):
    return trained_once(one_pipe, 25 - 8 * seed, model=TOKEN_MODEL, **settings)[0]


def listening(encoder=None, **settings):
    nlp = one_pipe("tok2vec", "tok2vec", model=SMALL)
    add_ner(nlp, model={**TOKEN_MODEL, "tok2vec": encoder or LISTENER}, **settings)
    return nlp


JOINED = {"@layers": "concatenate.v1", "*": {"shared": LISTENER, "own": SMALL}}

MEMBERS = {
    "softmax and crf": lambda: (learnt(blank()), learnt(blank(), 1, head="crf")),
    "types in other orders": lambda: (
        learnt(blank(), types=TYPES, head="crf"),
        learnt(blank(), 1, types=TYPES[::-1]),
        learnt(blank(), 2, types=TYPES[2:], head="crf"),
    ),
    "described types": lambda: (
        learnt(blank(), steps=4, model=DESCRIBED_MODEL),
        learnt(blank(), 1, steps=3, model=DESCRIBED_MODEL, head="crf", types=TYPES),
    ),
    "shared encoders": lambda: (learnt(listening()), learnt(listening(JOINED, head="crf"), 1)),
    "word vectors": lambda: (learnt(blank()), learnt(toy_vectors(blank()), 1, model=WITH_VECTORS)),
}


def texts_of(nlp):
    return [*(words(nlp, text).text for text in SENTENCES), two_sentences(nlp).reference.text]


def marginals(nlp, docs=None):
    return nlp.get_pipe("ner").tokens.marginals(list(nlp.pipe(texts_of(nlp))) if docs is None else docs)


def in_order(nlp, tags):
    """The marginals of a pipeline, in an order of tags."""
    own = nlp.get_pipe("ner").tokens.codec.tags
    return marginals(nlp)[:, [own.index(tag) for tag in tags]]


def combined(nlp, *others):
    average([nlp, *others], ["first", *(f"other {i}" for i in range(len(others)))])
    return nlp


@pytest.mark.parametrize("about", MEMBERS)
def test_marginals_are_the_mean_of_the_members_in_memory_and_loaded(about, tmp_path):
    nlp, *others = MEMBERS[about]()
    tags = nlp.get_pipe("ner").tokens.codec.tags
    rows = [in_order(own, tags) for own in (nlp, *others)]
    assert all(np.abs(a - b).max() > 0.01 for a, b in pairwise(rows))
    combined(nlp, *others)
    assert nlp.get_pipe("ner").tokens.codec.tags == tags
    for ensemble in (nlp, reloaded(nlp, tmp_path)):
        np.testing.assert_allclose(marginals(ensemble), np.mean(rows, axis=0), atol=1e-6)
    assert nlp.pipe_names == ["ner"]


def test_an_ensemble_of_copies_reads_what_one_reads():
    texts = texts_of(blank())
    expected = [entity_offsets(doc) for doc in plain().pipe(texts)]
    nlp = combined(plain(), plain(), plain())
    assert any(expected) and [entity_offsets(doc) for doc in nlp.pipe(texts)] == expected


def test_weights_go_to_the_member_of_their_name_whatever_the_order_in_the_config():
    nlp = combined(plain(), plain(1, head="crf"))
    config = nlp.config.copy()
    blocks = config["components"]["ner"]["members"]
    config["components"]["ner"]["members"] = dict(reversed(blocks.items()))
    again = spacy.blank("en").from_config(config).from_bytes(nlp.to_bytes())
    # a loaded pipeline may multiply by another library, which rounds in another order
    np.testing.assert_allclose(marginals(again), marginals(nlp), atol=1e-6)


def test_what_others_listen_to_stays():
    nlp, other = listening(), learnt(listening(), 1)
    nlp.add_pipe("senter", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}})
    combined(learnt(nlp), other)
    assert nlp.pipe_names == ["tok2vec", "ner", "senter"]
    assert not any("Listener" in str(m) for m in nlp.get_pipe_config("ner")["members"].values())
    assert nlp.get_pipe("tok2vec").listener_map.keys() == {"senter"}
    assert len(list(nlp.pipe(texts_of(nlp))))


def test_the_config_is_the_whole_story(tmp_path):
    """No reference to what is gone, no settings of what was trained, no scores of the first run."""
    nlp = listening()
    nlp.add_pipe("senter", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": SMALL}})
    config = nlp.config
    width = "${components.tok2vec.model.width}"
    config["components"]["ner"]["model"]["tok2vec"]["width"] = width
    config["components"]["senter"]["model"]["tok2vec"]["width"] = width  # of what is taken away
    nlp = learnt(spacy.blank("en").from_config(config))
    nlp.meta["performance"] = {"ents_f": 0.9}
    nlp.config["initialize"]["components"]["ner"] = {"labels": ["PER"]}
    started = reloaded(nlp, tmp_path / "run")
    text = (tmp_path / "run/config.cfg").read_text(encoding="utf8")
    assert text.count(width) == 2 and "initialize.components.ner" in text
    ensemble = reloaded(combined(started, learnt(listening(), 1)), tmp_path / "ensemble")
    text = (tmp_path / "ensemble/config.cfg").read_text(encoding="utf8")
    assert "${" not in text and "initialize.components.ner" not in text and "loss" not in text
    assert ensemble.meta["performance"] == {}


def test_it_is_not_trained():
    nlp = combined(plain(), plain(1))
    ner = nlp.get_pipe("ner")
    actions = {
        "initialized": lambda: nlp.initialize(lambda: examples(nlp)),
        "trained": lambda: nlp.update(examples(nlp)),
        "type 'SHIP'": lambda: ner.add_label("SHIP"),
        "other types": lambda: ner.set_labels({"SHIP": "ship"}),
    }
    for said, action in actions.items():
        with pytest.raises(ValueError, match=f"L303.*'?ner'? cannot .*{said}.*frozen_components"):
            action()
    assert ner.add_label("NAT") == 0 and "SHIP" not in ner.labels


def test_it_teaches():
    nlp = combined(plain(), plain(1, head="crf"))
    teacher = PoolTeacher(nlp, "ensemble", TYPES)
    assert soft_tagger(nlp) is nlp.get_pipe("ner") is teacher.taggers[0]
    docs = list(nlp.pipe(texts_of(nlp)))
    read = [s for doc in docs for s in teacher.read(doc, [doc[:]], 0.5, True)]
    soft = np.exp(np.concatenate([s.log_p for s in read]).astype("float64"))
    np.testing.assert_allclose(soft, marginals(nlp, docs), atol=2e-3)
    assert any(s.mentions for s in read)


@pytest.mark.parametrize("what", ["language", "tokenizer", "vectors"])
def test_pipelines_that_read_otherwise_are_refused(what):
    first, other = toy_vectors(plain(), width=8), plain(1)
    if what == "language":
        other.lang = "de"
    elif what == "tokenizer":
        other.tokenizer.add_special_case("gimme", [{"ORTH": "gim"}, {"ORTH": "me"}])
    else:
        toy_vectors(other, width=4)
    with pytest.raises(ValueError, match=f"L514.*other 1.*{what}.*first"):
        combined(first, plain(2), other)
    assert first.get_pipe_meta("ner").factory == "longtail_token_ner"  # nothing has changed


def test_sentences_are_those_of_the_first():
    """A chain ends where the first pipeline ends a sentence, in each of the others, too."""
    text = "Maria sailed to Oslo Rome . Old Maria met Jon Berg Storm . Ida passed ."
    first, one = plain(head="crf"), plain(head="crf")
    other = learnt(blank(), 1, types=TYPES[::-1], head="crf")
    first.add_pipe("sentencizer", first=True)
    means = []
    for starts in ([0, 6, 13], []):
        docs = [start_sentences(nlp.make_doc(text), *starts) for nlp in (one, other)]
        p, q = (nlp.get_pipe("ner").tokens.marginals([doc]) for nlp, doc in zip((one, other), docs))
        tags = other.get_pipe("ner").tokens.codec.tags
        means.append((p + q[:, [tags.index(tag) for tag in one.get_pipe("ner").tokens.codec.tags]]) / 2)
    mean, without = means
    assert np.abs(without - mean).max() > 1e-3  # else it would say nothing
    combined(first, other)
    np.testing.assert_allclose(first.get_pipe("ner").tokens.marginals([first(text)]), mean, atol=1e-6)


def test_pipelines_that_cannot_be_averaged():
    several, judged, calibrated = (plain() for _ in range(3))
    several.add_pipe("entity_ruler")
    judged.get_pipe("ner").cfg["thresholds"] = {"PER": 0.5}
    calibrated.get_pipe("ner").cfg["calibration"] = {"*": (1.0, 0.0)}
    others = [{"head": "sigmoid"}, {"head": "two_task"}, {"include": ["PER"]}, {"scheme": "BILUO"}]
    heads = [trained_once(one_pipe, 2, model=TOKEN_MODEL, **own)[0] for own in others]
    for nlp in (*heads, several, judged, calibrated):
        with pytest.raises(ValueError, match=r"L514.*the other"):
            average([plain(), nlp], ["crf", "the other"])
