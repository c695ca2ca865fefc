from collections import Counter
from itertools import pairwise

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from spacy_longtail.augment import MentionReplacement, OneOf
from spacy_longtail.corpus.counts import count_doc, count_docs
from spacy_longtail.readers import LowResourceCorpus, ResampledCorpus, UndersampledCorpus
from spacy_longtail.readers.repeats import RandomUndersampling, nsCRD, sC, sCR, sCRD
from tests.util import (
    Fixed,
    blank,
    examples,
    parse,
    start_sentences,
    two_sentences,
    words,
)

NLP = blank()


def streaming():
    nlp = blank()
    nlp.config["training"]["max_epochs"] = -1
    return nlp


@pytest.mark.parametrize("policy", [sC(), sCR(), sCRD(), nsCRD(), sCR("code", 2)])
def test_each_unit_comes_as_often_as_the_policy_says(policy):
    data = examples(NLP)
    found = Counter(id(eg) for eg in ResampledCorpus(Fixed(data), policy)(NLP))
    fitted = policy.fit(count_docs(eg.reference for eg in data))
    assert found == {id(eg): fitted(count_doc(eg.reference)) for eg in data}


def test_copies_of_a_stream_are_the_same_object_and_stand_apart():
    data = examples(NLP, 5)
    found = list(ResampledCorpus(Fixed(data), sC())(streaming()))
    assert len({id(eg) for eg in found}) == len(data) < len(found)
    assert sum(a is b for a, b in pairwise(found)) < len(found) / 4


def test_an_augmenter_rewrites_all_copies_but_the_first():
    def mark(nlp, eg):
        reference = eg.reference.copy()
        reference.user_data["augmented"] = True
        yield Example(eg.predicted, reference)

    data = examples(NLP)
    found = list(ResampledCorpus(Fixed(data), sC(), augmenter=mark)(NLP))
    plain = [eg for eg in found if "augmented" not in eg.reference.user_data]
    assert sorted(map(id, plain)) == sorted(map(id, data))
    assert len(found) == len(list(ResampledCorpus(Fixed(data), sC())(NLP)))


def test_documents_are_split_at_annotated_boundaries_but_not_in_a_mention():
    found = list(ResampledCorpus(Fixed([two_sentences(NLP)]), sC(), join=1)(NLP))
    texts = Counter(eg.reference.text.strip() for eg in found)
    assert sorted(texts.values()) == [1, 4]  # the second has one GEO and two NAT tokens
    for eg in found:
        assert eg.predicted.text == eg.reference.text and not eg.predicted.ents
    # Automatic boundaries cut names of several words; the sentences then stay together.
    reference = start_sentences(parse(NLP, "[Storm Ida|NAT] came x y"), 0, 1, 3)
    eg = Example(words(NLP, "Storm Ida came x y"), reference)
    found = list(ResampledCorpus(Fixed([eg]), sC(), join=1)(NLP))
    assert sorted(len(e.reference) for e in found) == [2, 3, 3, 3]
    assert [e.label_ for eg in found for e in eg.reference.ents] == ["NAT"] * 3


def test_the_order_of_a_stream_is_seeded_and_differs_between_calls():
    nlp = streaming()

    def texts(reader):
        return [eg.reference.text for eg in reader(nlp)]

    first, again = (ResampledCorpus(Fixed(examples(NLP)), sCR(), seed=3) for _ in range(2))
    a = texts(first)
    assert texts(again) == a
    assert texts(first) != a and sorted(texts(first)) == sorted(a)
    assert texts(ResampledCorpus(Fixed(examples(NLP)), sCR(), seed=4)) != a


@pytest.mark.parametrize(
    "changed", [lambda data: data[1:], lambda data: data + data[:1], lambda data: data[::-1]]
)
def test_a_corpus_that_changes_between_passes_is_noticed(changed):
    class Changing(Fixed):
        def __call__(self, nlp):
            self.calls += 1
            yield from self.data if self.calls == 1 else changed(self.data)

    with pytest.raises(ValueError, match="L105"):
        list(ResampledCorpus(Changing(examples(NLP)), sC())(NLP))


def test_tokens_across_a_sentence_border():
    """Where the tokenizer joins what gold separates, each sentence is tokenized by itself."""
    tokens, tags = ["wow", "!", "!", ":", ")", "Ida", "ok"], ["O"] * 5 + ["B-NAT", "O"]
    reference = Doc(NLP.vocab, words=tokens, spaces=[False] * 5 + [True, False], ents=tags)
    eg = Example(NLP.make_doc("wow!!:)Ida ok"), start_sentences(reference, 0, 3, 5))
    assert len(eg.predicted) < len(tokens)
    for join in (1, None):
        found = list(ResampledCorpus(Fixed([eg]), sC(), join=join)(NLP))
        texts = sorted(s.text.strip() for e in found for s in e.reference.sents)
        assert texts == [":)", "Ida ok", "Ida ok", "wow!!"]
        assert all(e.predicted.text == e.reference.text for e in found)


def texts_of(found):
    return [eg.reference.text for eg in found]


def test_sentences_are_joined_to_documents_of_the_corpus_size():
    data = [two_sentences(NLP) for _ in range(6)]
    single = list(ResampledCorpus(Fixed(data), sC(), join=1)(NLP))
    joined = list(ResampledCorpus(Fixed(data), sC())(NLP))
    assert len(single) == 30 and len(joined) == 15  # two sentences per document, as in the corpus
    tokens = [t for text in texts_of(single) for t in text.split()]
    assert sorted(tokens) == sorted(t for text in texts_of(joined) for t in text.split())
    for eg in joined:
        assert [t.text for t in eg.predicted] == [t.text for t in eg.reference]
        assert len(list(eg.reference.sents)) == 2 and not eg.predicted.has_annotation("SENT_START")
    ents = [(e.text, e.label_) for eg in single for e in eg.reference.ents]
    assert sorted(ents) == sorted((e.text, e.label_) for eg in joined for e in eg.reference.ents)
    sizes = [len(list(eg.reference.sents)) for eg in ResampledCorpus(Fixed(data), sC(), join=7)(NLP)]
    assert sizes == [7, 7, 7, 7, 2]


def test_sentences_of_different_types_are_not_joined():
    data = examples(NLP)
    for eg in data[:5]:
        eg.reference.user_data["annotated_types"] = ["PER", "GEO"]
    found = list(ResampledCorpus(Fixed(data), sC(), join=4, seed=1)(NLP))
    sizes = {True: 0, False: 0}
    own, others = ({word for eg in part for word in eg.text.split()} for part in (data[:5], data[5:]))
    for eg in found:
        types = eg.reference.user_data.get("annotated_types")
        assert set(eg.text.split()) <= (own if types else others) and types in (None, ["GEO", "PER"])
        sizes[types is not None] += len(eg.reference)
    assert all(sizes.values())


def in_a_config(**settings):
    """As a config has it: what is no reader, policy or number is refused by its type."""
    block = {"@readers": "longtail.ResampledCorpus.v1", "corpus": Fixed([]), "repeats": sC()}
    return registry.resolve({"reader": {**block, **settings}})["reader"]


COPIED = MentionReplacement(Fixed(examples(NLP)), budget=1)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"join": 0}, "L001.*join"),
        ({"augmenter": OneOf(OneOf(COPIED))}, "L213.*budget"),
        *(({"mode": "sample"}, "mode"), ({"join": "x"}, "join"), ({"seed": 1.7}, "seed")),
        *(({"augmenter": 3}, "augmenter"), ({"repeats": 3}, "repeats"), ({"corpus": "x"}, "corpus")),
    ],
)
def test_bad_settings(settings, found):
    with pytest.raises(ValueError, match=found):
        in_a_config(**settings)


@pytest.mark.parametrize(
    ("repeats", "augmenter"),
    [
        (sC(cap=1), MentionReplacement(Fixed(examples(NLP)))),
        (RandomUndersampling(), OneOf(lambda nlp, eg: [eg])),
    ],
)
def test_an_augmenter_without_copies_to_rewrite_is_refused(repeats, augmenter):
    reader = in_a_config(corpus=Fixed(examples(NLP)), repeats=repeats, augmenter=augmenter)
    with pytest.raises(ValueError, match="L120"):
        list(reader(NLP))


@pytest.mark.parametrize(
    ("make", "example_of"),
    [
        (lambda corpus: ResampledCorpus(corpus, sC(), join=1), two_sentences),
        (lambda corpus: ResampledCorpus(corpus, sC(), join=2), lambda nlp: examples(nlp)[0]),
        (lambda corpus: LowResourceCorpus(corpus, 1), two_sentences),
        (UndersampledCorpus, lambda nlp: examples(nlp)[0]),
    ],
)
def test_lost_categories_are_said(make, example_of):
    eg = example_of(NLP)
    eg.reference.cats["news"] = 1.0
    with pytest.warns(UserWarning, match="LW015"):
        list(make(Fixed([eg]))(NLP))
