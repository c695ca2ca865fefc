"""What every corpus reader promises, as checks of one reader.

`make(corpus, seed)` builds the reader around another reader. The style is that of estimator checks:
a reader of one's own can be put through them as well:
`for check in CHECKS: run(check, make, tmp_path)`.
"""

import inspect
import pickle
import warnings
from collections import Counter
from itertools import islice, pairwise

import numpy as np
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus, Example

from tests.util import Fixed, blank, examples, small_ner, two_sentences


def pipeline(max_epochs=0):
    nlp = blank()
    nlp.config["training"]["max_epochs"] = max_epochs
    return nlp


def draws(make):
    """Whether a call gives some sentences of the corpus only: which, depends on their order."""
    return hasattr(make(Fixed([]), 0), "partition")


def corpus_of(nlp, times=3):
    return [*examples(nlp, times), *(two_sentences(nlp) for _ in range(times))]


def shape(found):
    """What an example is, comparable: words, entities, sentence starts."""
    return [
        (
            [t.text for t in eg.reference],
            [(e.start, e.end, e.label_) for e in eg.reference.ents],
            eg.reference.to_array(["ENT_IOB", "SENT_START"]).tolist(),
        )
        for eg in found
    ]


def dropped(reader):
    """Types that the reader or one inside it was asked to drop."""
    own, kept = set(getattr(reader, "drop", ())), getattr(reader, "keep", None)
    own |= {"PER", "GEO", "ART", "NAT"} - set(kept) if kept else set()
    inner = getattr(reader, "corpus", None)
    return own if inner is None else own | dropped(inner)


def read(reader, nlp):
    return list(islice(reader(nlp), 5000))


def corpus_and_read(make):
    """The examples of a corpus, and those that the reader makes of them."""
    nlp = pipeline()
    data = corpus_of(nlp)
    return data, read(make(Fixed(data), 0), nlp)


def labels_of(found):
    return {e.label_ for eg in found for e in eg.reference.ents}


def check_a_seed_fixes_everything(make):
    nlp = pipeline()
    data = corpus_of(nlp)
    first, second = make(Fixed(data), 3), make(Fixed(data), 3)
    for _ in range(3):
        assert shape(read(first, nlp)) == shape(read(second, nlp))


def check_references_are_not_changed(make):
    nlp = pipeline()
    data = corpus_of(nlp)
    before = [(eg.reference.to_bytes(), eg.predicted.to_bytes()) for eg in data]
    read(make(Fixed(data), 0), nlp)
    assert [(eg.reference.to_bytes(), eg.predicted.to_bytes()) for eg in data] == before


def check_predicted_documents_are_bare_and_aligned(make):
    _, found = corpus_and_read(make)
    for eg in found:
        assert isinstance(eg, Example)
        assert [t.text for t in eg.predicted] == [t.text for t in eg.reference]
        assert not eg.predicted.ents and not eg.predicted.to_array("SENT_START")[1:].any()
        assert not eg.predicted.has_annotation("ENT_IOB")


def check_nothing_is_invented(make):
    """Words and mentions come from the corpus; no label appears."""
    data, found = corpus_and_read(make)
    words = {t.text for eg in data for t in eg.reference}
    mentions = {(e.text, e.label_) for eg in data for e in eg.reference.ents}
    assert {t.text for eg in found for t in eg.reference} <= words
    assert {(e.text, e.label_) for eg in found for e in eg.reference.ents} <= mentions


def check_no_label_is_lost_unless_asked(make):
    nlp = pipeline()
    reader = make(Fixed(corpus_of(nlp)), 0)
    wanted = {"PER", "GEO", "ART", "NAT"} - dropped(reader)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = labels_of(read(reader, nlp))
    if hasattr(reader, "partition"):  # a draw of sentences names the types that it misses
        said = " ".join(str(w.message) for w in caught if "LW012" in str(w.message))
        assert all(label in said for label in wanted - found)
    else:
        assert found == wanted
    assert found <= wanted


def check_what_it_yields_can_be_trained_on(make):
    nlp = pipeline()
    nlp.add_pipe("ner", config=small_ner())
    reader = make(Fixed(corpus_of(nlp)), 0)
    optimizer = nlp.initialize(lambda: reader(nlp))
    assert np.isfinite(nlp.update(read(reader, nlp)[:8], sgd=optimizer)["ner"])


def outcome(make, data, nlp):
    """What is read, or the code of the error."""
    try:
        return read(make(Fixed(data), 0), nlp)
    except ValueError as error:
        return str(error)[1:5]


def check_an_empty_corpus_stays_empty(make):
    assert outcome(make, [], pipeline()) in ([], "L120")  # more was asked for than there is


def check_a_corpus_without_entities(make):
    nlp = pipeline()
    found = outcome(make, [eg for eg in corpus_of(nlp, 8) if not eg.reference.ents], nlp)
    assert found in ("L101", "L120", "L530") or (found and not labels_of(found))


def check_documents_without_sentence_boundaries(make):
    nlp = pipeline()
    data = []
    for eg in corpus_of(nlp):
        reference = eg.reference.copy()
        reference.from_array(["SENT_START"], np.zeros((len(reference), 1), dtype="uint64"))
        data.append(Example(eg.predicted, reference))
    found = read(make(Fixed(data), 0), nlp)
    assert found and labels_of(found)
    if getattr(make(Fixed([]), 0), "join", None) in (None, 1):  # joining marks where parts begin
        assert not any((eg.reference.to_array("SENT_START")[1:] == 1).any() for eg in found)


def check_missing_annotation_stays_missing(make):
    """Tokens without annotation do not become O, nor does a whole document."""
    nlp = pipeline()
    data = []
    for eg in examples(nlp, 4):  # the last token of each is a full stop
        reference = eg.reference.copy()
        last = reference[len(reference) - 1 : len(reference)]
        reference.set_ents(list(reference.ents), missing=[last], default="unmodified")
        data.append(Example(eg.predicted, reference))
    words = [t.text for t in data[3].reference]
    data.append(Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words)))
    found = read(make(Fixed(data), 0), nlp)
    assert labels_of(found)
    assert all(t.ent_iob == 0 for eg in found for t in eg.reference if t.text == ".")
    assert all(t.ent_iob != 0 for eg in found for t in eg.reference if t.ent_type_ or t.text == "met")


def check_blocked_and_adjacent_entities(make):
    nlp = pipeline()
    reference = Doc(nlp.vocab, words=["Ann", "Berg", "Oslo", "slept", "."])
    ents = [Span(reference, 0, 1, "PER"), Span(reference, 1, 2, "PER"), Span(reference, 2, 3, "GEO")]
    reference.set_ents(ents)
    data = [Example(Doc(nlp.vocab, words=[t.text for t in reference]), reference), *corpus_of(nlp)]
    found = read(make(Fixed(data), 0), nlp)
    pairs = [(a, b) for eg in found for a, b in pairwise(eg.reference) if a.text == "Ann"]
    for a, b in pairs:  # two mentions, never one
        assert (a.ent_iob_, b.ent_iob_) in (("B", "B"), ("O", "O"), ("", ""))


def check_a_folder_of_files_is_one_corpus(make, tmp_path):
    nlp = pipeline()
    docs = [eg.reference for eg in corpus_of(nlp)]
    DocBin(docs=docs).to_disk(tmp_path / "one.spacy")
    (tmp_path / "many" / "deeper").mkdir(parents=True)
    DocBin(docs=docs[:7]).to_disk(tmp_path / "many" / "0.spacy")
    DocBin(docs=docs[7:8]).to_disk(tmp_path / "many" / "1.spacy")
    DocBin(docs=docs[8:]).to_disk(tmp_path / "many" / "deeper" / "2.spacy")
    one, many = (read(make(Corpus(tmp_path / name), 0), nlp) for name in ("one.spacy", "many"))
    assert len(one) == len(many)
    if not draws(make):
        assert Counter(map(str, shape(one))) == Counter(map(str, shape(many)))


def check_it_pickles(make):
    nlp = pipeline()
    reader = make(Fixed(corpus_of(nlp)), 0)
    read(reader, nlp)
    assert shape(read(pickle.loads(pickle.dumps(reader)), nlp)) == shape(read(reader, nlp))


def check_memory_is_bounded_after_the_counting_pass(make):
    """Examples leave while the corpus is still being read: no pass holds it."""
    nlp = pipeline(-1)
    corpus = Fixed(corpus_of(nlp, 100))
    reader = make(corpus, 0)
    next(iter(reader(nlp)))  # whatever is counted is counted now
    before = corpus.given
    stream = iter(reader(nlp))
    next(stream)
    assert corpus.given - before < len(corpus.data)


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


def run(check, make, tmp_path):
    """Run a check with a folder if it takes one."""
    check(make, **({"tmp_path": tmp_path} if "tmp_path" in inspect.signature(check).parameters else {}))
