"""configs/extended.cfg on a pipeline that stock spaCy trained, with stock scorers."""

import json
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.init_config import init_config

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.examples import keep_types
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.evaluation.analysis import entity_changes
from spacy_longtail.evaluation.records import Evaluation
from tests.util import SENTENCES, SMALL, evaluation_data, examples, params, parse, refused, run_app

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A corpus, and a pipeline that finds most of its frequent entities."""
    folder = tmp_path_factory.mktemp("stock")
    nlp = spacy.blank("en")
    docs = [parse(nlp, text) for text in SENTENCES]
    types = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["ART", "NAT"], "en", "words")
    write_corpus(folder / "tiny", dict.fromkeys(("train", "dev", "test"), docs), types)
    config = init_config(lang="en", pipeline=["ner"], optimize="efficiency", gpu=False)
    config["components"]["tok2vec"]["model"] = {**SMALL, "width": 16}
    config["components"]["ner"]["model"]["tok2vec"]["width"] = 16
    trained = spacy.util.load_model_from_config(config, auto_fill=True)
    frequent = [keep_types(eg, ["PER", "GEO"]) for eg in examples(trained)]
    optimizer = trained.initialize(lambda: frequent)
    optimizer.learn_rate = 0.01
    for _ in range(40):
        trained.update(frequent, sgd=optimizer)
    trained.to_disk(folder / "model")
    return folder


def test_a_stock_pipeline_is_extended_and_its_best_checkpoint_selected(stock, tmp_path):
    output = tmp_path / "extended"
    arguments = ["train", ROOT / "configs" / "extended.cfg", stock / "tiny", output]
    arguments += ["--paths.base", stock / "model", "--longtail.tail", '["ART","NAT"]']
    arguments += ["--training.max_steps", 30, "--training.eval_frequency", 5]
    run_app(*arguments)
    curve = list(srsly.read_jsonl(output / "curve.jsonl"))
    scores = [line["scores"]["ents_macro_f"] for line in curve]
    assert max(scores) > 0 and len(set(scores)) > 1
    best = spacy.load(output / "model-best")
    assert 100 * best.meta["performance"]["ents_macro_f"] == pytest.approx(max(scores), abs=1e-3)
    assert max(line["score"] for line in curve) > 0  # what selects
    frozen, now = spacy.load(stock / "model").get_pipe("ner"), best.get_pipe("ner")
    assert all((a == b).all() for a, b in zip(params(frozen), params(now), strict=True))
    compared = (output / "model-best", stock / "tiny", "--before", stock / "model")
    changes = json.loads(run_app("evaluate", *compared, "--json").stdout)["changes"]
    assert changes["PER"]["before"] > 0
    assert all(own["kept"] == own["before"] for own in changes.values())


def test_lost_entities_are_counted():
    def evaluation(*predicted):
        data = evaluation_data(
            [
                {
                    "text": "Maria saw Oslo",
                    "sentences": [[0, 14]],
                    "gold": [],
                    "predicted": [[*place, None] for place in predicted],
                }
            ]
        )
        return Evaluation.model_validate(data, strict=False)

    before = evaluation((0, 5, "PER"), (10, 14, "GEO"))
    after = evaluation((0, 5, "PER"), (10, 14, "GPE"))
    counts = {t: (*own.values(),) for t, own in entity_changes(before, after).items()}
    assert counts == {"GEO": (1, 0, 0, 1), "PER": (1, 1, 1, 0), "GPE": (0, 1, 0, 0)}


def test_a_score_that_nothing_computes_is_refused(stock, tmp_path):
    weak = '{"@scorers":"longtail.ner_scorer.v1","prefix":"weak_ents"}'
    text = (ROOT / "configs" / "extended.cfg").read_text(encoding="utf8")
    start = text.index("[components.weak_ner.scorer]")
    text = text[:start] + text[text.index("\n[", start) :]
    text = text.replace("spans_key = null\nscores_key", f"scorer = {weak}\nspans_key = null\nscores_key")
    (tmp_path / "old.cfg").write_text(text, encoding="utf8")
    arguments = ["train", tmp_path / "old.cfg", stock / "tiny", tmp_path / "out"]
    ran = refused([*arguments, "--paths.base", stock / "model"], "[L438]", tmp_path / "out")
    assert "ents_macro_f" in ran.output and "ents_f" in ran.output
