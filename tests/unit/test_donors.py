"""What pretraining learns from: donors and their types, the order of batches, the encoders."""

import pytest
from spacy.tokens import Span

from spacy_longtail.corpus.folder import CorpusTypes, convert_corpus, write_corpus
from spacy_longtail.pretraining import donors as module
from spacy_longtail.pretraining.donors import excluded_texts, read_donors
from spacy_longtail.types import ANNOTATED_TYPES
from tests.util import blank, corpus_of, new_file, parse, write_files

NLP = blank()


def read(*folders, exclude=(), parts=("train",)):
    return read_donors(folders, exclude, parts, blank().vocab)


def shown(docs):
    return [(doc.text.strip(), [(e.text, e.label_) for e in doc.ents]) for doc in docs]


def test_donors_are_sentences_with_their_own_types(tmp_path):
    first = corpus_of(
        tmp_path / "first",
        train=["[Ann|PER] left", ["[Bo|PER] saw [Oslo|GEO]", "It rained"]],
        dev=["[Cy|PER] slept"],
    )
    second = corpus_of(
        tmp_path / "second", train=["The [Fram|SHIP] sank"], descriptions={"SHIP": "a vessel"}
    )
    one, two = read(first, second)
    assert (one.name, one.lang, two.name) == ("first", "en", "second")
    assert shown(one.train) == [
        ("Ann left", [("Ann", "PER")]),
        ("Bo saw Oslo", [("Bo", "PER"), ("Oslo", "GEO")]),
        ("It rained", []),
    ]
    assert shown(one.dev) == [("Cy slept", [("Cy", "PER")])]
    assert one.descriptions == {
        "GEO": "geographical place, such as a city, river or region",
        "PER": "person",
    }
    assert two.descriptions == {"SHIP": "a vessel"} and not two.dev
    for donor in (one, two):
        for doc in (*donor.train, *donor.dev):
            assert doc.user_data[ANNOTATED_TYPES] == list(donor.descriptions)


def test_sentences_that_are_not_held_out_are_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_HELD_OUT", 2)
    corpus = corpus_of(tmp_path / "large", train=[f"[Ann|PER] left town {i}" for i in range(100)])

    (donor,) = read(corpus)

    assert len(donor.dev) == 2 and len(donor.train) == 98


@pytest.mark.parametrize(
    ("text", "given", "descriptions", "labels"),
    [
        (
            "[Ann|A] sold a [saw|B] and a [drill|C]",
            {"A": "person", "B": "hand tool", "C": "Hand tool."},
            {"A": "person", "B": "hand tool"},
            ["A", "B", "B"],
        ),
        ("[Ann|PER] saw [Bo|person]", {}, {"PER": "person"}, ["PER", "PER"]),
        (
            "[Bo|person] saw [Lima|a:b] and [Rome|a=b]",
            {"a:b": "country", "a=b": "City"},
            {"a:b": "country", "a=b": "City", "person": "person"},
            ["person", "a:b", "a=b"],
        ),
    ],
)
def test_types_whose_descriptions_have_the_same_words_are_one_type(
    text, given, descriptions, labels, tmp_path
):
    (donor,) = read(corpus_of(tmp_path / "donor", train=[text], descriptions=given))
    (doc,) = donor.train
    assert donor.descriptions == descriptions
    assert [ent.label_ for ent in doc.ents] == labels
    assert doc.user_data[ANNOTATED_TYPES] == list(descriptions)


def test_sentences_of_dev_and_test_of_a_target_are_excluded_and_counted(tmp_path):
    target = corpus_of(
        tmp_path / "target",
        train=["[Ann|PER] left"],
        dev=["[Bo|PER] left", ["It rained", "It snowed"]],
        test=["[Cy|PER] left"],
    )
    donor = corpus_of(
        tmp_path / "donor",
        train=[
            "[Ann|PER] left",  # stands in train of the target: kept
            "BO  left",
            "bo left",  # twice
            ["[Cy|PER] left", "[Di|PER] left", "it rained"],
            "Cy left .",  # is another sentence
        ],
        dev=["[Bo|PER] left"],
    )
    (plain,) = read(donor)
    assert len(plain.train) == 7 - 2 and plain.n_excluded == 0  # "bo left" stands in its own dev
    (found,) = read(donor, exclude=[target])
    assert [text for text, _ in shown(found.train)] == ["Ann left", "Di left", "Cy left ."]
    assert found.n_excluded == 4
    assert len(excluded_texts([target], NLP.vocab)) == 4


def test_a_sentence_is_known_whatever_its_white_space_and_boundaries(tmp_path):
    target, donor = tmp_path / "target", tmp_path / "donor"
    write_corpus(target, {"test": [NLP("The Fram left Oslo. It was late.")]}, CorpusTypes([], [], "en"))
    corpus_of(donor, train=["The [Fram|SHIP] left Oslo .", "It was late .", "The [Fram|SHIP] left"])
    (found,) = read(donor, exclude=[target])
    assert [text for text, _ in shown(found.train)] == ["The Fram left"]
    assert found.n_excluded == 2
    whole = NLP("She waved. The Fram left Oslo. She waited.")  # a donor's text that holds one
    whole.set_ents([Span(whole, 4, 5, label="SHIP")], default="outside")
    kept = parse(NLP, "[Ann|PER] left")
    write_corpus(tmp_path / "raw", {"train": [whole, kept]}, CorpusTypes(["PER"], [], "en"))
    (found,) = read(tmp_path / "raw", exclude=[target])
    assert shown(found.train) == [("Ann left", [("Ann", "PER")])] and found.n_excluded == 1


NUMBERED = [f"[n{i}|PER] left number {i}" for i in range(100)]


def texts_of(docs):
    return {doc.text for doc in docs}


def test_a_sample_of_a_donor_without_dev_is_measured_instead_of_trained_on(tmp_path):
    (found,) = read(corpus_of(tmp_path / "a", train=NUMBERED))
    assert len(found.dev) == 5 and len(found.train) == 95
    assert not texts_of(found.dev) & texts_of(found.train)


def test_the_measured_sample_is_the_same_each_time(tmp_path):
    folder = corpus_of(tmp_path / "a", train=NUMBERED)
    (found,), (again,) = read(folder), read(folder)
    assert found.dev and shown(again.dev) == shown(found.dev)


def test_sentences_of_a_donors_own_dev_are_not_trained_on(tmp_path):
    (found,) = read(corpus_of(tmp_path / "b", train=NUMBERED[:60], dev=NUMBERED[40:]))
    assert len(found.train) == 40 and len(found.dev) == 60


def test_a_dev_part_that_is_trained_on_is_measured_by_a_sample(tmp_path):
    folder = corpus_of(tmp_path / "b", train=NUMBERED[:60], dev=NUMBERED[40:])
    (found,) = read(folder, parts=["train", "dev", "train"])
    trained, measured = texts_of(found.train), texts_of(found.dev)
    assert len(found.dev) == 6 and not measured & trained
    assert len(measured | trained) == 100


def test_no_copy_of_a_measured_sentence_is_trained_on(tmp_path):
    (found,) = read(corpus_of(tmp_path / "c", train=NUMBERED[:10] * 4))
    assert found.dev and not texts_of(found.dev) & texts_of(found.train)
    assert len(found.train) == 4 * (10 - len(texts_of(found.dev)))


def test_no_measured_sentence_of_another_donor_is_trained_on(tmp_path):
    first = corpus_of(tmp_path / "d", train=NUMBERED[:9], dev=NUMBERED[20:30])
    donors = read(first, corpus_of(tmp_path / "a", train=NUMBERED))
    measured = {text for donor in donors for text in texts_of(donor.dev)}
    trained = {text for donor in donors for text in texts_of(donor.train)}
    assert len(measured) >= 10 and not measured & trained


def test_a_corpus_without_parts_is_trained_on_as_a_whole(tmp_path):
    (found,) = read(corpus_of(tmp_path / "e", all=["[Ann|PER] left", "It rained"]))
    assert len(found.train) == 2


def test_a_single_sentence_is_trained_on(tmp_path):
    (found,) = read(corpus_of(tmp_path / "f", dev=["[Ann|PER] left"]), parts=["dev"])
    assert len(found.train) == 1 and not found.dev


def test_a_named_part_that_a_donor_lacks_is_an_error(tmp_path):
    folder = corpus_of(tmp_path / "f", train=["[Ann|PER] left"])
    with pytest.raises(ValueError, match=r"L495.*f cannot be a donor: it has no part dev, only train"):
        read(folder, parts=["train", "dev"])


def test_a_corpus_without_parts_is_not_trained_on_as_its_test_part(tmp_path):
    folder = corpus_of(tmp_path / "f", all=["[Ann|PER] left"])
    with pytest.raises(ValueError, match=r"L495.*it has no part test, only all"):
        read(folder, parts=["test"])


def test_unusable_donors_are_refused(tmp_path):
    one = corpus_of(tmp_path / "one", train=["[Ann|PER] left"])
    nothing = corpus_of(tmp_path / "nothing", train=["It rained", "It snowed"])
    same = corpus_of(tmp_path / "other" / "one", train=["[Bo|PER] left"])
    letters = CorpusTypes(["PER"], [], "en", "characters")
    write_corpus(tmp_path / "letters", {"train": [parse(NLP, "[Bo|PER] left")]}, letters)
    target = corpus_of(tmp_path / "target", dev=["ann left"])
    for folders, more, problem in (
        ([one, nothing], {}, "nothing .*no entity"),
        ([one, tmp_path / "letters"], {}, "tokens differ"),
        ([one, same], {}, "same name"),
        ([one, one], {}, "same name"),
        ([one], {"exclude": [target]}, "no entity"),
        ([corpus_of(tmp_path / "seen", train=["[Ann|PER] left"], dev=["Ann left"])], {}, "no entity"),
        ([one], {"exclude": [nothing]}, "an excluded corpus"),
        ([one], {"parts": ["train", "tset"]}, "tset"),
        ([one], {"parts": []}, "none"),
        ([one], {"parts": ["dev"]}, "no part dev"),
    ):
        with pytest.raises(ValueError, match=rf"L495.*{problem}"):
            read(*folders, **more)
    with pytest.raises(ValueError, match="L402"):
        read(tmp_path / "none")


def open_corpus(folder, texts, types='{"lang": "en", "open": true}'):
    return new_file(corpus_of(folder, train=texts) / "types.json", types).parent


def text_corpus(folder, text):
    return new_file(folder / "a.txt", f"domain: harbour notes\n\n{text}\n").parent


def test_a_donor_may_have_free_text_types(tmp_path):
    text = text_corpus(tmp_path / "text", "The [Fram|Ship; vehicle] left [Oslo|town; place].\n\nSo far.")
    own = open_corpus(tmp_path / "own", ["[Ann|sailor; person] saw [Fram|ship]", "It rained"])
    one, two = read(text, own, exclude=[corpus_of(tmp_path / "target", test=["it rained"])])
    assert one.is_open and two.is_open and not one.dev and two.n_excluded == 1
    assert shown(one.train) == [
        ("The Fram left Oslo.", [("Fram", "Ship; vehicle"), ("Oslo", "town; place")]),
        ("So far.", []),
    ]
    assert list(one.descriptions) == ["ship", "vehicle", "town", "place"]
    assert list(two.descriptions) == ["sailor", "person", "ship"]
    convert_corpus(text, tmp_path / "converted")
    [converted] = read(tmp_path / "converted")
    assert converted.is_open and list(converted.descriptions) == list(one.descriptions)
    measured = corpus_of(tmp_path / "donor", train=["[Ann|PER] left"], dev=["so far ."])
    assert [len(donor.train) for donor in read(text, measured)] == [1, 1]


@pytest.mark.parametrize(
    ("types", "text", "problem"),
    [
        ('{"open": true, "labels": ["ship"], "tail": []}', "[Fram|ship]", "L430.*free-text"),
        ('{"open": true, "descriptions": {"ship": "a"}}', "[Fram|ship]", "L430.*free-text"),
        ('{"open": true}', "[Fram|; vehicle]", "L495.*an empty type"),
        ('{"open": true}', "Fram", "L495.*no entity"),
        ("TEXT", "The [Fram|ship; vehicle; thing] left Oslo.", r"L401.*a\.txt:3"),
        ('{"labels": ["a"], "tail": [], "descriptions": {"a": " "}}', "[Fram|a]", "L430.*descriptions"),
    ],
)
def test_unusable_free_text_types_are_refused(types, text, problem, tmp_path):
    is_text = types == "TEXT"
    folder = text_corpus(tmp_path, text) if is_text else open_corpus(tmp_path, [text], types)
    with pytest.raises(ValueError, match=problem):
        read(folder)


def test_a_partial_annotation_stays_partial(tmp_path):
    nlp = blank()
    docs = [parse(nlp, text) for text in ("[Maria|PER] left .", "[Rome|GEO] sent [Ida|PER] .")]
    docs[0].user_data[ANNOTATED_TYPES] = ["PER"]
    write_corpus(tmp_path / "a", {"train": docs, "dev": docs[1:]}, CorpusTypes(["GEO", "PER"], [], "en"))
    [donor] = read_donors([tmp_path / "a"], [], ["train"], nlp.vocab)
    assert {doc.text: doc.user_data[ANNOTATED_TYPES] for doc in donor.train} == {docs[0].text: ["PER"]}
    assert [doc.user_data[ANNOTATED_TYPES] for doc in donor.dev] == [["GEO", "PER"]]


def test_other_descriptions_survive_conversion_and_belong_to_known_types(tmp_path):
    declared = '{"other_descriptions": {"SHIP": ["Schiff", "navire"], "PORT": ["Hafen"]}}'
    files = {"train.iob2": "Fram B-SHIP\nsank O\n", "corpus.json": declared}

    convert_corpus(write_files(tmp_path / "source", files), tmp_path / "converted")
    [donor] = read(tmp_path / "converted")

    assert donor.other_descriptions == {"SHIP": ["Schiff", "navire"]}
