"""The audit: planted label errors come out on top, and its files are what annotation tools read."""

import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, Span
from spacy.util import load_config

from spacy_longtail.corpus.folder import CorpusTypes, load_docs, write_corpus
from spacy_longtail.corpus.suspects import OutOfFold, find_suspects, review_records
from spacy_longtail.training import out_of_fold as module
from spacy_longtail.training.out_of_fold import audit_corpus, class_probabilities, out_of_fold
from tests.util import (
    TOKEN_MODEL,
    config_file,
    corpus_of,
    entities,
    numbered,
    one_pipe,
    parse,
    refused,
    run_app,
    toy_corpus,
    train,
    trained_once,
)

TEXT = {
    "PER": "Ann Bo Carl Dora Emil Fay Gus Hans Ida Jon Karl Lea Max Nora Otto",
    "GEO": "Oslo Rome Bern Kyiv Lyon Graz Cork Bari Nice Porto Split Varna Turku Gent Ulm",
    "ORG": "Acme Birke Corax Delto Ennis Fabro Gildo Hexon Intra Jutex Kovo Lumis Motex Norda Optik",
    "ART": "Fram Vasa Titanic Argo Bounty Beagle",
}
NAMES = {label: text.split() for label, text in TEXT.items()}
TEMPLATES = [
    "{PER} sailed to {GEO} in spring .",
    "{ORG} hired {PER} and sold its mill .",
    "The office of {ORG} in {GEO} was shut .",
    "Nobody saw {PER} near {GEO} that night .",
    "The shares of {ORG} fell again .",
    "The rain fell for hours .",
]
RARE = "The old ship {ART} sank off {GEO} ."


def small(folder, **changes):
    """A config of small models that learn fast. changes: Values by name, dots as underscores."""
    config = load_config(config_file("token_softmax"), interpolate=False)
    config["components"]["tok2vec"]["model"].update(width=32, depth=2, embed_size=500)
    config["training"]["optimizer"]["learn_rate"] = 0.01
    config["training"]["batcher"]["size"] = 400
    for name, value in changes.items():
        *sections, key = name.split("__")
        block = config
        for section in sections:
            block = block[section]
        block[key] = value
    config.to_disk(folder / "small.cfg")
    return folder / "small.cfg"


def corpus_with_errors(folder, n=240, share=0.08, seed=0):
    """A corpus with label errors; RETURNS what they are: {(document, first token): true type}."""
    rng, nlp = random.Random(seed), spacy.blank("en")
    docs = []
    for i in range(n):
        template = RARE if i % 10 == 0 else rng.choice(TEMPLATES)
        names = {label: f"[{rng.choice(words)}|{label}]" for label, words in NAMES.items()}
        docs.append(parse(nlp, template.format(**names)))
    places = [(i, ent.start, ent.label_) for i, doc in enumerate(docs) for ent in doc.ents]
    wrong = {}
    for i, start, label in rng.sample(places, round(share * len(places))):
        found = {ent.start: ent for ent in docs[i].ents}
        other = rng.choice([None, *(t for t in NAMES if t != label)])
        own = found.pop(start)
        new = [] if other is None else [Span(docs[i], own.start, own.end, label=other)]
        docs[i].set_ents([*found.values(), *new])
        wrong[i, start] = label
    write_corpus(folder, {"train": docs}, CorpusTypes(["GEO", "PER", "ORG", "ART"], ["ART"]))
    return wrong


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    wrong = corpus_with_errors(folder / "c")
    return folder, wrong, audit_corpus(folder / "c", config=small(folder), folds=3, steps=40, seed=1)


def test_planted_errors_come_first(planted):
    _, wrong, found = planted
    n_mentions = sum(len(doc.ents) for doc in found.docs)
    by_score = sorted(found.suspects, key=lambda s: s.score)
    hits = [(s.doc_i, s.start) in wrong for s in by_score]
    chance = len(wrong) / n_mentions
    assert chance < 0.1
    top = hits[: len(wrong)]
    assert sum(top) / len(top) > 0.7 > 5 * chance  # precision, and recall
    right = [s.read == wrong[s.doc_i, s.start] for s, hit in zip(by_score, hits, strict=True) if hit]
    assert sum(right) / len(right) > 0.8  # what the model reads is what stood there
    assert all(found.agreement[t][0] / found.agreement[t][1] > 0.85 for t in ("O", "GEO", "PER", "ORG"))


@pytest.mark.parametrize("style", ["prodigy", "doccano"])
def test_convert_reads_the_review_file_back(style, planted, tmp_path):
    _, _, found = planted
    srsly.write_jsonl(tmp_path / "train.jsonl", review_records(found, style))
    run_app("convert", tmp_path / "train.jsonl", tmp_path / "c", "--duplicates", "keep")
    (read,) = (tmp_path / "c").glob("*.spacy")
    order = dict.fromkeys(s.doc_i for s in found.suspects)
    docs = load_docs(read, spacy.blank("en"))
    assert list(map(entities, docs)) == [entities(found.docs[i]) for i in order]


def handmade():
    """Sure probabilities that agree with the annotation, for documents of two sentences."""
    nlp = spacy.blank("en")
    texts = ["[Storm Ida|NAT] hit [Oslo|GEO] .", "Then [Ann|PER] stayed in [Old Town|GEO] ."]
    docs = [Doc.from_docs([parse(nlp, text) for text in texts]) for _ in range(12)]
    classes = ["O", "GEO", "PER", "NAT"]
    given = [classes.index(t.ent_type_ or "O") for doc in docs for t in doc]
    found = OutOfFold(classes, np.zeros((len(given), 4)), np.ones((len(given), 4)))
    for token, k in enumerate(given):
        read_as(found, token, classes[k])
    return docs, found, len(docs[0])


def read_as(found, token, name):
    found.p[token] = 0.01
    found.p[token, found.classes.index(name)] = 0.97


def test_a_suspect_is_an_entity_or_a_run_in_a_sentence():
    docs, found, n = handmade()
    assert find_suspects(docs, found, ["NAT"]).suspects == []
    for document, token, name in (
        (0, 1, "GEO"),  # "Ida" alone: the entity is suspect
        (1, 9, "O"),  # "Old" and
        (1, 10, "PER"),  # "Town", another way
        (2, 2, "NAT"),
        (3, 4, "GEO"),  # "." and
        (3, 5, "GEO"),  # "Then" of the next sentence
        *((4, 7, "GEO"), (4, 8, "GEO")),  # "stayed in"
        *((5, 7, "GEO"), (5, 8, "PER")),
    ):
        read_as(found, n * document + token, name)
    found.p[n + 9, 1] = 0.001  # "Old" is the more suspect of the two
    suspects = find_suspects(docs, found, ["NAT"]).suspects
    assert [s.rare for s in suspects] == [True] * 2 + [False] * 6
    assert {(s.doc_i, s.start, s.end, s.annotated, s.read) for s in suspects} == {
        *((0, 0, 2, "NAT", "GEO"), (1, 9, 11, "GEO", "O"), (2, 2, 3, "O", "NAT")),
        *((3, 4, 5, "O", "GEO"), (3, 5, 6, "O", "GEO"), (4, 7, 9, "O", "GEO")),
        *((5, 7, 8, "O", "GEO"), (5, 8, 9, "O", "PER")),
    }
    records = review_records(find_suspects(docs, found, ["NAT"]), "prodigy")
    assert {(r["meta"]["document"], r["meta"]["start"], r["text"]) for r in records[2:]} == {
        (3, 0, "Storm Ida hit Oslo ."),
        *((document, 21, "Then Ann stayed in Old Town .") for document in (1, 3, 4, 5)),
    }
    assert next(r for r in records if r["meta"]["document"] == 5)["meta"]["problem"] == (
        "'stayed': annotated O, the model reads GEO (0.97); 'in': annotated O, the model reads PER (0.97)"
    )


def test_unannotated_tokens_and_unlearnt_types_are_no_suspected_errors():
    docs, found, n = handmade()
    docs[0].set_ents([], missing=[docs[0][0:4]], default="unmodified")
    docs[1].set_ents([], blocked=[docs[1][3:4]], default="unmodified")
    for token in (0, 1, 2, 3, n + 3):
        read_as(found, token, "PER")
    docs.append(Doc(docs[0].vocab, words=["Rain", "\n", "fell"], ents=["O"] * 3))
    found = found._replace(
        p=np.vstack([found.p, found.p[[5, 0, 5]]]), learnt=np.ones((len(found.p) + 3, 4))
    )
    assert find_suspects(docs, found, []).suspects == []
    read_as(found, 2 * n, "PER")
    found.learnt[2 * n : 2 * n + 2, 3] = 0.0
    with pytest.warns(UserWarning, match=r"LW050.* 2 tokens annotated as NAT"):
        assert find_suspects(docs, found, []).suspects == []


@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_class_probabilities_are_those_of_the_pipe(head):
    nlp = one_pipe(head=head, model=TOKEN_MODEL, scores_key="s")
    nlp.add_pipe("sentencizer", first=True)
    train(nlp, 30)
    docs = [nlp("Maria sailed to Oslo on the Fram . Nobody saw Storm Ida ."), nlp("Jon Berg left .")]
    classes, p = class_probabilities(nlp, docs)
    assert classes == ["O", *nlp.get_pipe("ner").labels]
    assert p.sum(axis=1) == pytest.approx(np.ones(len(p)), abs=1e-5)
    assert sum(len(doc.ents) for doc in docs) > 2
    for doc, rows in zip(docs, np.split(p, [len(docs[0])]), strict=True):
        for span, scores in zip(doc.spans["s"], doc.spans["s"].attrs["token_scores"], strict=True):
            own = rows[span.start : span.end, classes.index(span.label_)]
            assert (own >= np.array(scores) - 1e-5).all()  # the class has the tag's share, and more


def test_no_model_sees_what_it_reads(tmp_path, monkeypatch):
    (tmp_path / "über").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "über"))
    nlp, _ = trained_once(one_pipe, 1, model=TOKEN_MODEL)
    seen = []

    def trained(config, output, gpu_id):
        assert config["training"]["max_steps"] == 7 and config["training"]["seed"] == 3
        seen.append({doc.text for doc in load_docs(Path(config["paths"]["train"]), nlp)})
        return nlp

    monkeypatch.setattr(module, "_trained", trained)
    docs = [parse(nlp, f"The [Fram|ART] sank {i} times") for i in range(9)]
    found = out_of_fold(docs, np.arange(9) % 3, CorpusTypes(["ART"], []), steps=7, seed=3)
    assert [sorted(texts) for texts in seen] == [
        sorted(doc.text for i, doc in enumerate(docs) if i % 3 != k) for k in range(3)
    ]
    assert found.classes == ["O", "ART"]
    assert found.p.sum(axis=1).max() <= 1.0 and found.learnt.all()


def test_the_models_of_folds_have_the_tokenizer_of_the_corpus(monkeypatch):
    nlp, _ = trained_once(one_pipe, 1, model=TOKEN_MODEL)
    configs = []

    def trained(config, output, gpu_id):
        configs.append(config)
        return nlp

    monkeypatch.setattr(module, "_trained", trained)
    docs = [parse(nlp, f"O [s|GEO] {i}") for i in range(4)]

    out_of_fold(docs, np.arange(4) % 2, CorpusTypes(["GEO"], [], "en", "characters"))

    assert [config["nlp"]["tokenizer"] for config in configs] == [
        {"@tokenizers": "longtail.CharacterTokenizer.v1"}
    ] * 2


def test_the_command(planted, tmp_path):
    folder, _, _ = planted
    output = tmp_path / "deep" / "review.jsonl"
    options = ["--config", folder / "small.cfg", "--folds", 2, "--steps", 5]
    shown = run_app("audit", folder / "c", "-o", output, *options)
    assert "ART *" in shown.output and "the model reads" in shown.output
    lines = output.read_text(encoding="utf8").splitlines()
    said = " ".join(shown.output.split())  # the line wraps behind a long path
    assert f"{output}: {len(lines)} sentence" in said and len(lines) >= 1
    assert set(json.loads(lines[0])) == {"text", "tokens", "spans", "meta"}


def test_invalid_inputs_of_audit_are_refused(planted, tmp_path, monkeypatch):
    folder, _, _ = planted
    output, corpus = tmp_path / "r.jsonl", folder / "c"
    texts = [f"Nobody {i}" for i in range(10)]
    corpus_of(tmp_path / "bare", ["GEO"], train=texts)
    corpus_of(tmp_path / "whole", ["GEO"], all=texts)  # not split yet
    toy = toy_corpus(tmp_path / "toy", train=numbered(12))
    configs = []
    for name, changes in (
        ("two_task", {"components__ner__head": "two_task", "components__ner__scheme": "BIO"}),
        ("gazetteer", {"components__ner": {"factory": "longtail_gazetteer"}}),
    ):
        (tmp_path / name).mkdir()
        configs.append(small(tmp_path / name, **changes))
    few = ["--steps", "2", "--folds", "2"]
    for arguments, code in (
        ([tmp_path / "none"], "L402"),
        ([corpus, "--part", "dev"], "L402"),
        ([corpus, "--config", tmp_path / "none.cfg"], "L402"),
        ([corpus, "--folds", "1"], "L852"),
        ([corpus, "--folds", "1000"], "L440"),
        ([tmp_path / "bare"], "L450"),
        ([tmp_path / "whole"], "L450"),
        *(([toy, "--config", path, *few], "L450") for path in configs),
    ):
        refused(["audit", *arguments, "-o", output], code, output)
    monkeypatch.setitem(sys.modules, "cleanlab.filter", None)
    refused(["audit", corpus, "-o", output], "spacy-longtail[audit]", output)
