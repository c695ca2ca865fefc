"""Transformer and LabelEncoder: rows, windows, short forms, training, zero-shot."""

import pickle
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import registry

from tests.util import start_sentences, tiny_bert, tiny_encoder

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")

import safetensors  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from spacy_longtail import use_int8  # noqa: E402
from spacy_longtail.describers import LabelEncoder  # noqa: E402
from spacy_longtail.describers.label_encoder import FILE  # noqa: E402
from spacy_longtail.layers import int8, torch_transformer  # noqa: E402
from spacy_longtail.layers.quantized import eight_bit, four_bit  # noqa: E402
from spacy_longtail.layers.torch_format import from_bytes, short_form  # noqa: E402
from spacy_longtail.layers.windows import windows_of  # noqa: E402
from spacy_longtail.models import Transformer  # noqa: E402
from spacy_longtail.models.transformer import encoder_of  # noqa: E402
from spacy_longtail.pipes.token import token_model  # noqa: E402

WIDTH = 64
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH}
DESCRIBED = {"@architectures": "longtail.DescribedTypes.v1", "width": 8, "tok2vec": LISTENER}


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"), width=WIDTH, depth=2, spells=True)


def loaded(bert: Path, **settings):
    model = Transformer(str(bert), **settings)
    model.initialize()
    return model


def originals(bert: Path):
    """The tokenizer and the encoder as transformers has them."""
    kinds = transformers.AutoTokenizer, transformers.AutoModel
    return [kind.from_pretrained(bert) for kind in kinds]


def docs_of(*texts: str) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    return [Doc(vocab, words=text.split(" ") if text else []) for text in texts]


def test_a_row_is_what_transformers_gives_the_first_piece(bert):
    docs = docs_of("Rome sent help", "Jon saw the Fram in Oslo at night", "Oslo")
    model = loaded(bert, batch_pieces=254)
    rows = model.predict(docs)
    blanks = Doc(docs[0].vocab, words=["Rome", "\n ", "Oslo"])
    assert model.predict([blanks])[0].shape == (3, WIDTH)
    tokenizer, encoder = originals(bert)
    for doc, own in zip(docs, rows, strict=True):
        batch = tokenizer([[t.text for t in doc]], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            states = encoder(**batch).last_hidden_state[0].numpy()
        words = batch.word_ids(0)
        first = [words.index(i) for i in range(len(doc))]
        assert own == pytest.approx(states[first], abs=1e-5)


def test_sentences_are_read_apart_and_the_order_is_kept(bert):
    model = loaded(bert)
    together = start_sentences(*docs_of("Rome sent help Jon saw Oslo"), 0, 3)
    whole, first, second = model.predict([together, *docs_of("Rome sent help", "Jon saw Oslo")])
    assert whole == pytest.approx(np.concatenate([first, second]), abs=1e-5)


@pytest.mark.parametrize("n_words", [1, 9, 40, 200])
@pytest.mark.parametrize("longest", [1, 5])
def test_windows_take_each_word_once_and_fit(n_words, longest):
    lengths = np.random.default_rng(n_words).integers(1, longest + 1, size=n_words)
    cuts = np.array([n_words]) if n_words < 9 else np.array([4, n_words - 4])
    found = windows_of(lengths, cuts, 16)
    kept = [word for window in found for word in range(window.first, window.stop)]
    assert kept == list(range(n_words))
    assert all(window.start <= window.first < window.stop <= window.end for window in found)
    assert max(lengths[window.start : window.end].sum() for window in found) <= 16
    ends = np.cumsum(lengths)
    inner = [window for window in found if window.stop < window.end]
    assert all(ends[w.end - 1] > ends[w.stop - 1] - lengths[w.stop - 1] + 1 for w in inner)


def test_it_is_saved_with_its_tokenizer_and_loads_without_the_folder(bert):
    model = loaded(bert)
    docs = docs_of("Jon saw the Fram in Oslo")
    [rows] = model.predict(docs)
    for again in (Transformer().from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert again.predict(docs)[0] == pytest.approx(rows, abs=1e-6)
    for bits, most in ((8, 0.05), (4, 0.6)):
        short = from_bytes(
            encoder_of(Transformer()), short_form(encoder_of(model), bits, bits), torch.device("cpu")
        )
        other = Transformer()
        other.shims[0]._model = short
        assert 0 < abs(other.predict(docs)[0] - rows).max() < most
    data = bytearray(short_form(encoder_of(model)))
    data[-9] ^= 1
    other = data.replace(b'"format":"1"', b'"format":"2"')
    for bad in (bytes(data), bytes(data[:100]), b"nothing of the kind", bytes(other)):
        with pytest.raises(ValueError, match="L221"):
            from_bytes(encoder_of(Transformer()), bad, torch.device("cpu"))


def test_few_bits_keep_what_is_there():
    matrix = np.random.default_rng(0).normal(size=(50, 128)).astype("float32")
    errors = [
        abs(short.expand() - matrix).max()
        for short in (eight_bit(matrix), eight_bit(matrix, 6), four_bit(matrix))
    ]
    assert errors[0] < 0.02 < errors[1] < 0.08 < errors[2] < 0.8
    assert np.corrcoef(four_bit(matrix).expand().ravel(), matrix.ravel())[0, 1] > 0.99
    assert (eight_bit(eight_bit(matrix).expand()).codes == eight_bit(matrix).codes).all()
    assert not four_bit(np.zeros((2, 64), "float32")).expand().any()


def test_lower_layers_learn_less_and_word_embeddings_nothing(bert):
    model = loaded(bert, layer_decay=0.5)
    before = {name: p.detach().clone() for name, p in encoder_of(model).named_parameters()}
    rates = {}

    def optimizer(key, weights, gradient, *, lr_scale=1.0):
        rates[key[1]] = lr_scale
        weights -= 0.1 * lr_scale * np.sign(gradient)
        return weights, gradient

    rows, backprop = model.begin_update(docs_of("Rome sent help"))
    backprop([np.ones_like(rows[0]) * np.arange(WIDTH, dtype="float32")])
    model.finish_update(optimizer)
    moved = {n for n, p in encoder_of(model).named_parameters() if not torch.equal(p, before[n])}
    assert not any("word_embeddings" in name for name in {*moved, *rates})
    assert {rates[n] for n in rates if ".layer.1." in n} == {1.0}
    assert {rates[n] for n in rates if ".layer.0." in n} == {0.5}
    assert rates["encoder.embeddings.LayerNorm.weight"] == 0.25 and moved
    rows, backprop = model.begin_update(docs_of("Rome sent help"))  # nothing of the step before is left
    backprop([np.zeros_like(rows[0])])
    assert not any(p.grad.any() for p in encoder_of(model).parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "L265"),  # no name
        ({"name": "no/such/folder"}, "L265"),
        ({"layer_decay": 0.0}, "L001"),
        ({"max_pieces": 2}, "L001"),
        ({"batch_pieces": 8}, "L001"),
    ],
)
def test_settings_without_an_encoder_or_out_of_range_are_refused(settings, code):
    with pytest.raises(ValueError, match=code):
        Transformer(**settings).initialize()


@pytest.fixture(scope="module")
def shipped(bert, tmp_path_factory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("shipped") / "model", bert)


def test_labels_are_read_by_the_label_encoder(bert, shipped):
    texts = ["ship", "the night", "named storm in Oslo"]
    rows = LabelEncoder(str(shipped))(texts)
    tokenizer, encoder = originals(bert)
    for text, row in zip(texts, rows, strict=True):
        with torch.no_grad():
            mean = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
        assert row @ mean / np.linalg.norm(mean) == pytest.approx(1.0, abs=1e-3)  # eight bits


def test_a_loaded_pipeline_looks_for_types_by_their_descriptions(shipped):
    nlp = spacy.load(shipped)
    ner = nlp.get_pipe("ner")
    ner.set_labels({"STORM": "named storm", "SHIP": "ship", "PLACE": "town"})
    expected = LabelEncoder(str(shipped))(["named storm", "ship", "town"])
    own = ner.model.get_ref("output_layer").get_param
    assert ner.labels == ("STORM", "SHIP", "PLACE") and own("D") == pytest.approx(expected, abs=1e-5)
    assert not own("W")[1:].any() and not own("b")[1:].any()
    list(nlp.pipe(["Jon saw the Fram in Oslo", ""]))
    ner.set_labels(["river"])
    ner.add_label("lake")
    assert ner.types.descriptions == {"river": "river", "lake": "lake"}
    for bad in ({}, {"A": " "}, {"A": "x", "B": "X"}, {"A": 3}):
        with pytest.raises(ValueError, match="L271"):
            ner.set_labels(bad)
        assert ner.labels == ("river", "lake")


@pytest.mark.parametrize(
    ("config", "code"),
    [({}, "L213"), ({"model": DESCRIBED}, "L271")],
    ids=["without descriptions", "untrained"],
)
def test_a_pipe_that_knows_no_descriptions_is_given_no_types(config, code):
    ner = spacy.blank("en").add_pipe("longtail_token_ner", config=config)
    with pytest.raises(ValueError, match=code):
        ner.set_labels(["A"])


def test_a_batch_with_many_types_is_read_in_slices(shipped, monkeypatch):
    nlp = spacy.load(shipped)
    ner = nlp.get_pipe("ner")
    ner.set_labels({f"type {i}": f"kind {chr(97 + i)} of thing" for i in range(20)})
    docs = list(nlp.get_pipe("tok2vec").pipe(map(nlp.make_doc, ("Jon saw the Fram", "", "Oslo") * 3)))
    whole = ner.predict(docs)
    monkeypatch.setattr(token_model, "MAX_OUTPUTS", 5 * len(ner.tokens.head.outputs))
    assert ner.predict(docs) == whole
    assert [len(part) for part in ner.tokens.slices(docs)] == [3, 3, 3]
    monkeypatch.setattr(token_model, "MAX_OUTPUTS", 1)  # a document is read whole
    assert ner.predict(docs) == whole
    sizes = [len(part) for part in ner.tokens.slices(docs)]
    assert sum(sizes) == len(docs) and max(sizes) <= 2


def test_a_damaged_label_encoder_or_one_of_another_format_is_refused(shipped, tmp_path):
    path = shutil.copytree(shipped, tmp_path / "copy") / FILE
    with safetensors.safe_open(path, "pt") as file:
        known = file.metadata()
    tensors = load_file(path)
    name = min(tensors)
    for weights, metadata, message in (
        ({**tensors, name: tensors[name] + 1}, known, "L221.*checksum"),
        (tensors, {**known, "format": "2"}, "L221.*format 2"),
    ):
        save_file(weights, path, metadata)
        with pytest.raises(ValueError, match=message):
            LabelEncoder(str(path.parent))(["ship"])


def test_a_label_encoder_of_another_encoder_is_refused(shipped, tmp_path):
    folder = shutil.copytree(shipped, tmp_path / "copy")
    tok2vec = spacy.load(folder).get_pipe("tok2vec")
    encoder_of(tok2vec.model).encoder.get_input_embeddings().weight.data.normal_()
    tok2vec.to_disk(folder / "tok2vec")
    with pytest.raises(ValueError, match=r"L221.*other word embeddings"):
        LabelEncoder(str(folder))(["ship"])


@pytest.fixture
def in_int8(shipped):
    return use_int8(spacy.load(shipped))


def rows_of(nlp, *texts):
    return nlp.get_pipe("tok2vec").model.predict([*map(nlp.make_doc, texts)])


def zeros_of(model) -> dict:
    """Averages of parameters as an optimizer keeps them, all of them zero."""
    shim = model.shims[0]
    return {(shim.id, n): p.detach().numpy() * 0 for n, p in shim.module.named_parameters()}


def test_int8_is_near_full_precision_and_is_saved(shipped, in_int8, tmp_path):
    texts = ("Jon saw the Fram in Oslo", "", "Rome sent help")
    wanted, found = rows_of(spacy.load(shipped), *texts), rows_of(in_int8, *texts)
    assert 0 < max(abs(a - b).max() for a, b in zip(wanted, found, strict=True) if len(a)) < 0.1
    shim = in_int8.get_pipe("tok2vec").model.shims[0]
    kinds = {type(layer).__module__ for layer in shim.short_encoder().modules()}
    assert any("int8" in kind for kind in kinds) and not shim.module.training
    in_int8.to_disk(tmp_path / "own")
    for again in (spacy.load(tmp_path / "own"), pickle.loads(pickle.dumps(in_int8))):
        for own, row in zip(rows_of(again, *texts), found, strict=True):
            assert own == pytest.approx(row, abs=1e-5)
    with pytest.raises(ValueError, match="L860"):
        use_int8(spacy.blank("en"))


def test_int8_follows_the_weights_and_training_is_in_full_precision(shipped, in_int8):
    text = "Jon saw the Fram in Oslo"
    model = in_int8.get_pipe("tok2vec").model
    plain = spacy.load(shipped).get_pipe("tok2vec").model
    [before] = rows_of(in_int8, text)
    docs = [in_int8.make_doc(text)]
    torch.manual_seed(0)  # of the dropout
    expected, _ = plain.begin_update(docs)
    torch.manual_seed(0)
    own, backprop = model.begin_update(docs)
    assert own[0] == pytest.approx(expected[0], abs=1e-6)
    backprop([np.arange(own[0].size, dtype="float32").reshape(own[0].shape) % 7])
    model.finish_update(
        registry.resolve({"a": {"@optimizers": "longtail.Adam.v1", "learn_rate": 0.05}})["a"]
    )
    [after] = rows_of(in_int8, text)
    assert abs(after - before).max() > 0.1
    with suppress(KeyError), model.use_params(zeros_of(model)):  # averages, and an error under them
        assert not rows_of(in_int8, text)[0].any()
        raise KeyError
    assert rows_of(in_int8, text)[0] == pytest.approx(after, abs=1e-6)


class Stopping:
    """Optimizer that changes weights of which int8 has a copy, and then raises an error."""

    def __call__(self, key, weights, gradient, *, lr_scale=1.0):
        if "intermediate" in key[1]:
            raise KeyError(key)
        return (50 * weights if "attention.output.dense" in key[1] else weights), gradient


def test_int8_is_of_the_weights_after_a_step_that_failed(in_int8):
    text = "Jon saw the Fram in Oslo"
    model = in_int8.get_pipe("tok2vec").model
    rows, backprop = model.begin_update([in_int8.make_doc(text)])
    [before] = rows_of(in_int8, text)  # as an annotating component predicts within a step
    backprop([np.ones_like(rows[0])])
    with pytest.raises(KeyError):
        model.finish_update(Stopping())
    assert abs(rows_of(in_int8, text)[0] - before).max() > 0.1


def test_training_in_bfloat16_has_nearly_the_same_gradient(bert, monkeypatch):
    gradients = []
    for is_able in (True, False):
        monkeypatch.setattr(torch_transformer, "has_bf16", lambda is_able=is_able: is_able)
        model = loaded(bert)
        torch.manual_seed(0)  # of the dropout
        rows, backprop = model.begin_update(docs_of("Rome sent help to Oslo"))
        assert rows[0].dtype == np.float32
        backprop([np.sin(np.arange(rows[0].size, dtype="float32")).reshape(rows[0].shape)])
        own = [p.grad for p in encoder_of(model).parameters() if p.grad is not None]
        gradients.append(torch.cat([g.reshape(-1) for g in own]).numpy())
    lower, full = gradients
    assert np.corrcoef(lower, full)[0, 1] > 0.999 and abs(lower - full).max() > 0


@pytest.mark.parametrize("kind", [int8.Int8Linear, int8.ReducedLinear])
@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
def test_a_linear_layer_in_int8_is_near_the_layer(shape, kind):
    if kind is int8.Int8Linear and not int8.can(*int8.ADDS_EIGHT):
        pytest.skip("this CPU cannot add up products of 8 bits")
    torch.manual_seed(0)
    layer = torch.nn.Linear(*shape)
    rows = torch.randn(4, 3, shape[0])
    if shape[0] > shape[1]:
        rows = torch.nn.functional.gelu(rows)
    rows[0, 0] *= 100  # one word with far greater values, as transformers have them
    rows[1, 0] = 0
    short = kind(layer.weight, layer.bias)
    with torch.no_grad():
        outputs, error = short(rows), (short(rows) - layer(rows)).abs()
    assert 0 < error[0, 0].max() < 5 and outputs.shape == layer(rows).shape
    assert 0 < torch.cat([error[0, 1:].ravel(), error[1:].ravel()]).max() < 0.05
    assert all(torch.equal(short(row[None]), out[None]) for row, out in zip(rows, outputs, strict=True))
    without = kind(layer.weight, None)
    assert torch.allclose(without(rows) + layer.bias, outputs, atol=1e-5)
    ones = kind(torch.ones(64, 64), None)  # sums of the largest products
    assert torch.allclose(ones(torch.full((2, 64), 3.0)), torch.tensor(192.0), rtol=0.01)
    assert torch.allclose(ones(torch.full((2, 64), -3.0)), torch.tensor(-192.0), rtol=0.01)
    assert not ones(torch.zeros(2, 64)).any()


SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("Bert", {}),
        ("Roberta", {}),
        ("XLMRoberta", {}),
        ("Bert", {"position_embedding_type": "relative_key"}),
        ("Bert", {"is_decoder": True}),  # which does not see the words behind
    ],
)
def test_bert_in_int8_reads_as_its_layers_do(kind, settings, monkeypatch):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=90, initializer_range=0.2, **SMALL, **settings
    )
    encoder = getattr(transformers, f"{kind}Model")(config).eval()
    ids = torch.randint(2, 90, (3, 7))
    mask = (torch.arange(7) < torch.tensor([[7], [4], [1]])).long()
    words = encoder.get_input_embeddings()
    own = int8.in_int8(encoder, words)
    monkeypatch.setattr(int8, "LIKE_BERT", set())
    others = int8.in_int8(encoder, words)
    assert isinstance(own, int8.Int8Bert) != bool(settings) and type(others) is type(encoder)
    assert words in own.modules() and others.get_input_embeddings() is words
    with torch.no_grad():
        full, wanted, short = (
            m(input_ids=ids, attention_mask=mask)[0][mask.bool()] for m in (encoder, others, own)
        )
    assert torch.allclose(short, wanted, atol=0.05) and 0 < (short - full).abs().max() < 0.2
    right = int8.Int8Linear if int8.can(*int8.ADDS_EIGHT) else int8.ReducedLinear
    for short_form_of_it in (own, others):
        layers = [part for part in short_form_of_it.modules() if isinstance(part, int8.Int8Linear)]
        assert layers and {*map(type, layers)} == {right}
