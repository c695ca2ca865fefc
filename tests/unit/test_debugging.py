"""Debugging: one planted problem a corpus or config, and exactly that finding."""

import json
from pathlib import Path

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.folder import CorpusTypes, write_corpus
from spacy_longtail.studies.trials.recipes import config_path
from spacy_longtail.training.debugging import debug_corpus
from spacy_longtail.training.debugging.data import run_check
from tests.util import SMALL, blank, parse

NLP = blank()
RUN = CliRunner()
ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"


# --- a corpus that nothing is wrong with, and faults to plant in it


def healthy():
    """Documents of two sentences; 60 mentions of each type in training, no text twice."""
    docs = {}
    for part, n in (("train", 60), ("dev", 3), ("test", 3)):
        docs[part] = []
        for i in range(n):
            name = f"{part}{i}"
            sents = [f"[{name}|PER] met [Mr {name}|ORG] .", f"{name} saw the [{name} x|ART] sink"]
            docs[part].append(Doc.from_docs([parse(NLP, text) for text in sents]))
    return docs


def annotated(doc, **columns):
    """A copy with some columns changed at some tokens: iob={0: 3}."""
    doc, names = doc.copy(), {"iob": "ENT_IOB", "type": "ENT_TYPE", "start": "SENT_START"}
    array = doc.to_array(list(names.values()))
    for key, changes in columns.items():
        for i, value in changes.items():
            number = NLP.vocab.strings.add(value) if isinstance(value, str) else value
            array[i, list(names).index(key)] = number
    doc.from_array(list(names.values()), array)
    return doc


def words(texts, entity=None, label="PER", starts=None):
    starts = starts or {0}
    doc = Doc(NLP.vocab, words=texts, sent_starts=[i in starts for i in range(len(texts))])
    values = np.full((len(texts), 2), (2, 0), dtype="uint64")
    if entity:
        values[slice(*entity)] = (1, NLP.vocab.strings.add(label))
        values[entity[0], 0] = 3
    doc.from_array(["ENT_IOB", "ENT_TYPE"], values)
    return doc


def save(folder, docs, labels=("PER", "ORG", "ART"), tail=()):
    write_corpus(folder, docs, CorpusTypes(list(labels), list(tail)))
    return folder


def faults(corpus, *args, sections=None, **kwargs):
    """Warnings and failures, but for that the spacing of these tokens is not known."""
    found = debug_corpus(corpus, *args, **kwargs)
    return [c for c in found if c.level in ("warn", "fail") and (not sections or c.section in sections)]


def test_a_healthy_corpus_has_no_fault(tmp_path):
    checks = list(debug_corpus(save(tmp_path / "c", healthy())))
    assert not [c for c in checks if c.level in ("warn", "fail")]
    good = {c.section for c in checks if c.level == "good"}
    assert good == {"Findings", "Types", "Sentences", "Entities", "Annotation", "Tokens"}


def extra(*given, part="train", **columns):
    doc = annotated(words(*given), **columns) if columns else words(*given)
    return lambda docs: docs[part].append(doc)


def bare(*texts):
    return lambda docs: docs["train"].append(Doc(NLP.vocab, words=list(texts)))


CROSSING = words(["at", "New", "York", "now"], (1, 3), starts={0, 2})
PLANTED = [  # what is planted, level, section, and what the finding names; or that it is no fault
    (lambda docs: docs.pop("dev"), "warn", "Findings", "no dev part"),
    (extra(["a"], part="dev"), None, "", ""),
    (lambda docs: docs["train"].extend([words(["so", "it", "is"])] * 500), None, "", ""),  # sparse
    (
        extra(["so", "it", "is"], iob={1: 1}, type={1: "PER"}),
        *("fail", "Entities", "1, such as: so it is"),
    ),
    (
        extra(["at", "Oslo", "\n", "now"], (1, 3)),
        *("fail", "Entities", r"such as: at [Oslo \n|PER] now"),
    ),
    (extra(["at", "--", "now"], (1, 2)), "warn", "Entities", "1, such as: at [--|PER] now"),
    (extra(["at", "Oslo", ",", "now"], (1, 3)), "warn", "Entities", "1, such as: at [Oslo ,|PER] now"),
    (extra(["\n", "it"]), None, "", ""),
    (extra(["for", "$", "5"], (1, 3)), None, "", ""),
    (extra(["in", "U.S.", "now"], (1, 2)), None, "", ""),
    (
        extra([f"w{i}" for i in range(201)], part="test"),
        *("warn", "Sentences", "test: sentences of more than 200 words: 1, such as: w0"),
    ),
    (extra(["so", "be", "it"], start={0: 0, 1: 0, 2: 0}), "warn", "Sentences", "train: documents"),
    (
        extra(["so", "\n", "it"], None, "PER", {0, 1}),
        *("warn", "Sentences", r"1, such as: so \n it"),
    ),
    (bare("so"), "warn", "Annotation", "train: documents without annotation"),
    (bare(), "warn", "Annotation", "documents without a token: 1"),
    (extra(["Malm\ufffd", "now"]), "warn", "Annotation", "1, such as: Malm\ufffd now"),
    (extra(["a\x07b"]), "warn", "Annotation", "control characters"),
    (extra(["so", "be", "it"], iob={1: 0}), "warn", "Annotation", "train: words"),
    (extra(["see", "Ida"], (1, 2), "STORM"), "fail", "Findings", "STORM"),
    (lambda docs: docs["train"].append(CROSSING), "warn", "Sentences", "at [New York|PER] now"),
    (
        lambda docs: docs.update(test=[words(["see", "Ida"], (1, 2), "ORG")]),
        "warn",
        "Findings",
        "PER, ART",
    ),
    (lambda docs: docs.update(train=docs["train"][:49]), "warn", "Findings", "49 mentions"),
    (lambda docs: docs.update(dev=[words(["it", "rained"])]), None, "", ""),
    (lambda docs: docs["test"].append(docs["train"][0]), "warn", "Findings", "2 sentences of test"),
    (
        lambda docs: docs["train"].extend(
            words(["so", "Ida", "came"], (1, 2), label) for label in ("PER", "ART")
        ),
        *("warn", "Findings", "[Ida|PER]"),
    ),
]


@pytest.mark.parametrize(("plant", "level", "section", "text"), PLANTED)
def test_a_planted_fault_is_found_and_no_other(plant, level, section, text, tmp_path):
    docs = healthy()
    plant(docs)
    found = faults(save(tmp_path / "c", docs))
    assert [(c.level, c.section) for c in found] == ([(level, section)] if level else [])
    assert all(text in c.text for c in found)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        *(("PER", "per", True), ("PER", "P-E_R", True), ("PER", "PERS", True)),
        *(("PERSON", "PERSNO", True), ("LOCATION", "LOCTION", True), ("GEO", "GPE", False)),
        *(("cell_type", "cell_line", False), ("CARDINAL", "ORDINAL", False)),
    ],
)
def test_types_that_may_be_one(one, other, alike, tmp_path):
    docs = healthy()
    for part in docs:
        for label in (one, other):
            docs[part].append(words([f"so{part}{label}", "Ida"], (1, 2), label))
    labels = list(dict.fromkeys(["PER", "ORG", "ART", one, other]))
    found = faults(save(tmp_path / "c", docs, labels=labels), sections=["Types"])
    assert len(found) == alike


def test_tokens_are_compared_where_the_text_is_known(tmp_path):
    docs = healthy()
    docs["test"] = [words(["Nobody's", "there"], (0, 1))]  # tokens alone
    checks = [c for c in debug_corpus(save(tmp_path / "c", docs)) if c.section == "Tokens"]
    assert [c.level for c in checks] == ["good", "good", "info"]
    wrong = Doc(NLP.vocab, words=["Ann", "Lees", "s", "."], spaces=[True, False, False, False])
    wrong.ents = [wrong.char_span(0, 8, label="PER")]
    docs["train"] = [*docs["train"], wrong]
    cut, lost = faults(save(tmp_path / "d", docs), sections=["Tokens"])
    assert "train: 2 of 664 tokens" in cut.text and "Lees / s" in cut.text
    assert "1 of 181 mentions" in lost.text


def test_a_language_without_its_tokenizer_is_no_fault(tmp_path):
    corpus = save(tmp_path / "c", healthy())
    types = json.loads((corpus / "types.json").read_text())
    (corpus / "types.json").write_text(json.dumps({**types, "lang": "xyz"}))
    (check,) = [c for c in debug_corpus(corpus) if c.section == "Tokens"]
    assert check.level == "info" and "L428" in check.text


@pytest.mark.parametrize(
    ("levels", "found"),
    [([], ["good"]), (["info"], ["info", "good"]), (["warn"], ["warn"])],
)
def test_a_check_says_good_only_where_nothing_is_wrong(levels, found):
    checks = run_check(((level, "") for level in levels), "S", "fine")
    assert [c.level for c in checks] == found


# --- configs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save(tmp_path_factory.mktemp("corpus") / "c", healthy(), tail=["ART"])


ENCODER = "en_longtail_cnn"


def small(name):
    """A shipped config with a small encoder, where it has one of its own."""
    config = load_config(ROOT / config_path(name), interpolate=False)
    if "source" in config["components"]["tok2vec"]:
        return {"paths.pretrained": str(ENCODER)}
    overrides = {"components.tok2vec.model.width": 16, "components.tok2vec.model.embed_size": 200}
    if "weak_ner" in config["components"]:
        overrides["components.weak_ner.model.tok2vec.width"] = 16
        overrides["components.weak_ner.model.tok2vec.embed_size"] = SMALL["embed_size"]
    return overrides


def config_faults(corpus, name, **changes):
    overrides = {**small(name), **{key.replace("__", "."): value for key, value in changes.items()}}
    sections = ("Config", "Readers", "Components", "Scores", "Update")
    return faults(corpus, ROOT / config_path(name), overrides=overrides, sections=sections)


@pytest.mark.parametrize(
    "name",
    ["baseline", "weighted", "resampled", "config", "token_crf", "token_two_task"],
)
def test_shipped_configs_have_no_fault_but_their_types(name, corpus, capsys):
    checks = list(debug_corpus(corpus, ROOT / config_path(name), overrides=small(name), update=True))
    found = [c for c in checks if c.level in ("warn", "fail")]
    assert {c.section for c in found} <= {"Config"}  # [longtail] names the types of Field Notes
    assert all("`spacy train` does not" in c.text for c in found)
    update = [c for c in checks if c.section == "Update"]
    assert [c.level for c in update] == ["good"] and "ner" in update[0].text
    readers = [c.text for c in checks if c.section == "Readers"]
    assert readers[1:] == ["corpora.dev yields 3 examples.", "The dev corpus is read as it is."]
    assert capsys.readouterr().out == ""  # the resampling reader prints a table


def test_a_config_that_does_not_build(corpus, tmp_path):
    (tmp_path / "bad.cfg").write_text("[nlp\n")
    for path, code in ((tmp_path / "bad.cfg", "L438"), (tmp_path / "none.cfg", "L402")):
        (only,) = faults(corpus, path, sections=["Config"])
        assert only.level == "fail" and code in only.text
    for changes, text in (({"ner__factory": "nir"}, "nir"), ({"typo__x": 1}, "typo")):
        changes = {f"components__{name}": value for name, value in changes.items()}
        (only,) = config_faults(corpus, "baseline", **changes)
        assert (only.level, only.section) == ("fail", "Config") and text in only.text


LOWER = {"@augmenters": "spacy.lower_case.v1", "level": 0.5}
FAULTY = [
    ("baseline", {"paths__train": "none.spacy"}, "Readers", "corpora.train cannot be read"),
    ("baseline", {"training__dev_corpus": "corpora.none"}, "Config", "corpora.none"),
    ("resampled", {"training__dev_corpus": "corpora.train"}, "Config", "L109"),
    ("resampled", {"corpora__train__epoch_size": 10}, "Config", "L438"),
    ("focal", {"components__ner__include": ["EVE"]}, "Components", "include names types without"),
    ("gated", {"components__gate__weak_labels": ["EVE"]}, "Components", "gate: weak_labels names"),
    ("baseline", {"training__max_epochs": -1}, "Components", "ner sees 100 examples"),
    ("baseline", {"training__score_weights__ents_marco_f": 1.0}, "Config", "weighs: ents_marco_f,"),
    (
        "baseline",
        {"training__score_weights__ents_macro_f": 0.0},
        "Scores",
        "No score has a weight above 0",
    ),
    ("baseline", {"training__score_weights__ents_f": "."}, "Config", "ents_f"),
    ("baseline", {"longtail__labels": ["PER", "ART", "EVE"]}, "Config", "the corpus lacks: EVE."),
    (
        "baseline",
        {"corpora__dev__augmenter": LOWER},
        "Readers",
        "'corpora.dev' is read through the augmenter of spacy.Corpus.v1",
    ),
]


@pytest.mark.parametrize(("name", "changes", "section", "text"), FAULTY)
def test_a_fault_in_a_config_is_found(name, changes, section, text, corpus):
    found = [c for c in config_faults(corpus, name, **changes) if "`spacy train` does not" not in c.text]
    assert (("fail", section)) in [(c.level, c.section) for c in found]
    assert any(text in c.text for c in found if c.section == section)


def test_streaming_is_fine_with_counts(corpus):
    found = config_faults(corpus, "config", training__max_epochs=-1)
    assert not [c for c in found if c.section == "Components"]


def test_an_endless_reader_does_not_hang(corpus, tmp_path):
    from spacy.training import Corpus
    from spacy.util import registry

    @registry.readers("endless_test_reader.v1")
    def endless(path: str):
        def read(nlp):
            while True:
                yield from Corpus(path)(nlp)

        return read

    config = load_config(CONFIGS / "baseline.cfg", interpolate=False)
    config["corpora"]["train"] = {"@readers": "endless_test_reader.v1", "path": "${paths.train}"}
    config.to_disk(tmp_path / "endless.cfg")
    checks = debug_corpus(corpus, tmp_path / "endless.cfg", overrides=small("baseline"))
    assert "corpora.train yields 100 examples or more." in [c.text for c in checks]


def test_a_first_update_without_a_finite_loss(corpus):
    def broken(self, batch, losses, **_):
        losses["ner"] = float("nan")

    settings = {"overrides": small("focal"), "update": True, "sections": ["Update"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy.language.Language.update", broken)
        found = faults(corpus, CONFIGS / "focal.cfg", **settings)
    assert [(c.level, "no finite loss" in c.text) for c in found] == [("fail", True)]


# --- the command


def run(*arguments):
    return RUN.invoke(app, ["audit", *map(str, arguments)])


def test_the_command_fails_where_a_check_does(corpus, tmp_path):
    fine = run(corpus)
    assert fine.exit_code == 0
    assert "0 fail, 0 warn" in fine.output
    docs = healthy()
    docs["train"].append(words(["see", "Ida"], (1, 2), "STORM"))
    bad = run(save(tmp_path / "c", docs))
    assert bad.exit_code == 1
    assert "STORM" in bad.output and "1 fail" in bad.output
    assert "Traceback" not in bad.output


def test_the_command_as_json_and_with_a_config(corpus):
    arguments = [f"--{key}={value}" for key, value in small("resampled").items()]
    path = CONFIGS / "papers" / "resampled.cfg"
    shown = run(corpus, "--config", path, "--update", "--json", *arguments)
    assert shown.exit_code == 0
    assert json.loads(shown.output)[-1]["section"] == "Update"


def test_bad_calls_get_a_code(corpus, tmp_path):
    for arguments, code in (
        ([corpus, "--update"], "L420"),
        ([corpus, "--training.max_steps", "3"], "L420"),
        ([tmp_path / "none"], "L402"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert code in result.output
        assert "Traceback" not in result.output


def test_what_a_trained_component_learns_is_said(corpus, tmp_path):
    """spaCy does not initialize it again: a type that it does not know is never learnt."""
    config = load_config(CONFIGS / "baseline.cfg", interpolate=False)
    nlp = blank()
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": {"tok2vec": SMALL}})
    nlp.initialize(lambda: [Example(NLP.make_doc("Ida came"), parse(NLP, "[Ida|PER] came"))])
    nlp.get_pipe("ner").add_label("ORG")
    nlp.to_disk(tmp_path / "trained")
    config["nlp"]["pipeline"] = ["ner"]
    config["components"] = {"ner": {"source": str(tmp_path / "trained")}}

    def said(**training):
        config["training"].update(training)
        config.to_disk(tmp_path / "source.cfg")
        found = debug_corpus(corpus, tmp_path / "source.cfg")
        return [(c.level, c.text) for c in found if c.section == "Components"]

    ((level, text),) = said()
    assert level == "warn" and "does not know the types ART, and will not learn" in text
    ((level, text),) = said(frozen_components=["ner"])
    assert level == "info" and text.endswith("is frozen: it learns nothing.")
    nlp.get_pipe("ner").add_label("ART")
    nlp.to_disk(tmp_path / "trained")
    ((level, text),) = said(frozen_components=[])
    assert level == "info" and text.endswith("goes on to learn ART, ORG, PER.")
