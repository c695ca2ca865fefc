"""`cost`: what would go to a secondary, counted without building it."""

import json
from pathlib import Path

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.training.loading import load_pipeline
from tests.pipes.gated import TEXT, lines, pipeline
from tests.util import examples, refused

RUN = CliRunner()
ROOT = Path(__file__).parents[2]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "pool.txt"
    path.write_text(f"{TEXT}\nANN slept .\n{TEXT}\n", encoding="utf8")
    return path


def test_texts_are_counted_and_nobody_is_called(texts, tmp_path):
    log = tmp_path / "log"
    nlp = pipeline(pipe={"log": str(log)})
    nlp.to_disk(tmp_path / "model")
    result = RUN.invoke(app, ["cost", str(tmp_path / "model"), str(texts)])
    assert result.exit_code == 0, result.output
    row = next(line.split() for line in result.output.splitlines() if line.startswith("rescue"))
    assert row == ["rescue", "3", "9", "4", "44.4", "22", "4"]
    result = RUN.invoke(app, ["cost", str(tmp_path / "model"), str(texts), "--json"])
    found = json.loads(result.output)["rescue"]
    assert found == {"texts": 3, "sentences": 9, "flagged": 4, "share": 4 / 9, "words": 22, "calls": 4}
    assert not log.exists()
    docs = list(load_pipeline(tmp_path / "model").pipe(texts.read_text("utf8").splitlines()))
    assert len(docs) == 3 and len(lines(log)) == found["calls"]


def test_no_key_is_needed_to_count(texts, tmp_path):
    nlp = pipeline()
    nlp.to_disk(tmp_path / "model")
    config = (tmp_path / "model" / "config.cfg").read_text(encoding="utf8")
    config = config.replace('factory = "test_secondary"', 'factory = "not_installed"')
    (tmp_path / "model" / "config.cfg").write_text(config, encoding="utf8")
    refused(["evaluate", tmp_path / "model", tmp_path], "L402")
    with pytest.raises(ValueError, match="L288"):
        load_pipeline(tmp_path / "model")
    assert RUN.invoke(app, ["cost", str(tmp_path / "model"), str(texts)]).exit_code == 0


def test_what_cannot_be_counted_has_a_code(texts, tmp_path):
    nlp = pipeline()
    nlp.remove_pipe("rescue")
    nlp.to_disk(tmp_path / "model")
    refused(["cost", tmp_path / "model", texts], "L293")
    refused(["cost", tmp_path / "gone", texts], "L408")
    config = tmp_path / "model" / "config.cfg"
    whole = config.read_text(encoding="utf8")
    for broken in (
        '[nlp]\nlang = "en"\n',
        whole.replace("[components.", "[parts."),
        "",
        "[components]\nner = 3\n",
    ):
        config.write_text(broken, encoding="utf8")
        refused(["cost", tmp_path / "model", texts], "L")
    pipeline().to_disk(tmp_path / "other")
    refused(["cost", tmp_path / "other", tmp_path / "gone.txt"], "L402")


def test_the_recipe_trains_without_a_server(texts, tmp_path):
    """Nothing is sent until the component is enabled; then nobody answers, and the primary's entities stay."""
    pytest.importorskip("spacy_llm", reason="needs the extra 'llm'")
    DocBin(docs=[eg.reference for eg in examples(spacy.blank("en"), 2)]).to_disk(tmp_path / "data.spacy")
    overrides = {
        "paths.train": str(tmp_path / "data.spacy"),
        "paths.dev": str(tmp_path / "data.spacy"),
        "longtail.labels": ["PER", "GEO", "ART", "NAT"],
        "longtail.tail": ["ART", "NAT"],
        "training.max_steps": 2,
        "training.eval_frequency": 2,
        "components.rescue.pipe.model.endpoint": "http://127.0.0.1:9/v1/chat/completions",
        "components.rescue.max_failures": None,
    }
    train(ROOT / "configs" / "gated_llm.cfg", tmp_path / "model", overrides=overrides)
    nlp = spacy.load(tmp_path / "model" / "model-last")
    assert nlp.disabled == ["rescue"] and not nlp.get_pipe("rescue").usage.calls
    nlp.get_pipe("gate").cfg["threshold"] = 0.0  # every sentence
    text = "Maria sailed to Oslo on the Fram ."
    before = nlp(text).ents
    nlp.enable_pipe("rescue")
    assert [str(e) for e in nlp(text).ents] == [str(e) for e in before]
    assert nlp.get_pipe("rescue").usage.failures == 1
    model = str(tmp_path / "model" / "model-last")
    assert RUN.invoke(app, ["cost", model, str(texts)]).exit_code == 0
