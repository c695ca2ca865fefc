"""`distil`: what is written and measured, and what is refused."""

import json
import random
import shutil

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import DocBin

from spacy_longtail.corpus.cutting import read_soft
from spacy_longtail.corpus.descriptions import read_types
from spacy_longtail.corpus.names import write_names
from spacy_longtail.training.train import train_model
from spacy_longtail.types import ANNOTATED_TYPES
from spacy_longtail.unlabelled import distil as module
from spacy_longtail.unlabelled import pool
from spacy_longtail.unlabelled.distil import Distilled, DistilRequest, distil
from spacy_longtail.unlabelled.pseudo_labels import PseudoLabelPolicy
from tests.pipes import gated  # noqa: F401  # registers components
from tests.util import (
    SENTENCES,
    TINY,
    blank,
    config_file,
    corpus_of,
    examples,
    new_file,
    one_pipe,
    refused,
    run_app,
    small_ner,
    tiny_bert,
    tiny_encoder,
    toy_corpus,
    toy_docs,
    write_files,
)

CONFIG = config_file("token_softmax")
SET = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
DISTILLATION = '[components.ner.loss]\n@losses = "longtail.Distillation.v1"\nbase = null\n\n'


def soft_config(folder):
    """A config of the project with soft targets."""
    text = CONFIG.read_text(encoding="utf8").replace("loss = null\n", "", 1)
    text = text.replace("[components.ner.scorer]", f"{DISTILLATION}[components.ner.scorer]", 1)
    return new_file(folder / "soft.cfg", text)


def pool_texts():
    rng = random.Random(0)
    people, places = ["Maria", "Jon Berg", "Old Maria"], ["Oslo", "Rome"]
    texts = [f"{rng.choice(people)} sailed to {rng.choice(places)} on day {i} ." for i in range(30)]
    texts += [f"The rain fell for {i} hours ." for i in range(20)]
    return [*texts, "Oslo was quiet that night .", texts[0]]  # one of the gold corpus, one twice


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A gold corpus, a pool, and a trained teacher."""
    folder = tmp_path_factory.mktemp("distil")
    corpus = toy_corpus(folder / "gold", train=toy_docs(2))
    (folder / "pool.txt").write_text("\n".join(pool_texts()), encoding="utf8")
    train_model(CONFIG, corpus, folder / "teacher", overrides={**TINY, "training.max_steps": 40})
    return folder


def arguments(place, output, *others, config=CONFIG, pool="pool.txt"):
    paths = ["distil", place / "teacher/model-best", place / pool, "--student", config]
    return [str(a) for a in [*paths, "--gold", place / "gold", "-o", output, *SET, *others]]


def run(*given, **named):
    return run_app(*arguments(*given, **named))


def request_for(place, **given):
    settings = {"overrides": TINY, "policy": PseudoLabelPolicy(threshold=0.5), "compare": False, **given}
    paths = {"pool": place / "pool.txt", "config": CONFIG, "gold": place / "gold"}
    return DistilRequest(**{"teacher": place / "teacher/model-best", **paths, **settings})


def docs_in(path):
    return list(DocBin().from_disk(path).get_docs(blank().vocab))


def counts_in(output):
    return json.loads((output / "pseudo_labels.json").read_text(encoding="utf8"))


@pytest.fixture
def untrained(place, monkeypatch):
    """Students are copies of the teacher."""

    def copied(config, corpus, folder, **settings):
        shutil.copytree(place / "teacher", folder, dirs_exist_ok=True)

    monkeypatch.setattr(module, "train_model", copied)


@pytest.fixture(scope="module")
def done(place):
    output = place / "out"
    return output, run(place, output, "--threshold", "0.6")


@pytest.fixture(scope="module")
def record(done):
    """The content of distil.json."""
    return Distilled.model_validate_json((done[0] / "distil.json").read_bytes())


def test_the_record_has_the_policy_the_counts_and_the_pipelines(record, done):
    output, result = done
    found = record
    assert found.settings["policy"] == {"threshold": 0.6, "cap": 2000, "empty": 0.2, "seed": 0}
    assert [s.name for s in found.systems] == ["teacher", "student", "student without pool"]
    counts = found.pseudo_labels
    assert (counts.texts, counts.known, counts.sentences, counts.gold_copies) == (52, 1, 52, 2)
    assert counts.mentions["GEO"] > 0
    assert found.systems[1].model == str(output / "student/model-best")
    assert "student without pool" in result.output and "of which 1 " in result.output


def test_the_speed_of_each_pipeline_is_recorded_beside_the_teachers(record):
    assert all(s.megabytes > 0.01 and s.words_per_second > 0 for s in record.systems)
    teacher, student, _ = record.systems
    ratio = student.words_per_second / teacher.words_per_second
    assert teacher.speed_ratio == 1.0 and student.speed_ratio == pytest.approx(ratio, 0.01, 1e-3)


def test_the_corpus_begins_with_copies_of_gold(place, done):
    gold, dev = (docs_in(place / "gold" / f"{part}.spacy") for part in ("train", "dev"))
    train = docs_in(done[0] / "corpus/train.spacy")
    assert [doc.to_json() for doc in train[: 2 * len(gold)]] == [doc.to_json() for doc in gold * 2]
    own_dev = docs_in(done[0] / "corpus/dev.spacy")
    assert [doc.to_json() for doc in own_dev] == [doc.to_json() for doc in dev]


def test_the_corpus_goes_on_with_what_the_teacher_is_sure_of(place, done, record):
    n_gold = 2 * len(docs_in(place / "gold/train.spacy"))
    own, counts = docs_in(done[0] / "corpus/train.spacy")[n_gold:], record.pseudo_labels
    assert len(own) == counts.kept == len({doc.text for doc in own})
    assert sum(len(doc) for doc in own) == counts.tokens
    assert sum(int((doc.to_array("ENT_IOB") == 0).sum()) for doc in own) == counts.missing
    assert "Oslo was quiet that night ." not in {doc.text for doc in own}
    assert not any(read_soft(doc) for doc in own)


@given(st.integers(1, 10**6), st.integers(0, 10**7))
def test_gold_has_half_as_many_words_unless_that_takes_too_many_copies(gold, words):
    copies = module.copies_for(gold, words)
    assert 2 <= copies <= 20
    assert copies == 20 or 2 * copies * gold >= words
    assert copies == 2 or 2 * (copies - 1) * gold < words


def test_a_few_gold_documents_are_copied_as_often_as_the_pool_asks_for(place, tmp_path, untrained):
    gold = toy_corpus(tmp_path / "gold", train=toy_docs()[:1])
    distil(request_for(place, gold=gold), tmp_path / "out")
    counts, train = counts_in(tmp_path / "out"), docs_in(tmp_path / "out/corpus/train.spacy")
    assert counts["gold_copies"] == module.copies_for(len(toy_docs()[0]), counts["tokens"]) > 2
    assert len(train) == counts["gold_copies"] + counts["kept"]


def test_the_student_has_the_lists_of_names_of_gold(place, tmp_path, untrained):
    gold = toy_corpus(tmp_path / "gold", train=toy_docs(2))
    write_names(gold / "names.jsonl", {"GEO": [["Oslo"]]})
    distil(request_for(place, gold=gold), tmp_path / "out")
    assert (tmp_path / "out/corpus/names.jsonl").read_text(encoding="utf8").count("Oslo") == 1


# What is read


def test_a_pass_forgets_the_words_of_the_pool(place, tmp_path, monkeypatch, untrained):
    monkeypatch.setattr(pool, "ZONE", 8)
    texts = "".join(f"{text} Zq{i}\n" for i, text in enumerate(pool_texts()))
    path = new_file(tmp_path / "pool.txt", texts)
    seen, load = [], module.PoolTeacher
    monkeypatch.setattr(module, "PoolTeacher", lambda *given: seen.append(load(*given)) or seen[0])
    distil(request_for(place, pool=path), tmp_path / "out")
    assert not any(f"Zq{i}" in seen[0].nlp.vocab.strings for i in range(52))


def test_an_encoder_teaches_types_by_their_descriptions(place, tmp_path, untrained):
    """Nobody has trained it for the types of the corpus. Their scores stay beside pseudo-labels."""
    encoder = tiny_encoder(tmp_path / "encoder", tiny_bert(tmp_path / "bert", spells=True))
    request = request_for(place, policy=PseudoLabelPolicy(threshold=0.01), teacher=encoder)
    found, _ = distil(request, tmp_path / "out")
    counts = found.pseudo_labels
    assert counts.mentions.keys() == set(read_types(place / "gold").labels) and counts.kept
    assert not counts.lacking
    docs = docs_in(tmp_path / "out/corpus/train.spacy")
    read = [doc for doc in docs if doc.ents and "entity_scores" in doc.spans]
    assert read
    for doc in read:
        group = doc.spans["entity_scores"]
        assert list(group) == list(doc.ents)
        assert len(group.attrs["scores"]) == len(group) and min(group.attrs["scores"]) >= 0.01


def test_soft_targets_reach_the_student(place, tmp_path):
    config, output = soft_config(tmp_path), tmp_path / "out"
    run(place, output, "--soft", "--threshold", "0.6", "--no-compare", config=config)
    soft = [doc for doc in docs_in(output / "corpus/train.spacy") if read_soft(doc) is not None]
    assert len(soft) == counts_in(output)["kept"]
    for doc in soft:
        p = np.exp(read_soft(doc).log_p)
        assert p.shape == (len(doc), 9) and p.sum(axis=1) == pytest.approx(1.0, abs=5e-3)


def test_a_type_the_teacher_cannot_read_is_left_open(place, tmp_path, untrained):
    texts = [text for text in SENTENCES if "|ART]" not in text and "|NAT]" not in text]
    types, parts = ["GEO", "PER", "EVE"], dict.fromkeys(("train", "dev", "test"), texts)
    gold = corpus_of(tmp_path / "gold", types, ["EVE"], **parts)
    pool = new_file(tmp_path / "pool.txt", "\n".join([*pool_texts(), "Maria found the Fram ."]))
    policy = PseudoLabelPolicy(0.3)
    distil(request_for(place, gold=gold, pool=pool, policy=policy), tmp_path / "out")
    counts = counts_in(tmp_path / "out")
    own = docs_in(tmp_path / "out/corpus/train.spacy")[counts["gold_copies"] * len(texts) :]
    assert {tuple(doc.user_data[ANNOTATED_TYPES]) for doc in own} == {("GEO", "PER")}
    assert {e.label_ for doc in own for e in doc.ents} <= {"GEO", "PER"}
    assert counts["lacking"] == ["EVE"]


def test_a_stock_ner_that_would_learn_types_the_teacher_lacks_as_outside_is_refused(place, tmp_path):
    parts = dict.fromkeys(("train", "dev", "test"), SENTENCES)
    gold = corpus_of(tmp_path / "gold", ["GEO", "PER", "ART", "NAT", "EVE"], ["EVE"], **parts)
    config = config_file("baseline")
    with pytest.raises(ValueError, match=r"L002.*EVE"):
        distil(request_for(place, gold=gold, config=config, overrides={}), tmp_path / "out")


def test_it_is_done_anew_by_any_number_of_processes_sentence_by_sentence(place, tmp_path, untrained):
    corpora = []
    for settings in ({}, {"n_process": 2, "batch_size": 7}):
        distil(request_for(place, **settings), tmp_path / "out")
        corpora.append([doc.to_json() for doc in docs_in(tmp_path / "out/corpus/train.spacy")])
    assert corpora[0] == corpora[1]
    text = "Maria sailed to Rome . It was late . Jon Berg sailed to Oslo ."
    path = new_file(tmp_path / "pool.txt", text)
    request = request_for(place, split=True, policy=PseudoLabelPolicy(threshold=0.01), pool=path)
    distil(request, tmp_path / "out")
    counts = counts_in(tmp_path / "out")
    assert counts["texts"] == 1 and counts["sentences"] == 3


def test_the_teacher_is_measured_as_it_is_used(place, tmp_path, untrained, monkeypatch):
    """It annotates the pool with settings that make it slower."""
    measured = {}
    monkeypatch.setattr(module, "measure", lambda pipelines, *_: measured.update(pipelines) or [])
    distil(request_for(place), tmp_path / "out")
    assert [*measured] == ["teacher", "student"]
    used = spacy.load(place / "teacher/model-best")
    cfg = measured["teacher"][0].get_pipe("ner").cfg
    assert cfg == used.get_pipe("ner").cfg and cfg["write_probabilities"] is False


def test_a_repeated_run_that_stops_leaves_nothing_of_the_earlier_one(place, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "train_model", stopped)
    output = tmp_path / "out"
    write_files(output, {"pseudo_labels.json": "{}", "distil.json": "{}"})
    for name in ("student", "without_pool"):
        shutil.copytree(place / "teacher", output / name)
    with pytest.raises(KeyboardInterrupt):
        distil(request_for(place), output)
    assert sorted(path.name for path in output.iterdir()) == ["corpus", "pseudo_labels.json"]


@Language.component("test_no_scores", assigns=["doc.ents"])
def without_entities(doc):
    return doc


@pytest.fixture
def with_a_rule(place, tmp_path):
    """Return the request of a teacher with a rule behind a gate, which gives no score."""

    def write(nlp):
        nlp.add_pipe("test_open_gate")
        rule = {"pipe": {"factory": "test_ruler", "word": "rain"}, "labels": ["NAT", "ART"]}
        nlp.add_pipe("longtail_gated_pipe", name="rescue", config=rule)
        nlp.to_disk(tmp_path / "teacher")
        return request_for(place, teacher=tmp_path / "teacher")

    return write


def test_entities_without_a_score_alone_teach_nothing(place, with_a_rule, tmp_path):
    nlp = spacy.load(place / "teacher/model-best")
    nlp.replace_pipe("ner", "test_no_scores")
    with pytest.raises(ValueError, match=r"L510.*0 of 20 entities"):
        distil(with_a_rule(nlp), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_entities_without_a_score_are_counted_in_a_warning(place, with_a_rule, tmp_path, untrained):
    request = with_a_rule(spacy.load(place / "teacher/model-best"))
    with pytest.warns(UserWarning, match=r"LW113.*20 of \d+.*NAT"):
        found, _ = distil(request, tmp_path / "out")
    assert found.pseudo_labels.unscored == {"NAT": 20}
    train = docs_in(tmp_path / "out/corpus/train.spacy")[2 * len(docs_in(place / "gold/train.spacy")) :]
    assert not any(t.ent_iob_ == "O" for doc in train for t in doc if t.text == "rain")


# What is refused


def test_bad_input_is_refused_before_any_work(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train_model", lambda *a, **k: pytest.fail("trained"))
    output = tmp_path / "out"
    files = {"empty.txt": "\n\n", "no.cfg": "nothing", "other.txt": "It was late ."}
    write_files(tmp_path, files)
    stock = one_pipe("ner", **small_ner())
    stock.initialize(lambda: examples(stock))
    stock.to_disk(tmp_path / "stock")
    texts = ["The rain fell for hours ."]
    corpus_of(tmp_path / "eve", ["EVE"], ["EVE"], train=texts, dev=texts, test=texts)
    base = arguments(place, output)
    for command, code in (
        (arguments(place, output, pool=tmp_path / "empty.txt"), "L403"),
        (arguments(place, output, pool="gold/train.spacy"), "L510"),
        (arguments(place, output, "--threshold", "1.0", pool=tmp_path / "other.txt"), "L510"),
        (arguments(place, output, config=tmp_path / "no.cfg"), "L438"),
        (arguments(place, output, config=tmp_path / "missing.cfg"), "L402"),
        (arguments(place, output, "--soft"), "L513"),
        (arguments(place, output, config=soft_config(tmp_path)), "L513"),
        (arguments(place, output, "--set", "paths.train=x.spacy"), "L859"),
        (["distil", str(tmp_path), *base[2:]], "L720"),
        (["distil", str(tmp_path / "stock"), *base[2:]], "L509"),
        ([*base, "--gold", str(tmp_path / "eve")], "L509"),
    ):
        refused(command, code, output)


def test_a_student_that_cannot_mask_a_type_is_refused_before_the_pool_is_read(
    place, tmp_path, monkeypatch
):
    monkeypatch.setattr(module, "read_pool", lambda *given: pytest.fail("read"))
    types = ["GEO", "PER", "EVE"]
    texts = [text for text in SENTENCES if "|ART]" not in text and "|NAT]" not in text]
    gold = corpus_of(tmp_path / "gold", types, ["EVE"], **dict.fromkeys(("train", "dev", "test"), texts))
    request = request_for(place, gold=gold, config=config_file("focal"))
    with pytest.raises(ValueError, match=r"L002.*does not predict EVE"):
        distil(request, tmp_path / "out")
