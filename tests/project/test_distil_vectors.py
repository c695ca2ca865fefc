"""`distil-vectors`: a Model2Vec model from an encoder, for RichEmbed and for descriptions."""

import json

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from typer.testing import CliRunner

pytest.importorskip("model2vec.distill", reason="needs the extra 'distil'")

import model2vec.distill
from model2vec import StaticModel

from spacy_longtail.cli import app
from spacy_longtail.describers import Model2VecDescriptions
from spacy_longtail.layers.subwords import read_subwords
from spacy_longtail.training.vectors import distil_vectors
from tests.util import blank, examples, tiny_bert, train

RUN = CliRunner()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"), width=32)


@pytest.fixture(scope="module")
def distilled(bert, tmp_path_factory):
    output = tmp_path_factory.mktemp("distilled") / "vectors"
    return output, distil_vectors(str(bert), output, 8)[:2]


def test_there_is_a_vector_for_each_piece_of_the_encoder(distilled, bert):
    output, (n_pieces, n_columns) = distilled
    model = StaticModel.from_pretrained(output)
    assert (n_pieces, n_columns) == model.embedding.shape and n_columns == 8
    words = {line for line in (bert / "vocab.txt").read_text(encoding="utf8").split() if line.isalpha()}
    assert words <= set(model.tokens)
    found = read_subwords(str(output)).of_words(["oslo", "storm", "Oslo"])
    expected = [rows.mean(axis=0) for rows in model.encode_as_sequence(["oslo", "storm", "Oslo"])]
    assert found == pytest.approx(np.stack(expected), abs=5e-3)
    assert np.array_equal(found[0], found[2]) and not np.array_equal(found[0], found[1])


def test_what_is_written_is_what_was_distilled(distilled, bert):
    """safetensors wrote principal components, which lie by columns, into the wrong places."""
    made = model2vec.distill.distill(str(bert), pca_dims=8)
    written = StaticModel.from_pretrained(distilled[0])
    assert list(written.tokens) == list(made.tokens)
    assert np.array_equal(written.embedding, made.embedding)


def test_a_pipeline_learns_with_them_and_keeps_them(distilled, tmp_path):
    nlp = blank()
    embed = {
        "@architectures": "longtail.RichEmbed.v1",
        "width": 16,
        "attrs": [],
        "rows": [],
        "subwords": str(distilled[0]),
    }
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 16, "depth": 1}
    encode |= {"window_size": 1, "maxout_pieces": 2}
    encoder = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    model = {"@architectures": "longtail.DescribedTypes.v1", "width": 16, "tok2vec": encoder}
    describe = {"@misc": "longtail.Model2VecDescriptions.v1", "path": str(distilled[0])}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model, "describe": describe})
    texts = {"PER": "Maria and Jon", "GEO": "Oslo, Rome", "ART": "the Fram", "NAT": "storm"}
    history = train(nlp, 25, ner={"descriptions": texts})
    assert history[-1]["ner"] < 0.6 * history[0]["ner"]
    nlp.to_disk(tmp_path)
    words = [t.text for t in examples(nlp)[0].reference]
    first, second = (
        p.get_pipe("ner").model.predict([Doc(p.vocab, words=words)]).dataXd
        for p in (nlp, spacy.load(tmp_path))
    )
    assert np.array_equal(first, second)


def test_descriptions_have_vectors(distilled):
    rows = Model2VecDescriptions(str(distilled[0]))(["the night", "Oslo", "the night"])
    assert rows.shape == (3, 8) and np.array_equal(rows[0], rows[2])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-4)


def test_an_earlier_model_is_replaced_and_nothing_else(bert, tmp_path):
    output = tmp_path / "vectors"
    assert distil_vectors(str(bert), output, 4)[1] == 4
    (output / "notes.txt").write_text("of the vectors", encoding="utf8")
    assert distil_vectors(str(bert), output, 6)[1] == 6
    assert json.loads((output / "config.json").read_text(encoding="utf8"))
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "config.json").write_text("{}", encoding="utf8")
    with pytest.raises(ValueError, match="L437"):
        distil_vectors(str(bert), foreign, 4)
    assert [path.name for path in foreign.iterdir()] == ["config.json"]
    encoder = tiny_bert(tmp_path / "encoder")  # with files of the same names
    targets = {bert: "L436", encoder: "L437", tmp_path: "L437", foreign / "config.json": "L434"}
    for target, code in targets.items():
        with pytest.raises(ValueError, match=code):
            distil_vectors(str(bert), target, 4)
    assert all((folder / "vocab.txt").is_file() for folder in (bert, encoder))


@pytest.mark.parametrize("damage", ["none", "empty", "cut", "no tokenizer"])
def test_what_is_no_encoder(damage, bert, tmp_path):
    encoder = tmp_path / "encoder"
    if damage != "none":
        encoder.mkdir()
    if damage in ("cut", "no tokenizer"):
        for file in bert.iterdir():
            (encoder / file.name).write_bytes(file.read_bytes())
    if damage == "cut":
        weights = encoder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    if damage == "no tokenizer":
        for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
            (encoder / name).unlink(missing_ok=True)
    with pytest.raises(ValueError, match="L265"):
        distil_vectors(str(encoder), tmp_path / "out", 4)
    assert not (tmp_path / "out").exists()


def test_the_command(bert, tmp_path):
    shown = RUN.invoke(app, ["distil-vectors", str(bert), "-o", str(tmp_path / "out"), "--width", "5"])
    assert shown.exit_code == 0, shown.output
    n_pieces = len(StaticModel.from_pretrained(tmp_path / "out").tokens)
    assert f"{n_pieces:,} pieces, 5 columns" in " ".join(shown.output.split())
    assert "were asked for" not in shown.output
    shown = RUN.invoke(app, ["distil-vectors", str(bert), "-o", str(tmp_path / "few"), "--width", "999"])
    assert shown.exit_code == 0 and "999 columns were asked for" in " ".join(shown.output.split())
    failed = RUN.invoke(app, ["distil-vectors", str(tmp_path / "none"), "-o", str(tmp_path / "new")])
    assert failed.exit_code == 2 and "L265" in failed.output and "Traceback" not in failed.output
