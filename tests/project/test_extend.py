"""The command `extend`: new types for a pipeline that exists, and its entities stay."""

import json
import shutil
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, Span
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.studies.extending.config import extended_config
from spacy_longtail.studies.extending.proof import compare_entities
from tests.util import (
    blank,
    entities,
    parse,
    refused,
    small_ner,
    toy_corpus,
    toy_docs,
)

ROOT = Path(__file__).parents[2]
OLD = ("PER", "GEO")
STEPS = ["--set", "training.max_steps=30", "--set", "training.eval_frequency=15"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus with all types, and pipelines that know two of them."""
    place = tmp_path_factory.mktemp("extend")
    toy_corpus(place / "corpus", train=toy_docs(3), dev=toy_docs(6), test=toy_docs())
    known = [[ent for ent in doc.ents if ent.label_ in OLD] for doc in toy_docs()]
    docs = toy_docs()
    for doc, ents in zip(docs, known, strict=True):
        doc.set_ents(ents)
    nlp = blank()
    nlp.add_pipe("longtail_ner", name="ner", config={**small_ner(), "scores_key": "entity_scores"})
    examples = [spacy.training.Example(Doc(nlp.vocab, words=[t.text for t in d]), d) for d in docs]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.01
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk(place / "base")
    ruler = nlp.add_pipe("entity_ruler", before="ner")
    ruler.add_patterns([{"label": "PER", "pattern": "Nobody"}])
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("merge_entities", name="merging")
    nlp.disable_pipe("merging")
    nlp.tokenizer.add_special_case("Storm-Ida", [{"ORTH": "Storm"}, {"ORTH": "-"}, {"ORTH": "Ida"}])
    nlp.to_disk(place / "rich")
    return place


def extended(base, corpus, output, *options):
    arguments = ["extend", base, corpus, "-o", output, "--json", *options]
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def weights(pipe):
    return pipe.model.to_bytes()


def test_new_types_are_found_and_old_entities_stay(folder, tmp_path):
    found = extended(
        folder / "base", folder / "corpus", tmp_path / "out", "--gate", "--types", "NAT,ART", *STEPS
    )
    assert found["added"] == ["NAT", "ART"] and found["part"] == "test"
    assert found["components"] == ["sentencizer", "gate", "weak_ner"]
    assert found["types"]["NAT"]["before"] == 0 and found["types"]["NAT"]["f"] > 0.5
    assert all(own["before"] == own["kept"] for own in found["entities"].values())
    assert sum(own["before"] for own in found["entities"].values()) > 5
    before, after = spacy.load(folder / "base"), spacy.load(tmp_path / "out" / "model")
    assert weights(before.get_pipe("ner")) == weights(after.get_pipe("ner"))
    assert before.get_pipe("ner").cfg == after.get_pipe("ner").cfg
    chosen = json.loads((tmp_path / "out" / "model" / "thresholds.json").read_text("utf8"))
    assert list(chosen) == ["gate", "weak_ner"]  # the pipeline's own stay as they are
    # too few sentences on dev to choose it on
    assert after.get_pipe("gate").cfg["threshold"] == chosen["gate"]["threshold"] == 0.5
    for doc in toy_docs():
        was, now = (entities(nlp(doc.text)) for nlp in (before, after))
        assert set(was) <= set(now) and {label for _, label in set(now) - set(was)} <= {"NAT", "ART"}
    config = spacy.util.load_config(tmp_path / "out" / "extended.cfg", interpolate=True)
    assert config["longtail"]["labels"] == config["components"]["gate"]["weak_labels"] == ["NAT", "ART"]
    assert config["paths"]["dev"] == str(folder / "corpus" / "dev.spacy")
    assert config["training"]["max_steps"] == 30  # it is the whole story
    saved = json.loads((tmp_path / "out" / "extended.json").read_text("utf8"))
    assert saved == found


def test_a_gate_is_trained_where_it_is_asked_for(folder, tmp_path):
    """It costs the new types recall."""
    found = extended(folder / "base", folder / "corpus", tmp_path / "out", "--types", "NAT", *STEPS)
    assert found["components"] == ["weak_ner"] and found["types"]["NAT"]["f"] > 0.5


def test_a_type_without_a_training_mention_is_not_added_unasked(folder, tmp_path):
    shutil.copytree(folder / "corpus", tmp_path / "corpus")
    types = json.loads((tmp_path / "corpus" / "types.json").read_text("utf8"))
    types["labels"].append("SHIP")
    (tmp_path / "corpus" / "types.json").write_text(json.dumps(types), encoding="utf8")
    given = ["extend", folder / "base", tmp_path / "corpus", "-o", tmp_path / "out", "--json", *STEPS]
    result = CliRunner().invoke(app, [str(a) for a in given])
    assert "[LW120]" in result.stderr and "a mention of SHIP" in " ".join(result.stderr.split())
    found = json.loads(result.stdout)
    assert "SHIP" not in found["added"] and {"NAT", "ART"} <= set(found["added"])


def test_whatever_is_in_a_pipeline_stays_in_it_and_it_is_extended_again(folder, tmp_path):
    one = extended(
        folder / "rich", folder / "corpus", tmp_path / "one", "--gate", "--types", "NAT", *STEPS
    )
    assert one["components"] == ["gate", "weak_ner"]  # the sentencizer is the pipeline's own
    nlp = spacy.load(tmp_path / "one" / "model")
    assert nlp.component_names == ["sentencizer", "entity_ruler", "ner", "merging", "gate", "weak_ner"]
    assert nlp.disabled == ["merging"]
    assert [t.text for t in nlp("Storm-Ida")] == ["Storm", "-", "Ida"]
    two = extended(tmp_path / "one" / "model", folder / "corpus", tmp_path / "two", *STEPS)
    assert two["added"] == ["ART"] and two["components"] == ["weak_ner_2"]
    assert two["entities"]["NAT"]["before"] == two["entities"]["NAT"]["kept"] > 0
    twice = spacy.load(tmp_path / "two" / "model")
    assert twice.get_pipe("weak_ner_2").cfg["spans_key"] is None
    again = extended(tmp_path / "one" / "model", folder / "corpus", tmp_path / "two", *STEPS)
    assert again["entities"] == two["entities"]


def test_a_pretrained_encoder_is_shared_by_what_is_new(folder, tmp_path):
    options = ["--gate", "--pretrained", "en_longtail_cnn", "--no-thresholds"]
    settings = ["--set", "training.max_steps=2", "--set", "training.eval_frequency=2"]
    extended(folder / "base", folder / "corpus", tmp_path / "out", *options, *settings)
    nlp = spacy.load(tmp_path / "out" / "model")
    assert nlp.pipe_names == ["ner", "sentencizer", "rare_tok2vec", "gate", "weak_ner"]
    assert nlp.get_pipe("weak_ner").cfg["reads_documents"]
    heard = nlp.get_pipe("rare_tok2vec").listening_components
    assert set(heard) == {"gate", "weak_ner"}


def test_a_type_below_the_entities_of_the_base_is_explained(folder, tmp_path):
    def docs(times):
        found = toy_docs(times)
        for doc in found:
            own = [Span(doc, e.start, e.end, label="SKIPPER") for e in doc.ents if e.label_ == "PER"]
            doc.set_ents(own)
        return found

    corpus, types = tmp_path / "corpus", CorpusTypes(["SKIPPER"], ["SKIPPER"], "en", "words")
    write_corpus(corpus, {"train": docs(3), "dev": docs(6), "test": docs(1)}, types)
    given = ["extend", folder / "base", corpus, "-o", tmp_path / "out", "--no-gate", *STEPS]
    result = CliRunner().invoke(app, [str(a) for a in given])
    said = " ".join(result.output.split())
    assert "SKIPPER has F1 0" in said and "these stay" in said and "LW135" not in said
    found = json.loads((tmp_path / "out" / "extended.json").read_text("utf8"))["types"]["SKIPPER"]
    assert found["f"] == 0 and found["mentions"]


def test_lost_entities_are_counted():
    before, after = blank(), blank()
    patterns = [{"label": "PER", "pattern": "Maria"}, {"label": "GEO", "pattern": "Oslo"}]
    before.add_pipe("entity_ruler").add_patterns(patterns)
    changed = [{"label": "PER", "pattern": "Maria"}, {"label": "GPE", "pattern": "Oslo"}]
    after.add_pipe("entity_ruler").add_patterns(changed)
    docs = [parse(blank(), "Maria saw Oslo ."), parse(blank(), "Oslo .")]
    found = compare_entities(before, after, docs, ["ART"])
    counts = {label: (own.before, own.after, own.kept, own.lost) for label, own in found.items()}
    assert counts == {"GEO": (2, 0, 0, 2), "PER": (1, 1, 1, 0), "ART": (0, 0, 0, 0), "GPE": (0, 2, 0, 0)}


def test_every_component_is_frozen(folder):
    nlp = spacy.load(folder / "rich")
    config, added = extended_config(str(folder / "rich"), nlp, gated=True, pretrained=None)
    assert config["training"]["frozen_components"] == nlp.component_names
    assert config["training"]["annotating_components"] == ["sentencizer"]
    assert config["nlp"]["pipeline"] == [*nlp.component_names, "gate", "weak_ner"]
    assert added.names == ["gate", "weak_ner"]


def test_what_extend_refuses(folder, tmp_path):
    out = tmp_path / "out"
    refused(["extend", folder / "base", folder / "corpus", "-o", out, "--types", "NAT,XYZ"], "L521", out)
    refused(["extend", tmp_path / "none", folder / "corpus", "-o", out], "L408", out)
    refused(["extend", folder / "base", tmp_path, "-o", out], "L4", out)
    german = CorpusTypes(["NAT"], ["NAT"], "de")
    write_corpus(tmp_path / "de", {"train": toy_docs(), "dev": toy_docs()}, german)
    refused(["extend", folder / "base", tmp_path / "de", "-o", out], "L522", out)
    letters = CorpusTypes(["NAT"], ["NAT"], "en", "characters")
    write_corpus(tmp_path / "letters", {"train": toy_docs(), "dev": toy_docs()}, letters)
    refused(["extend", folder / "base", tmp_path / "letters", "-o", out], "L523", out)
    options = ["--pretrained", folder / "base"]
    refused(["extend", folder / "base", folder / "corpus", "-o", out, *options], "L524", out)
    typo = ["--set", "training.max_stesp=3"]
    refused(["extend", folder / "base", folder / "corpus", "-o", out, *typo], "L438", out)
    known = CorpusTypes(["PER"], ["PER"], "en")
    write_corpus(tmp_path / "known", {"train": toy_docs(), "dev": toy_docs()}, known)
    refused(["extend", folder / "base", tmp_path / "known", "-o", out], "L520", out)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine", encoding="utf8")
    refused(["extend", folder / "base", folder / "corpus", "-o", tmp_path / "other"], "L437")
    assert (tmp_path / "other" / "notes.txt").read_text("utf8") == "mine"
