"""The augmenters: what a rewritten copy keeps, what it draws, how often, and what is refused."""

import pickle
import random
import sys
import types
import warnings
from collections import Counter
from functools import partial

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from spacy_longtail.augment import (
    MentionReplacement,
    OneOf,
    SegmentShuffle,
    SynonymReplacement,
    TokenReplacement,
)
from spacy_longtail.augment import synonym_replacement as module
from spacy_longtail.augment.draft import Draft, Edit, Piece
from spacy_longtail.types import ANNOTATED_TYPES
from tests.util import Fixed, annotated_docs, blank, examples, new_file, parse, tags_of, two_sentences

NLP = blank()
SYNONYMS = {
    "sea": ["ocean", "open water"],
    "storm": ["gale", "strong wind"],
    "oslo": ["Christiania", "the capital"],
    "berg": ["mountain top"],
    "sailed": ["went by ship"],
    ".": ["!"],
}


PLAIN = Fixed(examples(NLP))


@pytest.fixture(scope="module")
def synonyms(tmp_path_factory):
    path = tmp_path_factory.mktemp("thesaurus") / "synonyms.tsv"
    lines = ("\t".join([word, *others]) for word, others in SYNONYMS.items())
    path.write_text("\n".join(lines), encoding="utf8")
    return path


def make(kind, synonyms, corpus=PLAIN, **given):
    kinds = {"mention": MentionReplacement, "token": TokenReplacement, "synonym": SynonymReplacement}
    source = {"mention": [corpus], "token": [corpus], "synonym": [synonyms]}.get(kind, [])
    return kinds.get(kind, SegmentShuffle)(*source, **given)


KINDS = ["mention", "token", "synonym", "shuffle"]


def one(augmenter, eg, nlp=NLP):
    (found,) = augmenter(nlp, eg)
    return found


def gold(nlp, doc):
    words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
    return Example(Doc(nlp.vocab, words=words, spaces=spaces), doc)


def state(doc):
    attrs = ["ORTH", "SPACY", "ENT_IOB", "ENT_TYPE", "SENT_START", "TAG"]
    return doc.to_array(attrs).tolist(), doc.has_unknown_spaces, doc.text


# What any rewritten copy keeps


WORDS = ["Oslo", "sea", "the", "Storm", "BERG", "sailed", ".", ",", "USA", "1940", "\n", "  ", "'s", "x"]


docs = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).flatmap(
    partial(annotated_docs, NLP, labels=["PER", "GEO", "NAT"])
)


def sorted_words(doc):
    return sorted((t.text.casefold(), t.ent_type_) for t in doc)


def check_kept(old, new):
    """What holds between a reference and its rewritten copy."""

    def labels_by_sentence(doc):
        n_sent = np.cumsum([token.is_sent_start is True and token.i > 0 for token in doc])
        return [(n_sent[t.i], t.ent_type_) for t in doc if t.ent_iob_ == "B" and t.ent_type_]

    def unannotated(doc):
        return [t.text for t in doc if t.ent_iob == 0 or (t.ent_iob == 3 and not t.ent_type)]

    assert labels_by_sentence(new) == labels_by_sentence(old)
    assert unannotated(new) == unannotated(old)
    assert [t.text for t in new if t.is_space] == [t.text for t in old if t.is_space]
    before = ""
    for token in new:
        assert token.ent_iob_ != "I" or before == token.ent_type_ != ""
        before = token.ent_type_
    starts = Counter(t.is_sent_start for t in old), Counter(t.is_sent_start for t in new)
    assert starts[0][True] == starts[1][True]
    assert (None in starts[0]) or (None not in starts[1])
    if not old.has_annotation("SENT_START"):
        assert starts[1][False] == starts[0][False]
    assert new.has_unknown_spaces == old.has_unknown_spaces
    assert new[-1].whitespace_ == old[-1].whitespace_


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(doc=docs, level=st.sampled_from([0.4, 1.0]), seed=st.integers(0, 99), gold_tokens=st.booleans())
def test_a_copy_is_legal_aligned_and_keeps_what_it_must(synonyms, kind, doc, level, seed, gold_tokens):
    eg = gold(NLP, doc) if gold_tokens else Example(NLP.make_doc(doc.text), doc)
    before, drawn_from = state(doc), Fixed([eg, *examples(NLP)])
    aligned = [t.text for t in eg.predicted] == [t.text for t in eg.reference]
    found = one(make(kind, synonyms, corpus=drawn_from, level=level, seed=seed), eg)
    assert state(doc) == before
    if found is eg:
        return
    check_kept(doc, found.reference)
    tokens = [[(t.text, t.whitespace_) for t in own] for own in (found.predicted, found.reference)]
    assert tokens[0] == tokens[1] if aligned else found.predicted.text == found.reference.text
    # tokenizers open a sentence
    assert not found.predicted.to_array(["ENT_IOB", "SENT_START"])[1:].any()
    found.get_aligned_ner()
    new, old = found.reference, doc
    if kind == "mention":
        assert [t.text for t in new if not t.ent_type] == [t.text for t in old if not t.ent_type]
    if kind == "shuffle":
        assert sorted_words(new) == sorted_words(old)


@given(doc=docs)
def test_no_edit_is_the_same_document(doc):
    assert state(Draft(doc).rewritten(NLP.vocab, [])) == state(doc)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_draw_equally_and_pickles_continue(synonyms, kind):
    def run(augmenter, data=None):
        return [eg.reference.text for eg in data or examples(NLP, 3) for eg in augmenter(NLP, eg)]

    a = make(kind, synonyms, level=0.6, seed=4, budget=2)
    random.seed(0)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = run(a)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    again = pickle.loads(pickle.dumps(a))
    assert first == run(make(kind, synonyms, level=0.6, seed=4, budget=2))
    assert first != run(make(kind, synonyms, level=0.6, seed=5, budget=2))
    corpus = getattr(again, "corpus", None)
    n_calls = corpus and corpus.calls
    assert run(a) == run(again) and (corpus is None or corpus.calls == n_calls)  # the pools travel along
    for eg in examples(NLP):
        original, *copies = a(NLP, eg)
        assert original is eg and len(copies) == 2  # the budget


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_keeps_the_annotated_types(synonyms, kind):
    for known in (["PER"], None):
        data = examples(NLP)
        for eg in data:
            eg.reference.user_data[ANNOTATED_TYPES] = known
        found = [copy for eg in data for copy in make(kind, synonyms, level=1.0)(NLP, eg)]
        assert {*map(id, found)} - {*map(id, data)}
        assert all(eg.reference.user_data[ANNOTATED_TYPES] == known for eg in found)


@pytest.mark.parametrize("kind", KINDS)
def test_only_sentences_with_the_types_are_rewritten(synonyms, kind):
    eg = two_sentences(NLP)  # no entity; GEO and NAT
    words = [t.text for t in eg.reference]
    n_first = next(t.i for t in eg.reference if t.i and t.is_sent_start)
    augmenter = make(kind, synonyms, level=1.0, labels=["NAT"])
    found = [one(augmenter, eg) for _ in range(20)]
    assert all([t.text for t in f.reference][:n_first] == words[:n_first] for f in found)
    if kind in ("token", "shuffle"):
        assert any([t.text for t in f.reference][n_first:] != words[n_first:] for f in found)
    assert list(make(kind, synonyms, level=1.0, labels=["ART"], budget=2)(NLP, eg)) == [eg]


# What is drawn


def sentence(text, nlp=NLP):
    return gold(nlp, parse(nlp, text))


def test_mentions_are_drawn_evenly_and_never_the_old_one():
    data = [
        sentence(t) for t in ("[A b|PER]", "[A b|PER] [c|PER]", "[D|PER] [C|PER]", "[e|GEO] [O|ORG]")
    ]
    augmenter = MentionReplacement(Fixed(data), level=1.0)
    n, drawn = 3000, Counter()
    for _ in range(n):
        (ent,) = one(augmenter, sentence("x [A b|PER] x")).reference.ents
        drawn[ent.text] += 1
    assert set(drawn) == {"c", "C", "D"}  # distinct surfaces, evenly, though "A b" is the most frequent
    assert all(count == pytest.approx(n / 3, rel=0.1) for count in drawn.values())
    for _ in range(50):
        assert one(augmenter, sentence("x [c|PER] x")).reference.ents[0].text in ("A b", "D")
        assert one(augmenter, sentence("x [new|PER] x")).reference.ents[0].text in ("A b", "D", "c", "C")
    alone = sentence("x [e|GEO] x [f|NAT]")
    assert one(augmenter, alone) is alone  # no other GEO, and no NAT at all


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 400.0])
def test_tokens_are_drawn_by_a_power_of_their_count(power):
    counts = {"aa": 9, "bb": 4, "cc": 1}
    text = " ".join(word for word, n in counts.items() for _ in range(n))
    pool = Fixed([sentence(f"{text} the the the [aa|PER] [dd aa|PER]")])
    augmenter = TokenReplacement(pool, level=1.0, power=power, seed=1)
    drawn = Counter()
    for _ in range(400):
        drawn.update(t.text for t in one(augmenter, sentence("zz the yy [xx xx|PER] zz")).reference[:3])
    assert drawn.pop("the") == 400  # stop words are neither replaced nor drawn
    total = sum((n / 9) ** power for n in counts.values())
    for word, n in counts.items():
        assert drawn[word] / 800 == pytest.approx((n / 9) ** power / total, abs=0.04)


def test_tags_follow_the_length_of_replacements(tmp_path):
    pool = Fixed([sentence("o [bper iper|PER] [bgeo|GEO]")])
    augmenter = TokenReplacement(pool, level=1.0)
    found = one(augmenter, sentence("x [x x|PER] x [x x|GEO] [x|NAT]")).reference
    assert [t.text for t in found] == ["o", "bper", "iper", "o", "bgeo", "x", "x"]  # no I-GEO, no NAT
    assert tags_of(found) == ["O", "B-PER", "I-PER", "O", "B-GEO", "I-GEO", "B-NAT"]
    path = tmp_path / "t.tsv"
    path.write_text("Storm\tstrong wind\nida\tlittle ida x\nrain\theavy rain\nsaid\tsays\nthe\tthat\n")
    augmenter = SynonymReplacement(path, level=1.0)
    found = one(augmenter, sentence("The [Storm Ida|NAT] said rain [Storm|NAT]")).reference
    assert found.text == "The Strong wind Little ida x says heavy rain Strong wind "
    assert tags_of(found) == ["O", "B-NAT", *["I-NAT"] * 4, "O", "O", "O", "B-NAT", "I-NAT"]
    pool = Doc(
        NLP.vocab,
        words=["St", ".", "John", "!"],
        spaces=[False, True, False, False],
        ents=["B-GEO", "I-GEO", "I-GEO", "O"],
    )
    doc = Doc(
        NLP.vocab,
        words=["See", "Oslo", ",", "Rome", "now"],
        spaces=[True, False, True, True, False],
        sent_starts=[True, False, False, True, False],
        ents=["O", "B-GEO", "O", "B-GEO", "O"],
    )
    found = one(MentionReplacement(Fixed([gold(NLP, pool)]), level=1.0), gold(NLP, doc)).reference
    assert found.text == "See St. John, St. John now"
    assert tags_of(found) == ["O", "B-GEO", "I-GEO", "I-GEO", "O", "B-GEO", "I-GEO", "I-GEO", "O"]
    assert [t.is_sent_start for t in found] == [True] + [False] * 4 + [True] + [False] * 3


def test_segments_are_shuffled_within_themselves():
    words = ["a", "b", "\n", "c", "P", "Q", "R", "d", "e", "f", "g", "h", "i"]
    tags = ["O"] * 4 + ["B-PER", "I-PER", "B-PER"] + ["O"] * 4 + ["", "O"]
    starts = [True, *[False] * 8, True, False, False, False]
    orders = Counter()
    for seed in range(300):
        doc = Doc(NLP.vocab, words=words, sent_starts=starts, ents=tags)
        found = [t.text for t in one(SegmentShuffle(level=1.0, seed=seed), gold(NLP, doc)).reference]
        assert found[2] == "\n" and found[6] == "R" and found[11] == "h" and found[12] == "i"
        for part in (slice(0, 4), slice(4, 6), slice(7, 9), slice(9, 11)):
            assert sorted(found[part]) == sorted(words[part])
        orders[tuple(found[:4])] += 1
    assert len(orders) == 6 and min(orders.values()) > 25  # each order of a, b, c


# Casing and spacing


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the [Hague|GEO] fell", "the low town fell "),
        ("[Hague|GEO] fell", "Low town fell "),
        ("[hague|GEO] fell", "low town fell "),
        ('" [Hague|GEO] fell', '" Low town fell '),
        ("in [HAGUE|GEO] now", "in LOW TOWN now "),
        ("in [NEW YORK|GEO] now", "in LOW TOWN now "),
        ("in [USA|GEO] now", "in low town now "),  # an acronym
        ("RAIN IN [USA|GEO]", "RAIN IN LOW TOWN "),
    ],
)
def test_casing_follows_the_sentence_and_the_mention(text, wanted):
    augmenter = MentionReplacement(Fixed([sentence("[low town|GEO]")]), level=1.0)
    assert one(augmenter, sentence(text)).reference.text == wanted


TEA = (Piece("tea"),)


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([Edit(2, 3, TEA)], "It fell tea (Oslo)"),
        ([Edit(3, 4, TEA)], "It fell. tea Oslo)"),
        ([Edit(1, 2, TEA), Edit(5, 6, TEA)], "It tea. (Oslo tea"),
        ([Edit(1, 2, (Piece("a", True), Piece("b")))], "It a b. (Oslo)"),
    ],
)
def test_words_do_not_run_together_where_they_did_not(edits, text):
    words = ["It", "fell", ".", "(", "Oslo", ")"]
    doc = Doc(NLP.vocab, words=words, spaces=[True, False, True, False, False, False])
    assert Draft(doc).rewritten(NLP.vocab, edits).text == text


def test_an_unchanged_copy_keeps_its_other_annotation_and_a_rewritten_one_has_none():
    eg = sentence("[Oslo|GEO] fell")
    for token in eg.reference:
        token.tag_ = "NN"
    augmenter = MentionReplacement(Fixed([sentence("[Rome|GEO]")]), level=0.5, budget=20)
    tagged = Counter((e.reference.text, e.reference[0].tag_) for e in augmenter(NLP, eg))
    assert set(tagged) == {("Oslo fell ", "NN"), ("Rome fell ", "")}


@pytest.mark.parametrize(("lost", "n_warnings"), [("cats", 1), ("spans", 1), (None, 0)])
def test_what_a_rewritten_copy_loses_is_said(lost, n_warnings):
    eg = sentence("[Oslo|GEO] fell")
    if lost == "cats":
        eg.reference.cats["news"] = 1.0
    elif lost:
        eg.reference.spans["sc"] = [eg.reference[0:1]]
    to, level_0 = Fixed([sentence("[Rome|GEO]")]), MentionReplacement(Fixed([eg]), level=0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert one(level_0, eg) is eg and not caught
        assert one(MentionReplacement(to, level=1.0), eg).reference.text == "Rome fell "
    assert [str(w.message)[:8] for w in caught] == ["[LW015] "] * n_warnings


def test_one_of_draws_evenly_and_passes_the_rest_on():
    def mark(name, nlp, eg):
        yield eg
        yield name

    eg, marks = examples(NLP)[0], [partial(mark, name) for name in "abc"]
    augmenter, again = OneOf(*marks, seed=2), OneOf(*marks, seed=2)
    found = [tuple(augmenter(NLP, eg)) for _ in range(900)]
    assert found == [tuple(again(NLP, eg)) for _ in range(900)]
    drawn = Counter(found)
    assert set(drawn) == {(eg, name) for name in "abc"}
    assert all(n == pytest.approx(300, rel=0.15) for n in drawn.values())


# In a config


class FakeWordNet:
    """Two senses of "rain"."""

    def synsets(self, word):
        senses = [["rain", "rainfall"], ["pelting", "rain", "heavy_rain", "rainfall"]]
        return [types.SimpleNamespace(lemma_names=lambda s=s: s) for s in senses if word == "rain"]


def use_nltk(monkeypatch, wordnet):
    module.wordnet_synonyms.cache_clear()
    corpus = types.ModuleType("nltk.corpus")
    corpus.wordnet = wordnet
    monkeypatch.setitem(sys.modules, "nltk", types.ModuleType("nltk"))
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)


def test_wordnet(monkeypatch):
    use_nltk(monkeypatch, FakeWordNet())
    augmenter = pickle.loads(pickle.dumps(SynonymReplacement(level=1.0)))
    drawn = Counter(one(augmenter, sentence("Rain xyz")).reference.text for _ in range(600))
    assert set(drawn) == {"Rainfall xyz ", "Pelting xyz ", "Heavy rain xyz "}
    german = spacy.blank("de")
    with pytest.raises(ValueError, match=r"L117.*'de'"):
        list(SynonymReplacement()(german, sentence("Rain", german)))
    module.wordnet_synonyms.cache_clear()

    nothing = types.SimpleNamespace(synsets={}.__getitem__)  # as nltk without the data: a LookupError
    use_nltk(monkeypatch, nothing)
    with pytest.raises(ValueError, match="L117"):
        SynonymReplacement().prepare(NLP)


def test_a_thesaurus_is_read_as_written(tmp_path):
    text = "\ufeffRain\tdrizzle \t shower  bath\r\nrain\tdrizzle\tRAIN\tsnow\n\nnew york\tgotham\n"
    path = new_file(tmp_path / "t.txt", text)
    assert module.read_thesaurus(path) == {"rain": ["drizzle", "shower bath", "snow"]}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a\tb\n\nc\n", "line 3"),
        (b"a\tb\n\tc\n", "line 2"),
        (b"a\t\xff\n", "utf-8"),
        (b"new york\tgotham\n", "no synonym"),
    ],
)
def test_a_thesaurus_that_cannot_be_read_is_refused(content, problem, tmp_path):
    with pytest.raises(ValueError, match=f"L116.*{problem}"):
        SynonymReplacement(new_file(tmp_path / "t.txt", content)).prepare(NLP)


# What is refused


BARE = Fixed([eg for eg in examples(NLP) if not eg.reference.ents])


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("segment_shuffle", {"level": 1.1}, "level"),
        ("segment_shuffle", {"seed": 0.5}, "seed"),
        ("segment_shuffle", {"labels": []}, "labels"),
        ("segment_shuffle", {"budget": 0}, "budget"),
        ("mention_replacement", {"corpus": "train.spacy"}, "corpus"),
        ("mention_replacement", {"corpus": BARE}, "L115.*no mention"),
        ("mention_replacement", {"corpus": PLAIN, "labels": ["PERSON"]}, "L115.*PERSON.*GEO"),
        ("token_replacement", {"corpus": PLAIN, "power": -1}, "power"),
        ("synonym_replacement", {"thesaurus": "none.tsv"}, "L402"),
        ("one_of", {}, "augmenters"),
        ("one_of", {"*": {}}, "L871"),
    ],
)
def test_what_does_not_fit_is_refused(name, given, found):
    block = {"augmenter": {"@augmenters": f"longtail.{name}.v1", **given}}
    with pytest.raises(ValueError, match=found):
        list(registry.resolve(block)["augmenter"](NLP, examples(NLP)[0]))
