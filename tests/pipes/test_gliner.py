"""`longtail_gliner` on a tiny GLiNER of random weights, with the package's own predictions as the oracle."""

import inspect
import json
import re
import shutil
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from thinc.api import ConfigValidationError

from spacy_longtail.evaluation.calibration import entity_outcomes
from spacy_longtail.evaluation.thresholds import Goal, fit_thresholds
from spacy_longtail.pipes.gliner_ner import make_gliner_ner
from spacy_longtail.pipes.windows import (
    Found,
    Limits,
    Window,
    Words,
    cut_windows,
    on_doc,
    on_tokens,
    own_entities,
    token_bounds,
)
from spacy_longtail.unlabelled.silver import Policy, Selection
from spacy_longtail.unlabelled.teacher import DOUBTS, Pass, Teacher, annotate
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    blank,
    examples,
    found,
    parse,
    shared_gliner,
    small_ner,
    tiny_bert,
    tiny_gliner,
    train,
    words,
)

pytest.importorskip("gliner", reason="needs the extra 'gliner'")

ROOT = Path(__file__).parents[2]
LABELS = ["PER", "GEO", "ART", "NAT"]
WORDS = ["person", "town or country", "ship", "storm"]
VOCAB = blank().vocab
TOLD = dict(zip(LABELS, WORDS, strict=True))
TEXTS = [
    "Maria sailed to Oslo on the Fram.",
    "Nobody saw Storm Ida coming, said Jon Berg. Rome sent help when it passed.",
    "",
    "Old Maria sold the Fram in Oslo",
    "   ",
    "Rome",
]


def build(model=None, **given):
    nlp = blank()
    config = {"model_name": model or shared_gliner(), "labels": LABELS, "scores_key": "entity_scores"}
    nlp.add_pipe("longtail_gliner", name="own", config={**config, "descriptions": TOLD, **given})
    return nlp


@pytest.fixture(scope="module")
def nlp():
    """Of all tests that change nothing."""
    return build()


KINDS = {
    "spans": {},
    "tokens": {"span_mode": "token_level", "seed": 1},
    "bi_encoder": {"bi_encoder": True, "seed": 4},
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request, tmp_path_factory):
    """The folder of a model of each kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a bi-encoder does with its tokens
        return str(tiny_gliner(tmp_path_factory.mktemp("gliner"), **KINDS[request.param]))


def oracle(nlp, text, threshold=0.5):
    """What the package finds: characters, type and score."""
    pipe = nlp.get_pipe("own")
    types = pipe.cfg["types"]
    of = {told: label for label, told in types.items()}
    rows = pipe.gliner.model.predict_entities(text, list(of), threshold=threshold)
    return [(e["start"], e["end"], of[e["label"]], e["score"]) for e in rows]


def scored(doc):
    group = doc.spans["entity_scores"]
    assert list(group) == list(doc.ents)
    return [
        (s.start_char, s.end_char, s.label_, score)
        for s, score in zip(group, group.attrs["scores"], strict=True)
    ]


def same(first, second):
    assert [row[:3] for row in first] == [row[:3] for row in second]
    assert [row[3] for row in first] == pytest.approx([row[3] for row in second], abs=1e-5)


# What it finds


def test_it_finds_what_the_package_finds(kind):
    nlp = build(kind)
    docs = list(nlp.pipe(TEXTS))
    assert len({row[2] for doc in docs for row in scored(doc)}) > 1
    data = nlp.to_bytes()
    again = blank().from_config(nlp.config).from_bytes(data)
    for text, doc in zip(TEXTS, docs, strict=True):
        expected = oracle(nlp, text)
        for own in (doc, nlp(text), again(text)):
            same(scored(own), expected)
    assert nlp.to_bytes() == again.to_bytes() == data  # whatever was read since


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_a_batch_is_read_like_one_by_one(nlp, batch_size):
    texts = [text.replace(" .", ".") for text in (*TEXTS, *TEXTS[::-1], " ".join(TEXTS[:2] * 3))]
    batched = build(batch_size=batch_size)
    for text, doc in zip(texts, batched.pipe(texts, batch_size=5), strict=True):
        same(scored(doc), scored(nlp(text)))


def test_prediction_draws_nothing_at_random(nlp):
    torch = pytest.importorskip("torch")
    before = torch.get_rng_state()
    assert nlp(TEXTS[0]).ents
    assert torch.equal(torch.get_rng_state(), before)


ODD = st.text(st.sampled_from("aZé-_.'’ \n\t\u00a0\u200b\u200d\ufe0f❤👍🏽日本ß1,"), max_size=40)


@settings(max_examples=60)
@given(texts=st.lists(ODD, min_size=1, max_size=4))
def test_odd_characters_move_nothing(texts):
    """What the tokenizer makes nothing of is as good as a space, of which the package knows nothing."""
    nlp = build_once()
    pipe = nlp.get_pipe("own")
    seen = pipe.gliner.words(texts)
    for text, own, doc in zip(texts, seen, nlp.pipe(texts), strict=True):
        assert len(own.text) == len(text) and (own.sizes > 0).all()
        assert [own.text[a:b] for a, b in zip(own.starts, own.ends, strict=True)] == [
            text[a:b] for a, b in zip(own.starts, own.ends, strict=True)
        ]
        free = np.ones(len(text), dtype=bool)
        for a, b in zip(own.starts, own.ends, strict=True):
            free[a:b] = False
        assert all(own.text[i].isspace() for i in np.flatnonzero(free))
        expected = [
            (doc.char_span(a, b, alignment_mode="expand"), label, score)
            for a, b, label, score in oracle(nlp, own.text)
        ]
        found = [(span, span.label_) for span in doc.spans["entity_scores"]]
        assert {(s.start, s.end, label) for s, label in found} <= {
            (s.start, s.end, label) for s, label, _ in expected
        }
        taken = [i for span, _ in found for i in range(span.start, span.end)]
        assert len(taken) == len(set(taken))
        for span, *_ in expected:  # each is there, or something overlaps it
            assert set(range(span.start, span.end)) & set(taken)
        assert not any(span[0].is_space or span[-1].is_space for span, _ in found)


_BUILT = []


def build_once():
    if not _BUILT:
        _BUILT.append(build())
    return _BUILT[0]


def test_a_zero_width_space_does_not_move_what_follows(nlp):
    text = "\u200b Maria sailed \u200b to Oslo on the Fram."
    own = [(text[a:b], label) for a, b, label, _ in scored(nlp(text))]
    plain = text.replace("\u200b", " ")
    assert own == [(plain[a:b], label) for a, b, label, _ in oracle(nlp, plain)] and own
    package = [(text[a:b], label) for a, b, label, _ in oracle(nlp, text)]
    assert package != own  # else `Words` need not leave anything out


# Characters and tokens


@st.composite
def documents(draw):
    parts = st.text(st.sampled_from("aé日👍🏽❤\ufe0f-."), min_size=1, max_size=4)
    tokens = draw(st.lists(st.one_of(parts, st.sampled_from(["\n", "  "])), min_size=1, max_size=8))
    spaces = draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    return Doc(VOCAB, words=tokens, spaces=spaces)


@given(doc=documents(), data=st.data())
def test_characters_on_tokens_are_those_of_spacy(doc, data):
    text = doc.text
    places = [i for i, letter in enumerate(text) if not letter.isspace()]
    if not places:
        return
    chosen = st.tuples(st.sampled_from(places), st.sampled_from(places)).map(sorted)
    rows = data.draw(st.lists(chosen, min_size=1, max_size=4))
    starts, ends = np.asarray([(a, b + 1) for a, b in rows]).T
    first, last = on_tokens(starts, ends, token_bounds(doc))
    spans = [doc.char_span(a, b, alignment_mode="expand") for a, b in zip(starts, ends, strict=True)]
    assert list(zip(first, last, strict=True)) == [(span.start, span.end) for span in spans]


def test_a_span_that_cuts_a_token_takes_it_whole():
    doc = blank()("They don't know.")  # do, n't
    assert [token.text for token in doc[1:3]] == ["do", "n't"]
    [span] = on_doc(doc, [Found(5, 8, "PER", 0.7)])  # don
    assert doc[span.start : span.end].text == "don't"
    both = [Found(5, 8, "PER", 0.7), Found(8, 10, "GEO", 0.8)]
    assert [(s.label, s.score) for s in on_doc(doc, both)] == [("GEO", 0.8)]  # both have n't


def test_no_entity_crosses_a_boundary_or_takes_what_is_taken():
    doc = Doc(blank().vocab, words=["Jon", "Berg", "left", "Rome", "."], sent_starts=[1, 0, 1, 0, 0])
    ends = np.cumsum([len(token) + 1 for token in doc])
    at = [(0, 4), (4, 9), (9, 14), (14, 19), (19, 20)]
    assert ends[-1] == 21

    def kept(*tokens):
        return bool(on_doc(doc, [Found(at[tokens[0]][0], at[tokens[-1]][1] - 1, "PER", 0.9)]))

    assert kept(0, 1) and kept(1) and kept(2, 3) and not kept(1, 2) and not kept(0, 2)
    doc.set_ents([Span(doc, 0, 2, label="GIVEN")], blocked=[doc[3:4]], default="outside")
    assert not kept(0, 1) and not kept(1) and kept(2) and not kept(2, 3) and kept(4)


# Windows


def test_an_entity_is_of_the_window_that_it_begins_in_the_middle_of():
    words = Words("ab cd ef gh ij", np.arange(0, 15, 3), np.arange(2, 16, 3), np.ones(5, dtype="int64"))
    window = Window(1, 5, 2, 4)  # cd ef gh ij, of which ef and gh are its own
    found = [Found(a, b, "PER", 0.5) for a, b in ((0, 2), (0, 5), (3, 5), (3, 11), (6, 11), (9, 11))]
    own = list(own_entities(found, words, window))
    assert [words.text[one.start : one.end] for one in own] == ["ef", "ef gh ij", "gh ij"]


@settings(max_examples=300)
@given(
    sizes=st.lists(st.integers(1, 6), max_size=60),
    breaks=st.sets(st.integers(0, 60), max_size=8),
    n_words=st.integers(1, 12),
    pieces=st.one_of(st.just(float("inf")), st.integers(1, 20)),
    overlap=st.integers(0, 8),
)
def test_windows_hold_all_words_and_no_more_than_fits(sizes, breaks, n_words, pieces, overlap):
    sizes, breaks = np.asarray(sizes, dtype="int64"), np.asarray(sorted(breaks), dtype="int64")
    windows = cut_windows(sizes, breaks, Limits(n_words, pieces, overlap))
    own = [i for w in windows for i in range(w.first, w.last)]
    assert own == list(range(len(sizes)))
    bounds = [0, *(b for b in breaks.tolist() if 0 < b < len(sizes)), len(sizes)]
    for w in windows:
        assert w.start <= w.first < w.last <= w.end <= w.start + n_words
        assert sizes[w.start : w.end].sum() <= pieces or w.end == w.start + 1
        n_sentences = sum(w.start < b < w.end for b in bounds) + 1
        assert n_sentences == 1 or (w.start in bounds and w.end in bounds)  # whole ones
    for a, b in pairwise(bounds):
        if 0 < b - a <= n_words and sizes[a:b].sum() <= pieces:
            assert any(w.start <= a and b <= w.end for w in windows)
    for one, two in pairwise(windows):  # as many sentences as fit
        if one.end == two.start and one.start in bounds and two.start in bounds:
            stop = min(b for b in bounds if b > two.start)
            too_long = stop - one.start > n_words or sizes[one.start : stop].sum() > pieces
            assert too_long or one.end - one.start > n_words or one.first != one.start
    half = overlap // 2
    for w in windows:  # what begins in a cut window is seen whole, where the window is large enough
        if w.last < w.end and overlap <= (w.end - w.start) // 2 and pieces == float("inf"):
            assert w.end - w.last >= half


def test_a_long_document_is_read_as_whole_sentences(nlp):
    """Packs of sentences give what they give as documents of their own."""
    docs = [words(nlp, text) for text in SENTENCES * 3]
    for doc in docs:
        for token in doc:
            token.is_sent_start = token.i == 0
    packs, n = [[]], 0
    for doc in docs:
        if n + len(doc) > 40:
            packs.append([])
            n = 0
        packs[-1].append(doc)
        n += len(doc)
    assert len(packs) > 4
    expected, offset = [], 0
    for pack in packs:
        part = nlp(Doc.from_docs(pack))
        expected += [(a + offset, b + offset, label) for a, b, label in found(part)]
        offset += len(part)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the package warns where it cuts
        long = nlp(Doc.from_docs(docs))
    assert found(long) == expected and expected


def test_one_long_sentence_is_read_to_its_end(nlp):
    text = " ".join(["Maria sailed to Oslo on the Fram and"] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = nlp(text)
    assert max(ent.end for ent in doc.ents) > len(doc) - 8
    gaps = np.diff([0, *(ent.start for ent in doc.ents), len(doc)])
    assert gaps.max() < 20
    assert len({(ent.start, ent.end) for ent in doc.ents}) == len(doc.ents)


def test_windows_of_words_with_many_pieces_are_shorter(tmp_path, monkeypatch):
    nlp = build(str(tiny_gliner(tmp_path, n_positions=64)))
    pipe = nlp.get_pipe("own")
    texts = []
    inference = pipe.gliner.model.inference

    def seen(given, *args, **settings):
        texts.extend(given)
        return inference(given, *args, **settings)

    monkeypatch.setattr(pipe.gliner.model, "inference", seen)
    tokenizer = pipe.gliner.model.data_processor.transformer_tokenizer
    text = "Storm Ida 1,2,3 passed -- it was (they said) 'quiet' ... in Rome, Oslo and 4.5.6.7.8 !"
    doc = nlp(" ".join([text] * 8))
    prompt = [*(part for told in WORDS for part in ("<<ENT>>", told)), "<<SEP>>"]
    assert len(texts) > 3
    for part in texts:
        split = [word for word, *_ in pipe.gliner.model.data_processor.words_splitter(part)]
        pieces = tokenizer([*prompt, *split], is_split_into_words=True, truncation=False)["input_ids"]
        assert len(pieces) <= 62 and len(split) <= 40
    assert max(ent.end for ent in doc.ents) > len(doc) - 8


def test_max_words_is_at_most_what_the_model_reads(nlp):
    text = " ".join(TEXTS[:2])
    small = build(max_words=6)
    assert scored(small(text)) != scored(nlp(text))
    with pytest.raises(ValueError, match=r"L299.*own.*max_words = 41 is more than the 40"):
        build(max_words=41)(text)
    same(scored(build(max_words=40)(text)), scored(nlp(text)))


def test_words_for_the_types_leave_room_for_text():
    told = {label: " ".join([word] * 30) for label, word in TOLD.items()}
    with pytest.raises(ValueError, match=r"L299.*pieces of 126"):
        build(descriptions=told)("Maria left.")


# Types and settings


@pytest.mark.parametrize(
    ("given", "types"),
    [
        (
            {"descriptions": {}},
            {"PER": "person", "NAT": "natural phenomenon, such as a storm or disease"},
        ),
        ({"descriptions": {"PER": "", "NAT": " a  storm "}}, {"PER": "person", "NAT": "a storm"}),
        ({"labels": [], "descriptions": {"NAT": "storm", "CreativeWork": ""}}, None),
    ],
)
def test_types_are_told_in_words(given, types):
    pipe = build(**{"labels": ["PER", "NAT"], **given}).get_pipe("own")
    expected = types or {"NAT": "storm", "CreativeWork": "creative work"}
    assert pipe.cfg["types"] == expected and list(pipe.labels) == list(expected) == pipe.label_data


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"descriptions": {"PER": " \n"}}, "L297.*blank text for PER"),
        ({"descriptions": {"PER": "Ship", "ART": "ship "}}, "L297.*same text for PER and ART"),
        ({"descriptions": {"GEO": "person"}}, "L297.*same text for PER and GEO"),
        ({"descriptions": {"SHIP": "ship"}}, "L203.*descriptions.*SHIP"),
        ({"labels": ["PER", "PER"]}, "L204"),
        ({"labels": [" "], "descriptions": {}}, "L204"),
        ({"model_name": " "}, "L001.*model_name"),
        ({"threshold": 0.0}, "L001.*threshold"),
        ({"threshold": 1.0}, "L001.*threshold"),
        ({"threshold": "nan"}, "L001.*threshold"),
        ({"max_words": 0}, "L001.*max_words"),
        ({"batch_size": 0}, "L001.*batch_size"),
        ({"thresholds": {"SHIP": 0.7}}, "L203.*thresholds.*SHIP"),
        ({"thresholds": {"PER": 0.6}, "scores_key": None}, "L251"),
        ({"abstain_key": "low"}, "L213.*abstain_key"),
        ({"spans_key": "entity_scores"}, "L257"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, problem):
    with pytest.raises(ValueError, match=problem):
        build(**{"descriptions": {}, **given})


def test_the_model_has_to_be_named():
    with pytest.raises(ConfigValidationError, match="model_name"):
        blank().add_pipe("longtail_gliner")


def test_a_pipe_without_types_says_so():
    nlp = build(labels=[], descriptions={})
    with pytest.raises(ValueError, match=r"L298.*own"):
        nlp("Maria left.")


def test_a_type_is_added_to_a_loaded_pipeline(tmp_path):
    build(labels=["PER"], descriptions={"PER": "person"}).to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    pipe = nlp.get_pipe("own")
    assert pipe.add_label("PER") == 0 and pipe.cfg["types"] == {"PER": "person"}
    assert [pipe.add_label("GEO", "town or country"), pipe.add_label("CreativeWork")] == [1, 1]
    for label, told in (("ART", "person"), ("CreativeWork", " "), ("GEO", "PERSON")):
        with pytest.raises(ValueError, match="L297"):
            pipe.add_label(label, told)
    with pytest.raises(ValueError, match=r"L550.*it is blank"):
        pipe.add_label(" ")
    assert pipe.add_label("CreativeWork", "ship") == pipe.add_label("GEO") == 0
    expected = {"PER": "person", "GEO": "town or country", "CreativeWork": "ship"}
    assert pipe.cfg["types"] == expected
    for text in TEXTS:
        same(scored(nlp(text)), oracle(nlp, text))
    nlp.to_disk(tmp_path / "again")
    assert spacy.load(tmp_path / "again").get_pipe("own").cfg["types"] == expected


def test_thresholds_by_type_set_aside_what_they_keep_out(nlp):
    docs = list(nlp.pipe(TEXTS))
    rows = [row for doc in docs for row in scored(doc)]
    of_geo = sorted(score for *_, label, score in rows if label == "GEO")
    middle = of_geo[len(of_geo) // 2]
    judged = build(thresholds={"GEO": middle}, abstain_key="low")
    for doc, text in zip(docs, TEXTS, strict=True):
        own = judged(text)
        kept = [row for row in scored(doc) if row[2] != "GEO" or row[3] >= middle]
        same(scored(own), kept)
        assert sorted([*found(own), *((s.start, s.end, s.label_) for s in own.spans["low"])]) == found(
            doc
        )
    high = build(threshold=middle)
    for text in TEXTS:
        same(scored(high(text)), oracle(high, text, middle))
    assert sum(len(high(text).ents) for text in TEXTS) < len(rows)


# In a pipeline


def test_without_types_those_of_the_data_are_taken():
    nlp = build(labels=[], descriptions={})
    nlp.initialize(lambda: examples(nlp))
    assert nlp.get_pipe("own").labels == ("GEO", "PER", "ART", "NAT")  # most frequent first
    assert nlp.evaluate(examples(nlp))["ents_macro_f"] >= 0
    named = build(labels=[], descriptions={})
    named.config["initialize"]["components"]["own"] = {"labels": ["GEO", "SHIP"]}
    named.initialize(lambda: examples(named))
    assert named.get_pipe("own").labels == ("GEO", "SHIP")


def test_initialisation_checks_types_against_the_data():
    nlp = build(labels=["SHIP", "PER"], descriptions={})
    with pytest.warns(UserWarning, match=r"LW065.*own.*SHIP"):
        nlp.initialize(lambda: examples(nlp))
    nlp.config["initialize"]["components"]["own"] = {"labels": ["GEO"]}
    with pytest.raises(ValueError, match="L212"):
        nlp.initialize(lambda: examples(nlp))
    empty = build(labels=[], descriptions={})
    doc = empty.make_doc("It rained.")
    with pytest.raises(ValueError, match=r"L298.*own"):
        empty.initialize(lambda: [Example(doc, doc)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        build().initialize(lambda: [])  # as `spacy assemble` does
    judged = build(labels=[], descriptions={}, thresholds={"SHIP": 0.6})
    with pytest.raises(ValueError, match=r"L203.*SHIP"):
        judged.initialize(lambda: examples(judged))
    missing = build(labels=[], descriptions={}, model=str(Path(__file__).parent))
    with pytest.raises(ValueError, match="L296"):
        missing.initialize(lambda: examples(missing))


@pytest.mark.filterwarnings("ignore:.*LW0")
def test_another_component_trains_beside_it_as_without_it():
    def trained(with_gliner):
        nlp = blank()
        nlp.add_pipe("longtail_ner", name="ner", config=small_ner())
        if with_gliner:
            config = {"model_name": shared_gliner(), "labels": ["NAT"]}
            nlp.add_pipe("longtail_gliner", name="own", config=config)
        train(nlp, 1)
        history = train(nlp, 3)
        if with_gliner:
            list(nlp.pipe(TEXTS))
        return nlp, history

    nlp, history = trained(True)
    assert all(set(losses) == {"ner"} for losses in history)
    alone, expected = trained(False)
    assert history == expected
    for doc, own in zip(nlp.pipe(TEXTS), alone.pipe(TEXTS), strict=True):
        assert set(found(own)) <= set(found(doc))  # the primary's stay
        assert {ent.label_ for ent in doc.ents} - {"NAT"} == {ent.label_ for ent in own.ents} - {"NAT"}


def test_behind_a_gate_it_reads_what_is_flagged(nlp):
    gated = build(spans_key="weak_sentences")
    doc = Doc.from_docs([parse(gated, text) for text in SENTENCES[:3]])
    doc.set_ents([])
    with pytest.raises(ValueError, match=r"L254.*own"):
        gated(doc.copy())
    sents = list(doc.sents)
    doc.spans["weak_sentences"] = [sents[1]]
    own = gated(doc.copy())
    alone = nlp(sents[1].as_doc())
    assert [(a - sents[1].start, b - sents[1].start, label) for a, b, label in found(own)] == found(
        alone
    )
    doc.spans["weak_sentences"] = []
    assert not gated(doc.copy()).ents


def test_a_flagged_part_is_cut_as_a_document_of_its_own(nlp):
    """A sentence that is too long, after others."""
    gated = build(spans_key="weak_sentences")
    texts = [*SENTENCES[:2], " ".join(SENTENCES * 2)]
    doc = Doc.from_docs([parse(gated, text) for text in texts])
    doc.set_ents([])
    *_, long = doc.sents
    assert len(long) > 2 * 40
    doc.spans["weak_sentences"] = [long]
    alone = nlp(long.as_doc())
    assert alone.ents and found(alone) == [
        (a - long.start, b - long.start, label) for a, b, label in found(gated(doc))
    ]


@pytest.mark.filterwarnings("ignore:.*LW08")
def test_the_gate_stands_before_it():
    gate = {"model": GATE_MODEL, "weak_labels": ["NAT", "ART"], "weak_weight": 0.7}
    for first in (True, False):
        nlp = build(spans_key="weak_sentences")
        nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate, first=first or None)
        if not first:
            with pytest.raises(ValueError, match="L250"):
                nlp.initialize(lambda: examples(nlp))
    with pytest.raises(ValueError, match="L210"):
        build(spans_key="weak_sentences").initialize(lambda: examples(blank()))
    # two that read the same key: neither is the other's gate
    nlp = build(spans_key="weak_sentences")
    nlp.add_pipe("longtail_gated_ner", name="weak", config={"labels": ["NAT"], "merge": "fill"})
    with pytest.raises(ValueError, match=r"L210.*own"):
        nlp.initialize(lambda: examples(nlp))


# Files


def moved(folder, target):
    """A model at another place: what is at the old one is gone."""
    shutil.copytree(shared_gliner(), folder)
    nlp = build(str(folder))
    expected = [scored(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(target)
    data = nlp.to_bytes()
    shutil.rmtree(folder)
    return nlp, expected, data


def test_the_weights_travel_with_the_pipeline(tmp_path, no_pickle, monkeypatch):
    import socket

    nlp, expected, data = moved(tmp_path / "model", tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved" / "own" / "model").iterdir()}
    assert "model.safetensors" in names and not {n for n in names if n.endswith((".bin", ".pkl", ".pt"))}
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("asked the network"))
    shutil.move(tmp_path / "saved", tmp_path / "elsewhere")
    for again in (
        spacy.load(tmp_path / "elsewhere"),
        blank().from_config(nlp.config).from_bytes(data),
    ):
        for doc, own in zip(again.pipe(TEXTS), expected, strict=True):
            same(scored(doc), own)


def test_the_name_alone_is_saved_on_demand(tmp_path):
    shutil.copytree(shared_gliner(), tmp_path / "model")
    nlp = build(str(tmp_path / "model"), save_weights=False)
    expected = [scored(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "saved")
    data = nlp.to_bytes()
    assert [path.name for path in (tmp_path / "saved" / "own").iterdir()] == ["cfg"]
    assert len(data) < 100_000
    for again in (spacy.load(tmp_path / "saved"), blank().from_config(nlp.config).from_bytes(data)):
        for doc, own in zip(again.pipe(TEXTS), expected, strict=True):
            same(scored(doc), own)
    shutil.rmtree(tmp_path / "model")
    again = spacy.load(tmp_path / "saved")  # it is not needed yet
    with pytest.raises(ValueError, match=r"L295|L296"):
        again(TEXTS[0])


def test_a_saved_model_that_was_changed_is_refused(tmp_path):
    nlp = build()
    nlp.to_disk(tmp_path)
    weights = tmp_path / "own" / "model" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="L296"):
        spacy.load(tmp_path)
    weights.unlink()
    with pytest.raises(ValueError, match="L296"):
        spacy.load(tmp_path)
    shutil.rmtree(tmp_path / "own" / "model")
    with pytest.raises(ValueError, match="L296"):
        spacy.load(tmp_path)


def test_a_saved_model_without_a_weight_or_a_tokenizer_is_refused(tmp_path, monkeypatch):
    import socket

    from safetensors.torch import load_file, save_file

    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *where, **_: asked.append(where) or [])
    build().to_disk(tmp_path)
    folder = tmp_path / "own" / "model"
    weights = load_file(folder / "model.safetensors")
    del weights[sorted(weights)[0]]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ValueError, match="L296"):
        spacy.load(tmp_path)
    build().to_disk(tmp_path)
    of_config(model_name="nobody/no-such-encoder")(folder)
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ValueError, match="L296"):
        spacy.load(tmp_path)
    assert not asked


@pytest.mark.parametrize("name", ["../evil", "a/../../evil"])
def test_bytes_stay_in_their_folder(name):
    import srsly

    from spacy_longtail.pipes.gliner_model import GLiNERModel

    with pytest.raises(ValueError, match=r"L296.*outside"):
        GLiNERModel.from_bytes(srsly.msgpack_dumps({name: b"x"}), "own")


# What it cannot load


def test_the_package_is_needed_when_it_is_used_and_no_sooner(monkeypatch):
    monkeypatch.setitem(sys.modules, "gliner", None)
    nlp = build()
    with pytest.raises(ValueError, match=r"L406.*gliner.*spacy-longtail\[gliner\]"):
        nlp("Maria left.")


def test_a_hub_that_cannot_be_reached_is_said_at_once(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for name in ("nobody/no-such-gliner", "no such/folder/at all"):
        with pytest.raises(ValueError, match=rf"L295.*own.*{name}.*offline.*folder"):
            build(name)("Maria left.")


def spoilt(folder, change):
    shutil.copytree(shared_gliner(), folder)
    change(folder)
    return str(folder)


def of_config(**changes):
    def change(folder):
        path = folder / "gliner_config.json"
        config = json.loads(path.read_text(encoding="utf8"))
        config.update(changes)
        config["encoder_config"].update(changes.get("encoder_config") or {})
        path.write_text(json.dumps(config), encoding="utf8")

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda f: (f / "gliner_config.json").unlink(), "it has no gliner_config.json"),
        (lambda f: (f / "gliner_config.json").write_text("{"), "L296"),
        (lambda f: (f / "model.safetensors").unlink(), "L296.*[Nn]o model file"),
        (lambda f: (f / "model.safetensors").write_bytes(b"nothing"), "L296"),
        (of_config(hidden_size=24), "L296"),
        (of_config(auto_map={"AutoModel": "evil--evil.Model"}), "L296.*auto_map"),
    ],
)
def test_a_folder_that_is_no_gliner_model_is_refused(change, problem, tmp_path):
    with pytest.raises(ValueError, match=problem) as error:
        build(spoilt(tmp_path / "model", change))("Maria left.")
    assert "L296" in str(error.value)


def test_an_encoder_that_is_looked_up_brings_no_code(tmp_path):
    """Older models name their encoder, and no config of it."""
    encoder = tiny_bert(tmp_path / "bert", 128)

    def change(folder):
        path = folder / "gliner_config.json"
        config = json.loads(path.read_text(encoding="utf8"))
        path.write_text(json.dumps({**config, "encoder_config": None, "model_name": str(encoder)}))

    nlp = build(spoilt(tmp_path / "model", change))
    same(scored(nlp(TEXTS[0])), scored(build()(TEXTS[0])))
    config = json.loads((encoder / "config.json").read_text(encoding="utf8"))
    config["auto_map"] = {"AutoModel": "evil--evil.Model"}
    (encoder / "config.json").write_text(json.dumps(config), encoding="utf8")
    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(str(tmp_path / "model"))("Maria left.")
    of_labels = of_config(labels_encoder=str(encoder), labels_encoder_config=None)
    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(spoilt(tmp_path / "bi_encoder", of_labels))("Maria left.")
    nlp.to_disk(tmp_path / "saved")  # with the encoder's config
    shutil.rmtree(encoder)
    same(scored(spacy.load(tmp_path / "saved")(TEXTS[0])), scored(nlp(TEXTS[0])))


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match="L296"):
        build(str(path))("Maria left.")


# Other commands


def pool(nlp):
    return nlp.pipe(text.replace("[", "").split("|")[0] for text in SENTENCES)


def test_it_teaches():
    nlp = build(scores_key=None, threshold=0.5)
    teacher = Teacher.of(nlp, "teacher", [*LABELS, "ORG"], Path("corpus"))
    assert teacher.keys == ("entity_scores",) and teacher.lacking == ["ORG"] and not teacher.doubts
    docs = list(nlp.pipe(TEXTS))
    seen = Pass(Selection(Policy(threshold=0.6, empty=0.0), teacher.labels))
    annotate(teacher, [docs[:3], docs[3:]], set(), seen, soft=False)
    assert seen.n_sentences == 4
    chosen = seen.selection.choose()
    own = {m.score for c in chosen for i, m in enumerate(c.sentence.mentions) if i in c.kept}
    expected = {row[3] for doc in docs for row in scored(doc) if row[3] >= 0.6}
    assert own == expected and own


def test_what_a_teacher_doubts_is_not_outside():
    nlp = build(scores_key="entity_scores", threshold=0.3, thresholds=dict.fromkeys(LABELS, 0.8))
    teacher = Teacher.of(nlp, "teacher", LABELS, Path("corpus"))
    docs = list(nlp.pipe(TEXTS))
    low = sum(len(doc.spans[DOUBTS]) for doc in docs)
    assert teacher.doubts == (DOUBTS,) and low
    sentences = [s for rows in teacher.read(docs, 0.9, False) for s in rows]
    unsure = sum(int((~s.sure).sum()) for s in sentences)
    spans = [s for doc in docs for s in (*doc.ents, *doc.spans[DOUBTS])]
    assert unsure == sum(len(span) for span in spans) > sum(len(ent) for doc in docs for ent in doc.ents)


def test_thresholds_are_chosen_on_its_candidates(tmp_path):
    nlp = build(threshold=0.4)
    data = examples(nlp)
    outcomes, n_gold = entity_outcomes(nlp.get_pipe("own"), data, 4)
    assert n_gold == {"PER": 5, "GEO": 5, "ART": 2, "NAT": 2}
    docs = [nlp(eg.predicted) for eg in data]
    assert {label: len(own.right) for label, own in outcomes.items()} == {
        label: sum(ent.label_ == label for doc in docs for ent in doc.ents) for label in LABELS
    }
    nlp.to_disk(tmp_path / "model")
    DocBin(docs=[eg.reference for eg in data] * 3).to_disk(tmp_path / "dev.spacy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_thresholds(
            tmp_path / "model",
            tmp_path / "dev.spacy",
            goal=Goal(),
            gate_goal=Goal(),
            abstain_key="low",
            min_mentions=1,
        )
    chosen = spacy.load(tmp_path / "model")
    cfg = chosen.get_pipe("own").cfg
    assert cfg["thresholds"]
    own = [chosen(eg.predicted.copy()) for eg in examples(chosen)]
    assert any(doc.spans["low"] for doc in own)
    assert sum(len(doc.ents) + len(doc.spans["low"]) for doc in own) == sum(len(d.ents) for d in docs)
    low = build(threshold=0.4, thresholds={"PER": 0.1})  # as after calibration: no contradiction
    assert low(TEXTS[0]).ents


# The page


@pytest.fixture
def page(tmp_path, monkeypatch):
    """What docs/gliner.md takes for granted is in the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(shared_gliner(), tmp_path / "urchade" / "gliner_medium-v2.1")
    primary = blank()
    primary.add_pipe("ner", config=small_ner())
    primary.initialize(lambda: examples(primary))
    Path("training").mkdir()
    primary.to_disk("training/model-best")
    return (ROOT / "docs" / "gliner.md").read_text(encoding="utf8")


def test_the_pages_python_works(page):
    """One after another, as they are read."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(compile(block, "docs/gliner.md", "exec"), names)


def test_the_page_names_every_setting_and_code(page):
    factory = inspect.signature(make_gliner_ner).parameters
    assert not [n for n in factory if n not in ("nlp", "name") and f"`{n}" not in page]
    text = (ROOT / "components/spacy_longtail/pipes").glob("gliner*.py")
    used = set(re.findall(r"Errors\.(L29\d)|Warnings\.(W065)", "".join(p.read_text() for p in text)))
    assert not [code for pair in used for code in pair if code not in page]
