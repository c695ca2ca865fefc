"""Runs averaged into one network: the mean of their weights, as fast as one; what is refused."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import fix_random_seed

from spacy_longtail.corpus.names import write_names
from spacy_longtail.layers.listeners import nodes_of
from spacy_longtail.training.averaging import average, average_weights
from spacy_longtail.training.provenance import read_run
from tests.util import (
    HEADS,
    TOKEN_MODEL,
    examples,
    from_bytes,
    one_pipe,
    params,
    reloaded,
    run_app,
    same_weights,
    tiny_bert,
    train,
    train_further,
)


def pipeline(**settings):
    nlp = one_pipe(**{"head": "crf", "model": TOKEN_MODEL, **settings})
    nlp.add_pipe("sentencizer", first=True)
    return nlp


def begun(nlp, seed=0):
    train(nlp, 0, seed)
    return nlp


def runs(start, n=2, steps=6):
    """Pipelines that went on from the same weights, each with a seed of its own."""
    result = []
    for seed in range(n):
        nlp = from_bytes(start)
        fix_random_seed(seed)
        optimizer = nlp.resume_training()
        for _ in range(steps):
            nlp.update(examples(nlp), sgd=optimizer, drop=0.3)
        result.append(nlp)
    return result


def weights(nlp):
    return params(nlp.get_pipe("ner"))


@pytest.fixture(scope="module")
def start():
    return begun(pipeline())


def test_torch_modules_take_part(tmp_path):
    pytest.importorskip("spacy_transformers")
    bert = tiny_bert(tmp_path / "bert")
    nlp = one_pipe("transformer", "transformer", model={"name": str(bert)})
    listener = {"@architectures": "spacy-transformers.TransformerListener.v1", "grad_factor": 1.0}
    listener["pooling"] = {"@layers": "reduce_mean.v1"}
    model = {**TOKEN_MODEL, "tok2vec": listener}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
    other = from_bytes(begun(nlp))

    def module_of(own):
        (shim,) = (s for node in own.get_pipe("transformer").model.walk() for s in node.shims)
        return shim._model

    def tensors(own):
        state = module_of(own).state_dict()
        return {k: v.clone() for k, v in state.items() if v.is_floating_point()}

    train_further(other, steps=3)  # the output layer begins with zeros, and passes nothing on
    for own in (nlp, other):
        attention = module_of(own).encoder.layer[0].attention.self
        attention.query.weight = attention.key.weight  # tied: one tensor under two names
    a, b = tensors(nlp), tensors(other)
    assert any((a[key] - b[key]).abs().max() > 1e-6 for key in a)
    average_weights([nlp, other], ["a", "b"])
    for key, mean in tensors(nlp).items():
        assert mean.numpy() == pytest.approx(((a[key] + b[key]) / 2).numpy(), abs=1e-6)


WIDE = {**TOKEN_MODEL, "tok2vec": {**TOKEN_MODEL["tok2vec"], "width": 32}}
UNFIT = {
    "an ensemble": lambda nlp: average([nlp, from_bytes(nlp)], ["a", "b"]),
    "thresholds of its own": lambda nlp: nlp.get_pipe("ner").cfg.update(thresholds={"PER": 0.9}),
    "another tokenizer": lambda nlp: nlp.tokenizer.add_special_case("Fram", [{"ORTH": "Fram"}]),
    "fewer components": lambda nlp: nlp.remove_pipe("sentencizer"),
    "other initial weights": lambda _: begun(pipeline(), 5),
    "another head": lambda _: begun(pipeline(head="softmax"), 5),
    "another width": lambda _: begun(pipeline(model=WIDE), 5),
}


@pytest.mark.parametrize("change", UNFIT.values(), ids=UNFIT)
def test_runs_that_do_not_fit_are_refused(change, start):
    nlp, run = runs(start)
    changed = change(run)
    other = changed if isinstance(changed, Language) else run
    before = weights(nlp)
    with pytest.raises(ValueError, match="L514"):
        average_weights([nlp, other], ["a", "b"])
    assert same_weights(weights(nlp), before)


def test_runs_with_other_lists_of_names_are_refused(tmp_path):
    """Each type of the lists has rows of a matrix, in the order of the lists."""
    names = {"GEO": [["Oslo"]], "PER": [["Maria"]]}
    write_names(tmp_path / "names.jsonl", names)
    listed = {"@architectures": "longtail.ListedNames.v1", "names": str(tmp_path / "names.jsonl")}
    model = {**TOKEN_MODEL, "tok2vec": {**listed, "tok2vec": TOKEN_MODEL["tok2vec"]}}
    nlp = begun(pipeline(model=model))
    other = from_bytes(nlp)
    average_weights([nlp, other], ["a", "b"])
    (matcher,) = (n.attrs["matcher"] for n in nodes_of(other) if "matcher" in n.attrs)
    matcher.names = dict(reversed(names.items()))
    with pytest.raises(ValueError, match="L514"):
        average_weights([nlp, other], ["a", "b"])


def test_seeds_and_sources_are_those_of_all(start):
    nlp, other = runs(start)
    for seed, own in enumerate((nlp, other)):
        own.config["training"]["seed"] = seed
        own.meta["performance"] = {"ents_f": 0.9}
    other.meta["sources"] = [{"name": "diaries"}]
    average_weights([nlp, other], ["a", "b"])
    assert nlp.config["training"]["seed"] is None and not nlp.meta["performance"]
    assert nlp.meta["sources"] == [{"name": "diaries"}]


@pytest.mark.parametrize("head", ["softmax", "crf-biluo", "two_task-alternating"])
def test_every_kind_of_head(head):
    nlp, *others = runs(begun(pipeline(**{"head": "softmax", **HEADS[head]})), 3)
    apart, names = [weights(own) for own in (nlp, *others)], nlp.pipe_names
    average_weights([nlp, *others], ["a", "b", "c"])
    for mean, *several in zip(weights(nlp), *apart, strict=True):
        np.testing.assert_allclose(mean, np.mean(several, axis=0), atol=1e-6)
        assert mean.dtype == several[0].dtype and mean.shape == several[0].shape
    assert any(np.abs(a - b).max() > 1e-4 for a, b in zip(*apart[:2], strict=True))
    assert nlp.pipe_names == names
    for own, theirs in zip(others, apart[1:], strict=True):  # the others stay
        assert same_weights(weights(own), theirs)


def test_the_command(start, tmp_path):
    first, other = (reloaded(nlp, tmp_path / name) for name, nlp in zip("ab", runs(start), strict=True))
    run_app("ensemble", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "mean", "--weights")
    average_weights([first, other], ["a", "b"])
    for own, mean in zip(weights(spacy.load(tmp_path / "mean")), weights(first), strict=True):
        np.testing.assert_allclose(own, mean, atol=1e-6)
    assert read_run(tmp_path / "mean").command.endswith(" --weights")
