"""`longtail_gliner` on a tiny GLiNER of random weights, with the package's own predictions as the oracle."""

import inspect
import json
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from thinc.api import ConfigValidationError

from spacy_longtail.evaluation.chosen import Goal
from spacy_longtail.evaluation.thresholds import fit_thresholds
from spacy_longtail.pipes.secondary.gliner_ner import make_gliner_ner, whole_sentences
from spacy_longtail.unlabelled.silver import Policy, Selection
from spacy_longtail.unlabelled.teacher import DOUBTS, Pass, Teacher, annotate
from tests.util import (
    GATE_MODEL,
    SENTENCES,
    blank,
    examples,
    found,
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
    rows = pipe.gliner.predict_entities(text, list(of), threshold=threshold)
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
    again = blank().from_config(nlp.config).from_bytes(nlp.to_bytes())
    for text, doc in zip(TEXTS, docs, strict=True):
        expected = oracle(nlp, text)
        for own in (doc, nlp(text), again(text)):
            same(scored(own), expected)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_a_batch_is_read_like_one_by_one(nlp, batch_size):
    texts = [*TEXTS, *TEXTS[::-1]]
    batched = build(batch_size=batch_size)
    for text, doc in zip(texts, batched.pipe(texts, batch_size=5), strict=True):
        same(scored(doc), scored(nlp(text)))


def test_prediction_draws_nothing_at_random(nlp):
    torch = pytest.importorskip("torch")
    before = torch.get_rng_state()
    assert nlp(TEXTS[0]).ents
    assert torch.equal(torch.get_rng_state(), before)


def test_a_zero_width_space_does_not_move_what_follows(nlp):
    text = "\u200b Maria sailed \u200b to Oslo on the Fram."
    own = [(text[a:b], label) for a, b, label, _ in scored(nlp(text))]
    plain = text.replace("\u200b", " ")
    assert own == [(plain[a:b], label) for a, b, label, _ in oracle(nlp, plain)] and own
    package = [(text[a:b], label) for a, b, label, _ in oracle(nlp, text)]
    assert package != own  # which moves what follows


def test_entities_are_on_free_tokens_within_a_sentence(nlp):
    whole = nlp(TEXTS[0])
    assert len(whole.ents) > 1
    first = whole.ents[0]
    doc = nlp.make_doc(TEXTS[0])
    doc.set_ents([Span(doc, first.start, first.end, label="GIVEN")], default="unmodified")
    own = nlp(doc)
    assert [ent.label_ for ent in own.ents if ent.start == first.start] == ["GIVEN"]
    blocked = nlp.make_doc(TEXTS[0])
    blocked.set_ents([], blocked=[blocked[first.start : first.end]], default="unmodified")
    assert not any(ent.start < first.end and first.start < ent.end for ent in nlp(blocked).ents)


@pytest.mark.parametrize(
    ("lengths", "most", "expected"),
    [
        ([], 5, []),
        ([2, 3, 1], 5, [(0, 5), (5, 6)]),
        ([5, 5], 5, [(0, 5), (5, 10)]),
        ([1, 12, 2], 5, [(0, 1), (1, 6), (6, 11), (11, 15)]),
    ],
)
def test_parts_are_whole_sentences(nlp, lengths, most, expected):
    starts = np.cumsum([0, *lengths])[:-1]
    n = sum(lengths)
    doc = Doc(nlp.vocab, words=["a"] * n, sent_starts=[i in starts for i in range(n)] if n else None)
    assert list(whole_sentences(doc, most)) == expected


def test_a_long_document_is_read_to_its_end(nlp):
    text = " ".join(["Maria sailed to Oslo on the Fram and"] * 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the package warns where it cuts
        doc = nlp(text)
    assert max(ent.end for ent in doc.ents) > len(doc) - 8


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
        ({"descriptions": {"PER": " \n"}}, "L271.*blank text for PER"),
        ({"descriptions": {"PER": "Ship", "ART": "ship "}}, "L271.*same text for PER and ART"),
        ({"descriptions": {"GEO": "person"}}, "L271.*same text for PER and GEO"),
        ({"descriptions": {"SHIP": "ship"}}, "L271.*SHIP"),
        ({"labels": ["PER", "PER"]}, "L204"),
        ({"labels": [" "], "descriptions": {}}, "L204"),
        ({"threshold": 0.0}, "L001.*threshold"),
        ({"threshold": 1.0}, "L001.*threshold"),
        ({"threshold": "nan"}, "L001.*threshold"),
        ({"batch_size": 0}, "L001.*batch_size"),
        ({"thresholds": {"SHIP": 0.7}}, "L203.*thresholds.*SHIP"),
        ({"thresholds": {"PER": 0.6}, "scores_key": None}, "L251"),
        ({"abstain_key": "low"}, "L213.*abstain_key"),
        ({"abstain_key": "entity_scores"}, "L257"),
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
        with pytest.raises(ValueError, match="L271"):
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
    """As the secondary of `longtail_gated_pipe`."""
    own = {"factory": "longtail_gliner", "model_name": shared_gliner(), "labels": LABELS}
    gated = blank()
    gated.add_pipe("sentencizer")
    gate = {"model": GATE_MODEL, "weak_labels": ["NAT", "ART"]}
    gated.add_pipe("longtail_sentence_gate", name="gate", config=gate)
    settings = {"pipe": {**own, "descriptions": TOLD}, "labels": LABELS}
    gated.add_pipe("longtail_gated_pipe", name="own", config=settings)
    doc = Doc.from_docs([words(gated, text) for text in SENTENCES[:3]])
    for token in doc:
        token.is_sent_start = token.i in np.cumsum([0, *(len(words(gated, t)) for t in SENTENCES[:2])])
    second = list(doc.sents)[1]
    doc.spans["weak_sentences"] = [second]
    alone = [(a + second.start, b + second.start, label) for a, b, label in found(nlp(second.as_doc()))]
    assert found(gated.get_pipe("own")(doc)) == alone and alone


# What it cannot load


def test_the_package_is_needed_when_it_is_used_and_no_sooner(monkeypatch):
    monkeypatch.setitem(sys.modules, "gliner", None)
    nlp = build()
    with pytest.raises(ValueError, match=r"L406.*gliner.*spacy-longtail\[gliner\]"):
        nlp("Maria left.")


def test_a_hub_that_cannot_be_reached_is_named(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"L296.*nobody/no-such-gliner"):
        build("nobody/no-such-gliner")("Maria left.")


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
        (lambda f: (f / "gliner_config.json").unlink(), "gliner_config.json"),
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


# Other commands


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
    docs = [nlp(eg.predicted) for eg in data]
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
