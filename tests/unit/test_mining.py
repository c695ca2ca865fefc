"""Mining a pool: expected mentions, what is kept, what is chosen, and how labels come back."""

import gzip
import json
import shutil
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.formats.context import Events
from spacy_longtail.corpus.likeness import skeleton, text_key
from spacy_longtail.pipes.transition.actions import beginnings, columns_of, scored_entities
from spacy_longtail.sentences import by_punctuation, visible_text
from spacy_longtail.unlabelled import pool as pool_module
from spacy_longtail.unlabelled.expectations import KEY, record_expectations
from spacy_longtail.unlabelled.known import KnownSentences, known_in_corpus, new_sentences
from spacy_longtail.unlabelled.pool import PoolOptions, processed, read_pool
from spacy_longtail.unlabelled.proposals import (
    DEFAULT_NAMES,
    ID,
    MINED,
    READ,
    SHARE,
    entities_digest,
    entities_of,
    proposal_id,
    write_proposals,
)
from spacy_longtail.unlabelled.returning import CONFLICTS, merge_labels
from spacy_longtail.unlabelled.scan import RANDOM, Best, Proposal, Scan, choose, share_out
from spacy_longtail.unlabelled.units import (
    PassCounts,
    Unit,
    entities_in,
    pseudo_random,
    sentences_of,
)
from tests.util import (
    GATE_MODEL,
    TOKEN_MODEL,
    blank,
    new_file,
    one_pipe,
    parse,
    refused,
    run_app,
    small_ner,
    tiny_bert,
    tiny_encoder,
    toy_corpus,
    toy_docs,
    train,
    trained_once,
    tree,
    words,
    write_files,
)

CONLLU = "1\tOslo\t_\t_\t_\t_\t_\t_\t_\t_\n2\twaits\t_\t_\t_\t_\t_\t_\t_\t_\n"
PASSAGE = {"offset": 0, "text": "Oslo waits", "annotations": []}
TEXTS = ["Oslo was quiet .", "Storm Ida passed .", "Maria met Jon Berg .", "The Fram was sold in Rome ."]


def unit(text, expected=(0.0,), vector=(1.0, 0.0), document="", ents=()):
    words = text.split()
    spaces = [True] * (len(words) - 1) + [False]
    return Unit(words, spaces, list(ents), list(expected), list(vector), document or text)


def known_of(text):
    known = KnownSentences()
    known.add_docs([words(blank(), text)], blank())
    return known


@pytest.mark.parametrize(
    "text", ["Hello there . Storm Ida passed over Oslo . Bye .", "storm IDA passed over Oslo .\nNew"]
)
def test_a_text_that_has_an_excluded_sentence_is_excluded(text):
    known, counts = known_of("Storm Ida passed over Oslo ."), PassCounts()
    assert not list(new_sentences(blank().make_doc(text), known, counts))
    assert (counts.sentences, counts.known) == (1, 1)


def test_a_short_excluded_sentence_does_not_exclude_the_text_around_it():
    known, counts = known_of("Acknowledgements follow ."), PassCounts()
    doc = blank().make_doc("Storm Ida passed over Oslo . Acknowledgements follow .")
    assert [sentence.text for _, sentence in new_sentences(doc, known, counts)] == [doc.text]
    (after,) = by_punctuation([doc])
    assert [i for i, _ in new_sentences(after, known, counts)] == [0]


def test_a_short_sentence_of_five_tokens_is_found_inside_a_text():
    known, counts = known_of("I do not know ."), PassCounts()
    doc = blank().make_doc("We asked her . I do not know . Then rain .")
    assert not list(new_sentences(doc, known, counts))


def test_the_end_of_a_text_is_not_taken_for_a_longer_sentence():
    known = known_of("Acknowledgements follow .")
    known.add_docs([words(blank(), "Acknowledgements follow in the appendix of it .")], blank())
    doc = blank().make_doc("We sailed to Oslo . Acknowledgements follow .")
    assert len(list(new_sentences(doc, known, PassCounts()))) == 1


def test_a_text_of_many_known_sentences_is_searched_in_linear_time():
    known, sentence = known_of("Storm Ida passed over Oslo ."), "Storm Ida passed over Oslo . "
    seconds = []
    for n in (500, 4000):
        doc = words(blank(), sentence * n)
        start = time.process_time()
        assert known.tokens_in(doc).all()
        seconds.append(time.process_time() - start)
    assert seconds[1] < 30 * seconds[0]  # 8 times as many


def test_a_pool_or_another_corpus_inside_the_folder_is_no_part(tmp_path):
    corpus = in_columns(tmp_path)
    doc = words(blank(), "Storm Ida passed over Oslo .")
    doc.ents = [Span(doc, 0, 2, label="NAT")]
    inner = toy_corpus(corpus / "earlier", train=[doc])
    shutil.copyfile(inner / "train.spacy", corpus / "pool.spacy")
    known = known_in_corpus(corpus, blank(), corpus / "pool.spacy")
    assert "Storm Ida passed over Oslo ." not in known
    assert "Storm Ida passed over Oslo ." in known_in_corpus(corpus, blank())
    assert APPROX in known_in_corpus(corpus, blank(), corpus / "test.spacy")


def test_unannotated_text_in_the_folder_and_the_export_itself_are_no_parts(tmp_path):
    corpus = in_columns(tmp_path)
    DocBin(docs=[words(blank(), "Storm Ida passed over Oslo .")]).to_disk(corpus / "pool.spacy")
    made = Doc(blank().vocab, words=["Ida", "came", "."], user_data={SHARE: MINED})
    made.user_data[ID] = proposal_id(MINED, made.text)
    made.ents = [Span(made, 0, 1, label="NAT")]
    DocBin(docs=[made], store_user_data=True).to_disk(corpus / "labelled.spacy")
    assert merge_labels(corpus, corpus / "labelled.spacy", "dev").parts == {"train": 1}
    path = written(tmp_path / "l.jsonl", [task("Storm Ida passed over Oslo .", [(0, 9, "NAT")])])
    assert merge_labels(corpus, path, "dev").parts == {"train": 1}


def test_a_text_that_begins_as_an_excluded_sentence_is_not_excluded():
    known, counts = known_of("Storm Ida passed over Oslo ."), PassCounts()
    doc = blank().make_doc("Storm Ida passed over Bergen on Monday .")
    assert len(list(new_sentences(doc, known, counts))) == 1


@pytest.mark.parametrize("factory", ["ner", "longtail_ner"])
def test_a_parser_begins_with_the_probability_of_its_actions(factory):
    nlp, _ = trained_once(one_pipe, 40, factory=factory, **small_ner())
    pipe = nlp.get_pipe("ner")
    docs = list(nlp.pipe(doc.text for doc in toy_docs()))
    ents = [list(doc.ents) for doc in docs]
    assert any(ents)
    labels, columns = list(pipe.labels), columns_of(pipe.moves)
    p = beginnings(pipe.model, columns, docs, labels)
    replayed = [span for own in scored_entities(pipe.model, columns, docs, ents) for span in own]
    offset = 0
    for doc, own in zip(docs, ents, strict=True):
        for ent in own:
            first = replayed.pop(0).token_scores[0]
            assert p[offset + ent.start, labels.index(ent.label_)] >= first - 1e-6  # of B and U together
            assert not p[offset + ent.start + 1 : offset + ent.end].any()
        offset += len(doc)
    assert (p.sum(axis=1) <= 1 + 1e-6).all()
    record_expectations(nlp)
    found = nlp(docs[0].text).user_data[KEY]["ner"]
    np.testing.assert_allclose(found["mentions"], p[: len(docs[0])], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_sentence_has_its_own_expectation_wherever_boundaries_are_set(place):
    """Else each sentence of a text would have what all of them together have."""
    nlp, _ = trained_once(one_pipe, 40, model=TOKEN_MODEL, head="crf")
    nlp.add_pipe("sentencizer", **{place: True})
    record_expectations(nlp)
    doc, types = nlp("Storm Ida passed . He slept . Storm Bo passed ."), list(nlp.get_pipe("ner").labels)
    scan = Scan(types, dict.fromkeys(types, 9) | {RANDOM: 9})
    scan.read([doc])
    expected = [unit.expected for _, unit in scan.best[RANDOM].ranked()]
    begins = doc.user_data[KEY]["ner"]["mentions"]
    wanted = [begins[a:b].sum(axis=0).round(4) for a, b in sentences_of(doc)]
    assert sorted(expected) == sorted(row.tolist() for row in wanted) and len(expected) == 3
    assert min(map(sum, expected)) < 0.3 < 0.7 < max(map(sum, expected))


def test_the_expectations_of_a_gate_are_its_probabilities():
    nlp = one_pipe("longtail_sentence_gate", "gate", model=GATE_MODEL, rare_labels=["ART", "NAT"])
    train(nlp, 2)
    record_expectations(nlp)
    docs = list(nlp.pipe(TEXTS))
    found = [doc.user_data[KEY]["gate"] for doc in docs]
    p = nlp.get_pipe("gate").predict(docs)
    assert found[0]["labels"] == ["ART", "NAT"]
    mentions = [own["mentions"].sum() for own in found]
    np.testing.assert_allclose(mentions, p[:, 0], rtol=1e-5)
    assert not any(own["mentions"][1:].any() for own in found)


# what is kept


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20))), st.integers(0, 6))
def test_the_best_are_the_highest_each_text_once(rows, size):
    """A text may come with several scores, as in several contexts: the highest one counts."""
    best = Best(size)
    highest: dict[int, int] = {}
    for score, key in rows:
        highest[key] = max(score, highest.get(key, score))
        best.add(score, key, unit(f"text {key} at {score}"))
    kept = [score for score, _ in best.ranked()]
    assert kept == sorted(highest.values(), reverse=True)[:size]
    texts = {u.text for _, u in best.ranked()}
    assert len({text.split(" at ")[0] for text in texts}) == len(kept)
    assert texts <= {f"text {key} at {score}" for key, score in highest.items()}


def test_random_numbers_depend_on_text_and_seed_alone():
    texts = [f"text {i}" for i in range(4000)]
    own = np.array([pseudo_random(text, 3) for text in texts])
    assert pseudo_random("  Text 1", 3) == own[1] != pseudo_random("text 1", 4)
    assert abs(own.mean() - 0.5) < 0.02 and abs((own < 0.1).mean() - 0.1) < 0.02
    assert text_key("A  B.") == text_key("a b .") != text_key("a c.")
    assert skeleton("On 3 May") == skeleton("on 17 May")


# what is chosen


@given(st.integers(1, 60), st.dictionaries(st.sampled_from("ABC"), st.integers(0, 20)))
def test_quotas_add_up(n, own):
    if sum(own.values()) > n:
        with pytest.raises(ValueError, match="L500"):
            share_out(n, ["A", "B", "C"], own)
        return
    found = share_out(n, ["A", "B", "C"], own)
    assert all(found[t] == k for t, k in own.items())
    assert sum(found.values()) == (n if len(own) < 3 else sum(own.values()))
    rest = [found[t] for t in "ABC" if t not in own]
    assert not rest or max(rest) - min(rest) <= 1


rows = st.lists(
    st.tuples(st.integers(0, 30), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 3)), max_size=30
)

few = st.integers(0, 8)


@given(rows, few, few, st.integers(0, 4), st.floats(0, 1), st.sets(st.sampled_from("AB")))
@settings(max_examples=60)
def test_no_text_twice_and_no_quota_exceeded(data, a, b, n_random, penalty, given):
    scan = Scan(["A", "B"], {"A": 12, "B": 12, RANDOM: n_random})
    rng = np.random.default_rng(len(data))
    for i, x, y, doc in data:
        own = unit(f"text {chr(65 + i)}", (x, y), rng.standard_normal(4).tolist(), f"doc {doc}")
        key = text_key(own.text)
        scan.best["A"].add(x, key, own)
        scan.best["B"].add(y, key, own)
        scan.best[RANDOM].add(pseudo_random(own.text, 0), key, own)
    quotas = {"A": a, "B": b}
    found = choose(scan, quotas, n_random, penalty, given, per_document=1.0)
    counts = Counter(p.chosen_for for p in found)
    assert all(counts[t] <= quotas[t] for t in given)  # the others may be given what these leave
    assert len({p.unit.text for p in found}) == len(found) <= a + b + n_random
    assert counts[RANDOM] == min(n_random, len(scan.best[RANDOM].heap))
    assert all(quotas[t] or not counts[t] for t in quotas)


def test_near_duplicates_and_one_document_do_not_fill_a_quota():
    scan = Scan(["A"], {"A": 50, RANDOM: 0})
    rng = np.random.default_rng(0)
    same = rng.standard_normal(8)
    for i in range(10):
        near = (same + 0.001 * rng.standard_normal(8)).tolist()
        scan.best["A"].add(0.9, i, unit(f"the storm of {chr(65 + i)}", (0.9,), near))
        scan.best["A"].add(0.8, 300 + i, unit(f"day {i}", (0.8,), rng.standard_normal(8).tolist()))
        far = rng.standard_normal(8).tolist()
        scan.best["A"].add(0.5, 100 + i, unit(f"other {chr(65 + i)}", (0.5,), far, "one"))
        scan.best["A"].add(0.4, 200 + i, unit(f"third {chr(65 + i)}", (0.4,), rng.standard_normal(8)))
    kinds = Counter(p.unit.text.split()[0] for p in choose(scan, {"A": 10}, 0, per_document=0.2))
    assert kinds == {"the": 1, "day": 1, "other": 2, "third": 6}


# pools


def texts_of(path, form=None, nlp=None, events=None):
    """The documents of a pool."""
    options = PoolOptions(format=form)
    return list(read_pool(path, nlp or blank(), options, Events() if events is None else events))


def test_texts_of_a_folder_are_read_with_their_place_and_plain_values(tmp_path):
    odd = {"big": 10**22, "score": float("nan")}  # no format holds them
    row = {"text": "Third .", "id": 7, "meta": {"source": "x"}, **odd}
    zipped = gzip.compress(json.dumps(row).encode())
    write_files(tmp_path, {"a.txt": "One line .\n\nAnother .\n", "b.jsonl.gz": zipped})
    docs = texts_of(tmp_path)
    assert [doc.text for doc in docs] == ["One line .", "Another .", "Third ."]
    assert docs[0].user_data["mine_place"] == "a.txt:1"
    assert docs[2].user_data == {"pool_id": 7, "source": "x", "mine_place": "b.jsonl.gz:1"}


def test_a_text_with_data_beside_it_is_the_text(tmp_path):
    row = {"text": "Storm Ida passed .", "data": {"author": "jane_doe"}}
    (doc,) = texts_of(new_file(tmp_path / "a.jsonl", json.dumps(row)))
    assert doc.text == "Storm Ida passed ."


@pytest.mark.parametrize("reader", [blank(), Language()])
def test_documents_of_spacy_are_read_without_their_annotation(reader, tmp_path):
    docs = texts_of(toy_corpus(tmp_path / "corpus") / "train.spacy", nlp=reader)
    assert len(docs) == 8 and not any(doc.ents or doc.has_annotation("ENT_IOB") for doc in docs)


@pytest.mark.parametrize(("name", "code"), [("nowhere", "L402"), ("none.txt", "L403")])
def test_a_pool_without_a_text_is_refused(name, code, tmp_path):
    new_file(tmp_path / "none.txt", "\n \n")
    with pytest.raises(ValueError, match=code):
        texts_of(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "form", "read"),
    [
        ("a.conllu", CONLLU, None, "Oslo waits"),
        ("a.iob1", "Oslo I-GEO\nRome I-GEO\n", None, "Oslo Rome"),
        ("a.iob2", "Oslo O\nRome I-GEO\n", None, "Oslo Rome"),
        ("a.csv", "Sentence #,Word\n1,Oslo\n,waits\n", None, "Oslo waits"),
        ("a.txt", "title: A\nkind: x\n\n[Marta Ruiz|PER] waits.\n", "articles", "Marta Ruiz waits."),
        ("a.iob", "Oslo B-GEO\nwaits O\n\n", None, "Oslo waits"),
        ("a.json", '[{"data": {"body": "Oslo waits", "id": 3}}]', None, "Oslo waits"),
        ("a.jsonl", '{"tokens": ["Oslo", "waits"], "ner_tags": [3, 0]}', None, "Oslo waits"),
        ("a.jsonl", '{"tokenized_text": ["Oslo", "waits"], "ner": [[0, 0, "GEO"]]}', None, "Oslo waits"),
    ],
)
def test_labels_of_a_pool_do_not_matter(tmp_path, name, text, form, read):
    (doc,) = texts_of(new_file(tmp_path / name, text), form, events=(events := Events()))
    assert doc.text.strip() == read and not events.counts
    assert not doc.ents and not {"tokens", "ner", "ner_tags"} & {*doc.user_data}


@pytest.mark.parametrize(
    ("record", "read"),
    [
        ({"content": "Oslo waits", "id": 3}, ["Oslo waits"]),
        ({"sentences": [["Oslo", "waits"], ["Rome"]], "doc_key": "a"}, ["Oslo waits Rome"]),
        ({"sentences": [["Oslo"]], "ner": [[[0, 9, "OUTSIDE"]]]}, ["Oslo"]),
        ({"documents": [{"id": "a", "passages": [PASSAGE, {**PASSAGE, "text": ""}]}]}, ["Oslo waits"]),
        ({"paragraphs": [{"sentences": [{"tokens": [{"orth": "Oslo"}]}]}]}, ["Oslo"]),
        ({"tokens": ["Oslo", "", "waits"]}, ["Oslo waits"]),
        ({"tokens": []}, []),
        ({"tokens": ["Oslo", "waits"], "content": "news"}, ["Oslo waits"]),
        ({"tokens": ["Oslo", "waits"], "content": 5, "sentences": 1}, ["Oslo waits"]),
        ({"data": "Oslo waits", "sentences": 3, "paragraphs": ["a"]}, ["Oslo waits"]),
        ({"tokens": ["Oslo", "waits"], "sentences": [["Rome"]]}, ["Oslo waits"]),
        ({"text": None}, []),
    ],
)
def test_json_that_convert_reads_is_a_pool_with_or_without_labels(tmp_path, record, read):
    rows = [record, {"text": "Storm Ida passed ."}]
    docs = texts_of(
        new_file(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))), events=(e := Events())
    )
    assert [doc.text.strip() for doc in docs] == [*read, "Storm Ida passed ."]
    assert not any(doc.has_annotation("ENT_IOB") for doc in docs)
    assert (e.n("blank"), e.n("empty")) == ("" in record.get("tokens", ()), not read)


def test_the_texts_of_one_record_may_come_in_several_memory_zones(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "ZONE", 2)
    names = [f"Nordhavn{i}" for i in range(9)]
    paragraphs = [{"sentences": [{"tokens": [{"orth": name}]}]} for name in names]
    path = new_file(tmp_path / "a.jsonl", json.dumps({"paragraphs": paragraphs, "article": "x"}))
    texts = read_pool(path, nlp := blank(), PoolOptions(), Events())
    read = [(doc.text.strip(), doc.user_data["article"]) for doc in processed(nlp, texts, 1, 1)]
    assert read == [(name, "x") for name in names]


def test_sentences_of_a_nested_record_stay_sentences(tmp_path):
    record = {"sentences": [["Oslo", "waits", "."], ["Rome", "sleeps"]], "id": 7}
    (doc,) = texts_of(new_file(tmp_path / "a.jsonl", json.dumps(record)))
    assert [sentence.text for sentence in doc.sents] == ["Oslo waits .", "Rome sleeps"]
    assert doc.user_data["pool_id"] == 7


@pytest.mark.parametrize(
    "record",
    [
        {"sentences": "Oslo waits"},
        {"paragraphs": [3]},
        {"paragraphs": [{"sentences": 3}]},
        {"passages": [{}, 3]},
    ],
)
def test_a_record_of_another_form_is_refused_with_its_place(tmp_path, record):
    with pytest.raises(ValueError, match=r"a\.jsonl:1: .*(another form|as the text)"):
        texts_of(new_file(tmp_path / "a.jsonl", json.dumps(record)))


def test_texts_that_no_pipeline_can_read_are_counted(tmp_path, monkeypatch):
    """Those of more than max_length characters, and those whose tokens would never come."""
    nlp, events = blank(), Events()
    nlp.max_length = 200_000
    texts = f"Short .\nAnn {'[' * 100_000}\n{'long ' * 50_000}\n"
    monkeypatch.setattr(nlp, "make_doc", lambda text: Doc(nlp.vocab, words=[text]))  # in no time
    assert len(texts_of(new_file(tmp_path / "a.txt", texts), nlp=nlp, events=events)) == 1
    assert (events.n("long"), events.n("tangled")) == (1, 1)


# the way out and the way back


def proposed():
    texts = [f"Storm {name} sank the Fram ." for name in ("Ida", "Bo", "Ulf", "Eva")]
    units = [unit(text, (0.5,), ents=[(0, 2, "NAT")], document=text) for text in texts]
    return [Proposal(own, "NAT" if i else RANDOM, 0.5) for i, own in enumerate(units)]


def accept_all(path: Path, form: str) -> None:
    """Make a file of proposals what a tool gives back that accepts every suggestion."""
    if form == "label-studio":
        tasks = srsly.read_json(path)
        srsly.write_json(path, [{**task, "annotations": task["predictions"]} for task in tasks])
    elif form == "prodigy":
        srsly.write_jsonl(path, [{**task, "answer": "accept"} for task in srsly.read_jsonl(path)])


@pytest.mark.parametrize("form", DEFAULT_NAMES)
def test_labels_come_back_from_every_tool(corpus, tmp_path, form):
    path = tmp_path / DEFAULT_NAMES[form]
    write_proposals(proposed(), path, form, blank().vocab)
    accept_all(path, form)
    with pytest.raises(ValueError, match="L506"):
        merge_labels(corpus, path, "test")
    found = merge_labels(corpus, path, "test", unchanged=True)
    assert dict(found.parts) == {"test": 1, "train": 3}
    *_, last = load_docs(corpus / "train.spacy", blank())
    assert [(e.text, e.label_) for e in last.ents] == [("Storm Eva", "NAT")]
    again = merge_labels(corpus, path, "test", unchanged=True)
    assert not again.parts and again.n_known == 4 and not again.conflicts


def written(path, rows):
    srsly.write_jsonl(path, rows)
    return path


def task(text, spans, share="mined", **about):
    meta = {ID: proposal_id(share, text), SHARE: share, **about}
    return {
        "text": text,
        "spans": [dict(zip(("start", "end", "label"), s, strict=True)) for s in spans],
        "answer": "accept",
        "meta": meta,
    }


def test_a_name_is_no_contradiction_of_a_word_in_other_case(tmp_path):
    """The corpus has "I may go ." without an entity; May is a person."""
    corpus = toy_corpus(tmp_path / "corpus", train=[parse(blank(), "I may go .")])
    path = written(tmp_path / "l.jsonl", [task("I May go .", [(2, 5, "PER")]), task("I MAY go .", [])])
    found = merge_labels(corpus, path, "dev")
    assert not found.conflicts
    assert found.parts == {"train": 1} and found.mentions == {"PER": 1}
    assert found.n_known == 1  # the one without an entity


def test_conflicts_are_kept_apart(corpus, tmp_path):
    inside = toy_docs()[0].text.strip()
    path = written(
        tmp_path / "l.jsonl",
        [
            task("Ida came .", [(0, 3, "NAT")]),
            task("Ida came .", [(0, 3, "PER")]),  # the file has it twice
            task("ida  came .", [(0, 3, "NAT")]),  # as the first
            task(inside, []),  # the corpus has it, with entities
            {**task("Bo came .", []), "answer": "reject"},
        ],
    )
    found = merge_labels(corpus, path, "dev")
    assert not found.parts and found.n_repeated == 1 and len(found.conflicts) == 3
    assert found.events.counts["rejected"]["reject"] == 1
    kept = list(srsly.read_jsonl(corpus / CONFLICTS))
    assert [row["text"].strip() for row in kept] == ["Ida came .", "Ida came .", inside]
    assert [row["spans"][0]["label"] for row in kept if row["spans"]] == ["NAT", "PER"]
    assert all(row["meta"]["mine_problem"] for row in kept)
    before = (corpus / CONFLICTS).read_bytes()
    assert not merge_labels(corpus, path, "dev").parts
    assert (corpus / CONFLICTS).read_bytes() == before


def test_an_edited_conflict_can_be_merged(corpus, tmp_path):
    pair = [task("Ida came .", [(0, 3, t)], source="x") for t in ("NAT", "PER")]
    doc = words(blank(), "Bo came .")
    doc.ents = [Span(doc, 0, 1, label="NAT")]
    predicted = {READ: entities_digest(doc)}
    other = [task("Bo came .", [(0, 2, t)], **predicted) for t in ("NAT", "PER")]
    merge_labels(corpus, written(tmp_path / "l.jsonl", [*pair, *other]), "dev")
    rows = list(srsly.read_jsonl(corpus / CONFLICTS))
    written(corpus / CONFLICTS, rows[1:])
    found = merge_labels(corpus, corpus / CONFLICTS, "dev")
    assert dict(found.parts) == {"train": 1} and found.mentions == {"PER": 1}
    *_, last = load_docs(corpus / "train.spacy", blank())
    assert last.text == "Ida came ." and last.user_data["source"] == "x"
    assert "mine_problem" not in last.user_data
    assert [row["text"] for row in srsly.read_jsonl(corpus / CONFLICTS)] == ["Bo came ."] * 2
    written(corpus / CONFLICTS, [rows[2], {**rows[3], "answer": "reject"}])
    assert merge_labels(corpus, corpus / CONFLICTS, "dev").mentions == {"NAT": 1}
    assert not (corpus / CONFLICTS).read_text("utf8")


@pytest.mark.parametrize("random_to", ["dev", "test", "train"])
@pytest.mark.parametrize(
    ("sampled", "mined"),
    [
        ("We saw the storm pass .", "Then rain . We saw the storm pass . He left ."),
        ("Then rain . We saw the storm pass .", "We saw the storm pass ."),
        ("Then rain . We saw the storm pass .", "We saw the storm pass . He left ."),
    ],
)
def test_a_sentence_of_the_random_sample_does_not_come_to_train(
    corpus, tmp_path, sampled, mined, random_to
):
    rows = [
        task(text, [(0, text.index(" "), t)], s)
        for text, t, s in ((mined, "NAT", "mined"), (sampled, "PER", RANDOM))
    ]
    found = merge_labels(corpus, written(tmp_path / "l.jsonl", rows), random_to)
    if random_to == "train":
        assert dict(found.parts) == {"train": 2}
        return
    assert dict(found.parts) == {random_to: 1} and found.mentions == {"PER": 1}
    assert [(doc.text, why) for doc, why in found.conflicts] == [
        (mined, f"it shares a sentence with the random sample in {random_to}")
    ]


def test_documents_of_one_group_stay_in_one_part(tmp_path):
    """As `split --group-by article` has divided the corpus."""
    docs = dict(zip(("train", "dev", "test"), toy_docs()[:3], strict=True))
    for part, doc in docs.items():
        doc.user_data["article"] = f"in {part}" if part != "test" else "2"
    corpus = toy_corpus(tmp_path / "corpus", **{part: [doc] for part, doc in docs.items()})
    types = json.loads((corpus / "types.json").read_text("utf8"))
    new_file(corpus / "types.json", json.dumps({**types, "group_by": "article"}))
    rows = [
        task("Ida came .", [(0, 3, "NAT")], article="in train"),
        task("Bo came .", [(0, 2, "NAT")], article="in dev"),
        task("Ulf came .", [(0, 3, "NAT")], article="new"),
        task("Eva came .", [(0, 3, "NAT")], share=RANDOM, article="new"),
        task("Ann came .", [(0, 3, "NAT")], share=RANDOM, article="in train"),
        task("Una came .", [(0, 3, "NAT")]),
        task("Leo came .", [(0, 3, "NAT")], article=2),  # a number here, a text in the corpus
    ]
    found = merge_labels(corpus, written(tmp_path / "l.jsonl", rows), "dev")
    assert dict(found.parts) == {"train": 2, "dev": 1}
    assert [(doc.text, why) for doc, why in found.conflicts] == [
        ("Ann came .", "its article is in train"),
        ("Bo came .", "its article is in dev"),
        ("Ulf came .", "its article is in dev"),
        ("Leo came .", "its article is in test"),
    ]
    known = known_in_corpus(corpus, blank())
    for article, n_left in (("in train", 1), ("in dev", 0), ("new", 0), ("other", 1)):
        doc = words(blank(), "Jo came .")
        doc.user_data["article"] = article
        assert len([*new_sentences(doc, known, PassCounts())]) == n_left, article


@pytest.mark.parametrize("share", ["mined", RANDOM])
def test_the_annotation_of_a_merged_sentence_can_be_replaced(corpus, tmp_path, share):
    """As after a file that was merged before it was finished."""
    rows = [task("Ida came .", [], share), task("Bo came .", [(0, 2, "NAT")], share)]
    merge_labels(corpus, written(tmp_path / "a.jsonl", rows), "test")
    part = "test" if share == RANDOM else "train"
    path = written(tmp_path / "b.jsonl", [task("Ida came .", [(0, 3, "PER")], share), rows[1]])
    assert len(merge_labels(corpus, path, "dev").conflicts) == 1
    before = {p: len(load_docs(corpus / f"{p}.spacy", blank())) for p in ("train", "test")}
    found = merge_labels(corpus, path, "dev", replace=True)
    assert len(found.replaced) == 1 and not found.parts and not found.conflicts and found.n_known == 1
    docs = {p: load_docs(corpus / f"{p}.spacy", blank()) for p in before}
    assert {p: len(own) for p, own in docs.items()} == before
    (doc,) = (doc for doc in docs[part] if doc.text == "Ida came .")
    assert [ent.label_ for ent in doc.ents] == ["PER"]
    assert "No new sentence" in run_app("merge", corpus, path, "--replace").output


def test_sentences_of_the_corpus_itself_are_not_replaced(corpus, tmp_path):
    path = written(tmp_path / "l.jsonl", [task(toy_docs()[0].text.strip(), [])])
    found = merge_labels(corpus, path, "dev", replace=True)
    assert len(found.conflicts) == 1 and not found.replaced


def test_two_corrections_of_one_sentence_are_conflicts(corpus, tmp_path):
    merge_labels(corpus, written(tmp_path / "a.jsonl", [task("Ida came .", [])]), "dev")
    two = [task("Ida came .", [(0, 3, label)]) for label in ("PER", "NAT")]
    found = merge_labels(corpus, written(tmp_path / "b.jsonl", two), "dev", replace=True)
    assert len(found.conflicts) == 2 and not found.replaced


def test_convert_does_not_remove_what_was_merged(tmp_path):
    row = {**task("Ida came .", [(0, 3, "PER")]), "meta": {"source": "x"}}
    source = new_file(tmp_path / "source" / "train.jsonl", json.dumps(row)).parent
    run_app("convert", source, tmp_path / "corpus")
    run_app("convert", source, tmp_path / "corpus")
    merge_labels(tmp_path / "corpus", written(tmp_path / "l.jsonl", [task("Bo came .", [])]), "dev")
    before = tree(tmp_path / "corpus")
    refused(["convert", source, tmp_path / "corpus"], "L437")
    assert tree(tmp_path / "corpus") == before
    new_file(tmp_path / "corpus" / "train.spacy", b"damaged")
    run_app("convert", source, tmp_path / "corpus")
    random = written(tmp_path / "l.jsonl", [task("Ulf came .", [], RANDOM)])
    merge_labels(tmp_path / "corpus", random, "dev")
    refused(["convert", source, tmp_path / "corpus"], "L437")  # of which the source has no dev


def test_proposals_that_are_converted_are_not_taken_for_merged_ones(tmp_path):
    source = tmp_path / "source" / "train.jsonl"
    source.parent.mkdir()
    written(source, [task("Ida came .", [(0, 3, "PER")])])
    for _ in range(2):
        run_app("convert", source.parent, tmp_path / "corpus")
    path = written(tmp_path / "l.jsonl", [task("Ida came .", [])])
    assert not merge_labels(tmp_path / "corpus", path, "dev", replace=True).replaced


def test_a_correction_replaces_a_sentence_that_another_text_contains(corpus, tmp_path):
    merge_labels(corpus, written(tmp_path / "a.jsonl", [task("Ida came .", [])]), "dev")
    longer = task("Ida came . He left .", [(0, 3, "PER")])
    merge_labels(corpus, written(tmp_path / "b.jsonl", [longer]), "dev")
    path = written(tmp_path / "c.jsonl", [task("Ida came .", [(0, 3, "PER")])])
    assert len(merge_labels(corpus, path, "dev", replace=True).replaced) == 1


def test_conflicts_that_are_ignored_stay(corpus, tmp_path):
    rows = [task(f"{name} came .", [(0, 3, t)]) for name in ("Ida", "Ulf") for t in ("NAT", "PER")]
    merge_labels(corpus, written(tmp_path / "l.jsonl", rows), "dev")
    answers = ("accept", "reject", "ignore", "ignore")
    kept = [
        {**row, "answer": a}
        for row, a in zip(srsly.read_jsonl(corpus / CONFLICTS), answers, strict=True)
    ]
    new_file(corpus / CONFLICTS, "\n\n".join(map(json.dumps, kept)))
    merge_labels(corpus, corpus / CONFLICTS, "dev")
    assert list(srsly.read_jsonl(corpus / CONFLICTS)) == kept[2:]


def test_a_conflict_keeps_what_json_can_hold(corpus, tmp_path):
    docs = []
    for label in ("NAT", "PER"):
        doc = words(blank(), "Ida came .")
        doc.ents = [Span(doc, 0, 1, label=label)]
        doc.user_data |= {ID: proposal_id(MINED, doc.text), SHARE: MINED, "vector": np.zeros(2), "n": 3}
        docs.append(doc)
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "l.spacy")
    assert len(merge_labels(corpus, tmp_path / "l.spacy", "dev").conflicts) == 2
    assert [row["meta"]["n"] for row in srsly.read_jsonl(corpus / CONFLICTS)] == [3, 3]


def test_a_random_sentence_in_conflict_does_not_come_to_train(corpus, tmp_path):
    sampled = "We saw the storm pass ."
    rows = [task(sampled, [(0, 2, t)], RANDOM) for t in ("NAT", "PER")]
    path = written(tmp_path / "l.jsonl", [*rows, task(f"Then rain . {sampled}", [])])
    found = merge_labels(corpus, path, "dev")
    assert not found.parts and len(found.conflicts) == 3


def test_unlabelled_documents_of_a_pool_are_what_it_should_have(tmp_path):
    DocBin(docs=[words(blank(), "Oslo waits .")]).to_disk(tmp_path / "pool.spacy")
    assert len(texts_of(tmp_path / "pool.spacy", events=(events := Events()))) == 1
    assert not events.counts


def test_predictions_that_nobody_changed_are_counted(corpus, tmp_path):
    """Doccano exports predictions as labels, read or not."""
    path = tmp_path / "next.jsonl"
    write_proposals(proposed(), path, "doccano", blank().vocab)
    rows = list(srsly.read_jsonl(path))
    said = run_app("merge", corpus, written(path, [{**rows[0], "label": []}, *rows[1:]])).output
    assert "3 of 4 sentences have the predicted entities" in " ".join(said.split())
    found = json.loads(run_app("merge", corpus, path, "--json").output)
    assert (found["unchanged"], found["known"]) == (3, 4)


LOST_LABEL = task("Idas came .", [(0, 3, "NAT")])  # no token ends where it does


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"text": "Not proposed .", "spans": [], "answer": "accept"}, "L506"),
        ({**task("Ida came .", []), "text": "Ida went ."}, "L506"),
        (task("Ida came .", [], share="stolen"), "L506"),
        (LOST_LABEL, r"L700.*was not merged: .* pass --allow to merge it anyway"),
    ],
)
def test_what_cannot_be_merged_changes_nothing(corpus, tmp_path, row, code):
    before = tree(corpus)
    path = written(tmp_path / "l.jsonl", [task("Bo came .", []), row])
    with pytest.raises(ValueError, match=code):
        merge_labels(corpus, path, "dev")
    assert tree(corpus) == before


def test_nothing_is_merged_into_a_corpus_that_is_not_split(corpus, tmp_path):
    """A new train.spacy would hide all.spacy from every command."""
    (corpus / "train.spacy").rename(corpus / "all.spacy")
    for part in ("dev", "test"):
        (corpus / f"{part}.spacy").unlink(missing_ok=True)
    before = tree(corpus)
    path = written(tmp_path / "l.jsonl", [task("Ida came .", [(0, 3, "NAT")])])
    with pytest.raises(ValueError, match=r"L506.*not split.*Run `split` first"):
        merge_labels(corpus, path, "dev")
    assert tree(corpus) == before


def test_labels_that_would_be_lost_are_merged_if_that_is_allowed(corpus, tmp_path):
    path = written(tmp_path / "l.jsonl", [LOST_LABEL])
    assert merge_labels(corpus, path, "dev", allow=True).parts == {"train": 1}


def in_label_studio(name, *labels, **about):
    """A task whose annotations, one for each label, name the first word of the text."""
    text = f"{name} came ."
    value = {"start": 0, "end": 3}
    results = [[{"type": "labels", "value": {**value, "labels": [label]}}] for label in labels]
    annotations = [{"result": result} for result in results]
    annotations[-1] |= about
    return {"data": {"text": text, **task(text, [])["meta"]}, "annotations": annotations}


def test_annotators_of_one_task_may_disagree(corpus, tmp_path):
    tasks = [
        in_label_studio("Ida", "NAT", "PER"),
        in_label_studio("Bob", "NAT", "NAT"),
        in_label_studio("Ulf", "NAT", "PER", was_cancelled=True),
    ]
    srsly.write_json(tmp_path / "l.json", tasks)
    found = merge_labels(corpus, tmp_path / "l.json", "dev")
    assert dict(found.parts) == {"train": 2} and found.n_repeated == 1
    conflicts = [(doc.text, doc.ents[0].label_) for doc, _ in found.conflicts]
    assert conflicts == [("Ida came .", "NAT"), ("Ida came .", "PER")]
    assert found.events.counts == {"cancelled": {"annotations": 1}}


SPANS = st.sampled_from([[], [(0, 3, "NAT")], [(0, 3, "PER")]])


@given(st.lists(st.tuples(st.sampled_from("abcdef"), SPANS, st.booleans()), min_size=1, max_size=12))
@settings(max_examples=25)
def test_no_sentence_is_lost_or_doubled(tmp_path_factory, labelled):
    folder = tmp_path_factory.mktemp("merge")
    corpus = toy_corpus(folder / "corpus")
    tasks = [task(f"Ida {t} .", spans, RANDOM if r else "mined") for t, spans, r in labelled]
    found = merge_labels(corpus, written(folder / "l.jsonl", tasks), "test")
    n_added = sum(found.parts.values())
    assert n_added + found.n_repeated + found.n_known + len(found.conflicts) == len(tasks)
    docs = [d for part in ("train", "test") for d in load_docs(corpus / f"{part}.spacy", blank())]
    assert len(docs) == 12 + n_added
    new = [d.text for d in docs if d.text.startswith("Ida ")]
    versions = {t: {str(spans) for other, spans, _ in labelled if other == t} for t, _, _ in labelled}
    assert len(new) == len(set(new)) == sum(len(own) == 1 for own in versions.values())
    n_kept = len(list(srsly.read_jsonl(corpus / CONFLICTS))) if found.conflicts else 0
    assert n_kept == len({(d.text, tuple(e.label_ for e in d.ents)) for d, _ in found.conflicts})


# commands


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    nlp, _ = trained_once(one_pipe, 40, model=TOKEN_MODEL, head="crf")
    path = tmp_path_factory.mktemp("pipeline") / "model"
    nlp.to_disk(path)
    return path


@pytest.fixture
def pool(tmp_path):
    new = ["Storm Bo sank a ship .", "Storm Ulf passed Oslo .", "No ."]
    lines = [*(doc.text for doc in toy_docs()), *new, *new[-2:]]
    return new_file(tmp_path / "pool.txt", "\n".join(lines))


@pytest.mark.parametrize("n_process", [1, 2])
def test_from_pool_to_corpus(corpus, tmp_path, pipeline, pool, n_process):
    out = tmp_path / "next.jsonl"
    said = run_app("mine", pipeline, pool, "-o", out, "--labels", 3, "--corpus", corpus, "--random", 0.34, "--seed", 4, "--n-process", n_process)  # fmt: skip  # the lot takes "No ."
    rows = list(srsly.read_jsonl(out))
    assert len(rows) == 3 == len({row["text"] for row in rows})
    assert "3 sentences to label" in " ".join(said.output.split())
    assert not {doc.text for doc in toy_docs()} & {row["text"] for row in rows}
    assert Counter(row["meta"][SHARE] for row in rows) == {"mined": 2, RANDOM: 1}
    assert all(row["meta"]["reason"] for row in rows)
    srsly.write_jsonl(out, [{**row, "answer": "accept"} for row in rows])
    refused(["merge", corpus, out], "L506")
    assert "added" in run_app("merge", corpus, out, "--random-to", "test", "--unchanged").output


@pytest.mark.parametrize(("n_process", "forks"), [(1, False), (2, True), (-1, True)])
def test_torch_is_prepared_before_a_pass_in_several_processes(n_process, forks, monkeypatch):
    prepared = []
    monkeypatch.setattr(pool_module, "prepare_forks", lambda: prepared.append(1))
    assert not list(processed(blank(), iter([]), 1, n_process))
    assert bool(prepared) == forks


def test_an_encoder_mines_for_types_that_nobody_has_labelled(tmp_path, pool):
    encoder = tiny_encoder(tmp_path / "encoder", tiny_bert(tmp_path / "bert", spells=True))
    out, texts = tmp_path / "next.jsonl", {"STORM": "named storm", "SHIP": "ship"}
    types = {"labels": [*texts], "tail": ["STORM"], "descriptions": texts}
    corpus = new_file(tmp_path / "corpus" / "types.json", json.dumps(types)).parent
    options = ("-o", out, "--labels", 4, "--random", 0.25)
    run_app("mine", encoder, pool, *options, "--corpus", corpus)
    rows = list(srsly.read_jsonl(out))
    assert Counter(row["meta"][SHARE] for row in rows) == {"mined": 3, RANDOM: 1}
    assert {row["meta"]["reason"].split()[0] for row in rows} == {"STORM", "random"}
    assert {span["label"] for row in rows for span in row["spans"]} <= {*texts}
    refused(["mine", encoder, pool, *options, "--types", "river"], "L437")  # it may hold labels
    run_app("mine", encoder, pool, "-o", tmp_path / "other.jsonl", "--types", "river")
    refused(["mine", encoder, pool, "-o", tmp_path / "none.jsonl"], "L500")
    srsly.write_jsonl(out, [{**row, "spans": [], "answer": "accept"} for row in rows])
    run_app("merge", corpus, out, "--unchanged")
    parts = {part: len(load_docs(corpus / f"{part}.spacy", blank())) for part in ("train", "dev")}
    assert parts == {"train": 3, "dev": 1}


def test_a_rare_type_that_the_pipeline_cannot_find_stops_no_mining(tmp_path, pipeline, pool):
    """The corpus declares it, and has no mention to train on."""
    types = {"labels": ["PER", "NAT", "STORM"], "tail": ["NAT", "STORM"]}
    corpus = new_file(tmp_path / "corpus" / "types.json", json.dumps(types)).parent
    out = tmp_path / "next.jsonl"
    options = ["--corpus", corpus, "--labels", 2, "--random", 0]
    said = run_app("mine", pipeline, pool, "-o", out, *options).stderr
    assert "[LW198]" in said and "cannot predict STORM" in " ".join(said.split())
    assert {row["meta"]["reason"].split()[0] for row in srsly.read_jsonl(out)} == {"NAT"}
    refused(["mine", pipeline, pool, "-o", tmp_path / "b", *options, "--types", "STORM"], "L500")


@pytest.mark.parametrize("form", DEFAULT_NAMES)
def test_earlier_proposals_are_excluded(tmp_path, pipeline, pool, form):
    """As sentences that were rejected, which no corpus has."""
    first, options = tmp_path / DEFAULT_NAMES[form], ["--types", "NAT", "--labels", 2]
    run_app("mine", pipeline, pool, "-o", first, "--format", form, *options)
    lines = {line.strip() for line in pool.read_text("utf8").splitlines()}
    again = [tmp_path / "second.jsonl", tmp_path / "third.jsonl"]
    run_app("mine", pipeline, pool, "-o", again[0], *options, "--exclude", first)
    run_app("mine", pipeline, pool, "-o", again[1], *options, "--exclude", first, "--exclude", again[0])
    second, third = ({row["text"] for row in srsly.read_jsonl(path)} for path in again)
    proposed = {doc.text for doc in texts_of(first)}
    assert len(proposed) == len(second) == 2 and proposed | second | third <= lines
    assert not proposed & second and not (proposed | second) & third


def test_offsets_of_suggestions_are_those_of_the_text(tmp_path):
    nlp = blank()
    tokens = ["\u200b", "Überfall", " ", "in", "Zürich", "!"]
    doc = Doc(nlp.vocab, words=tokens, spaces=[False, True, False, True, False, True])
    doc.ents = [Span(doc, 4, 5, label="GEO")]
    doc.user_data["mine_place"] = "p:1"
    ((start, end),) = sentences_of(doc)
    own = Unit.of(doc[start:end], np.array([0.4]))
    assert own.text == doc[start:end].text
    write_proposals([Proposal(own, "GEO", 0.4)], tmp_path / "n.jsonl", "prodigy", nlp.vocab)
    (row,) = srsly.read_jsonl(tmp_path / "n.jsonl")
    (span,) = row["spans"]
    assert row["text"][span["start"] : span["end"]] == "Zürich"
    write_proposals([Proposal(own, "GEO", 0.4)], tmp_path / "n.spacy", "spacy", nlp.vocab)
    (back,) = DocBin().from_disk(tmp_path / "n.spacy").get_docs(nlp.vocab)
    assert back.text == row["text"] and back.user_data[ID] == row["meta"][ID]


def test_a_blocked_token_is_no_entity():
    doc = words(blank(), "Ida came .")
    doc.set_ents([], blocked=[doc[0:1]], default="outside")
    assert entities_in(doc[:]) == []


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["", "A", "B"])), min_size=1), st.data())
def test_the_entities_of_a_sentence_are_those_of_its_span(pieces, data):
    ends = np.cumsum([n for n, _ in pieces]).tolist()
    doc = Doc(blank().vocab, words=["w"] * ends[-1])
    doc.ents = [Span(doc, e - n, e, label=t) for e, (n, t) in zip(ends, pieces, strict=True) if t]
    a = data.draw(st.integers(0, len(doc) - 1))
    sentence = doc[a : data.draw(st.integers(a + 1, len(doc)))]
    assert entities_in(sentence) == [(e.start - a, e.end - a, e.label_) for e in sentence.ents]


def test_the_sentences_of_a_long_text_are_stored_in_linear_time():
    seconds = []
    for n in (500, 4000):
        doc = Doc(blank().vocab, words=["Ida", "came", "."] * n, sent_starts=[True, False, False] * n)
        doc.ents = [Span(doc, 3 * i, 3 * i + 1, label="NAT") for i in range(n)]
        start = time.process_time()
        units = [Unit.of(doc[a:b], np.zeros(1)) for a, b in sentences_of(doc)]
        seconds.append(time.process_time() - start)
        assert all(unit.ents == [(0, 1, "NAT")] for unit in units)
    assert seconds[1] < 14 * seconds[0]  # 8 times as many


@pytest.mark.parametrize("setter", [None, "sentencizer", "cut"])
def test_sentences_of_documents_without_boundaries_are_known(tmp_path, setter):
    """As `convert` leaves brat and JSON: else the pool's sentences of test would come to train."""
    nlp = blank()
    if setter:
        nlp.add_pipe(setter, name="sents")
    whole = words(blank(), "Storm Ida hit Oslo . Storm Bo sank the Fram ; Maria slept")
    whole.set_ents([Span(whole, 0, 2, label="NAT")])
    corpus = toy_corpus(tmp_path / "corpus", test=[whole])
    known = known_in_corpus(corpus, nlp)
    for text in (whole.text, "Storm Ida hit Oslo .", "Storm Bo sank the Fram ; Maria slept"):
        assert text in known, text
    assert ("Maria slept" in known) == (setter == "cut")
    path = written(tmp_path / "l.jsonl", [task("Storm Ida hit Oslo .", [(0, 9, "NAT")])])
    found = merge_labels(corpus, path, "dev", unchanged=True)
    assert not found.parts and found.n_known == 1


def test_all_sentences_of_an_excluded_text_are_excluded():
    doc, counts = cut(blank().make_doc("Maria slept ; then")), PassCounts()
    assert not list(new_sentences(doc, known_of("Maria slept ; then"), counts))
    assert (counts.sentences, counts.known) == (2, 2)


APPROX = "We gave approx. 5 mg of aspirin to all nine patients."


def in_columns(tmp_path, part="test"):
    """A corpus with a part of one document, which has sentence boundaries of its own."""
    doc = words(blank(), "We gave approx . 5 mg of aspirin to all nine patients .")
    doc.set_ents([Span(doc, 7, 8, label="NAT")])
    for token in doc[1:]:
        token.is_sent_start = False
    return toy_corpus(tmp_path / "corpus", **{part: [doc]})


@pytest.mark.parametrize("part", ["test", "holdout"])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize(
    "text", [APPROX, f"Methods. {APPROX} It rained.", f"RESULTS\n{APPROX.upper()} We"]
)
def test_a_sentence_of_the_corpus_is_known_wherever_the_pool_splits_it(text, split, part, tmp_path):
    nlp = blank()
    if split:
        nlp.add_pipe("sentencizer")
    known, counts = known_in_corpus(in_columns(tmp_path, part), nlp), PassCounts()
    left = [sentence.text for _, sentence in new_sentences(nlp(text), known, counts)]
    assert not any("aspirin" in sentence for sentence in left)


@pytest.mark.parametrize(
    "text", ["Ma\u00adría slept in Zu\u0308rich .", "\ufeffMari\u0301a slept in Zürich\u200b ."]
)
def test_a_sentence_is_known_however_its_file_writes_its_characters(text, tmp_path):
    """With soft hyphens, as PDF gives them, or with accents of their own, as macOS writes them."""
    doc = words(blank(), "María slept in Zürich .")
    doc.ents = [Span(doc, 0, 1, label="PER")]
    corpus = toy_corpus(tmp_path / "corpus", test=[doc])
    known = known_in_corpus(corpus, blank())
    assert text in known and not list(new_sentences(blank().make_doc(text), known, PassCounts()))
    inside = blank().make_doc(f"RESULTS {text} He left .")
    assert not list(new_sentences(inside, known, PassCounts()))
    found = merge_labels(corpus, written(tmp_path / "l.jsonl", [task(text, [])]), "dev")
    assert not found.parts and len(found.conflicts) == 1
    same = task(text, [(0, text.index(" "), "PER")])
    assert (
        merge_labels(corpus, written(tmp_path / "l.jsonl", [same]), "dev", unchanged=True).n_known == 1
    )


def test_entities_are_compared_by_their_visible_characters():
    found = []
    for text in ("Ma\u00adría in Zu\u0308rich .", "María in Zürich ."):
        doc = words(blank(), text)
        doc.ents = [Span(doc, 0, 1, label="PER"), Span(doc, 2, 3, label="GEO")]
        found.append(entities_of(doc))
    assert found == [((0, 5, "PER"), (7, 13, "GEO"))] * 2


def test_invisible_characters_inside_of_a_letter_hide_nothing():
    assert visible_text("Zu\u00ad\u0308rich") == visible_text("Zürich") == "Zürich"


def test_a_text_that_contains_a_sentence_of_the_corpus_is_a_conflict(tmp_path):
    path = written(tmp_path / "l.jsonl", [task(f"RESULTS {APPROX}", [(0, 7, "NAT")])])
    found = merge_labels(in_columns(tmp_path), path, "dev")
    assert not found.parts and [why for _, why in found.conflicts] == [
        "it contains a sentence of the corpus"
    ]


def test_a_piece_of_a_sentence_of_the_corpus_is_not_merged_again(tmp_path):
    piece = "5 mg of aspirin to all nine patients ."
    path = written(tmp_path / "l.jsonl", [task(piece, [(8, 15, "NAT")])])
    found = merge_labels(in_columns(tmp_path, "holdout"), path, "dev", unchanged=True)
    assert not found.parts and found.n_known == 1


@Language.component("cut", assigns=["token.is_sent_start"])
def cut(doc):
    for token in doc:
        token.is_sent_start = token.i == 0 or doc[token.i - 1].text in (".", ";")
    return doc


def test_unusable_options_of_mining_are_refused(corpus, tmp_path, pipeline, pool):
    out = tmp_path / "next.jsonl"
    own = new_file(tmp_path / "own.txt", "\n".join(doc.text for doc in toy_docs()))
    one_pipe("entity_ruler").to_disk(tmp_path / "ruler")
    broken = shutil.copytree(pipeline, tmp_path / "broken")
    new_file(broken / "ner" / "model", b"")
    new_file(tmp_path / "texts" / "pool.txt", pool.read_bytes())
    nat = ("--types", "NAT")
    for arguments, code in (
        ([pipeline, own, "-o", out, "--corpus", corpus], "L503"),
        ([pipeline, pool, "-o", out, *nat, "--exclude", pool], "L503"),
        ([pipeline, pool, "-o", out, *nat, "--exclude", tmp_path / "none.jsonl"], "L402"),
        ([pipeline, pool, "-o", own, *nat, "--exclude", own], "L43"),
        ([pipeline, pool, "-o", out], "L500"),
        ([pipeline, pool, "-o", out, "--types", "XYZ"], "L500"),
        ([pipeline, pool, "-o", out, "--corpus", corpus, "--quota", "PER=3"], "L500"),
        ([tmp_path / "ruler", pool, "-o", out, *nat], "L500"),
        ([tmp_path / "none", pool, "-o", out, *nat], "L720"),
        ([broken, pool, "-o", out, *nat], "L408"),
        ([pipeline, pool, "-o", pool, *nat], "L43"),
        ([pipeline, pool, "-o", corpus / "a.spacy", "--corpus", corpus, "--format", "spacy"], "L436"),
        ([pipeline, tmp_path / "texts", "-o", tmp_path / "texts" / "next.jsonl", *nat], "L436"),
        ([pipeline, pool, "-o", tmp_path / ("o" * 300), *nat], "L432"),
        ([pipeline, pool, "-o", out, "--types", "NAT,NAT"], "L"),
        ([pipeline, pool, "-o", out, *nat, "--quota", "NAT=x"], "L"),
        ([pipeline, pool, "-o", out, *nat, "--format", "label-studio"], "L"),  # has another suffix
    ):
        refused(["mine", *arguments], code, out)
    assert own.read_text("utf8").startswith("Maria sailed")
