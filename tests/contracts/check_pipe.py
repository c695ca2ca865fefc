"""What every pipe promises, as checks of one pipe each.

A `Case` says how to add the pipe to a blank pipeline. A pipe of one's own can be put through the
checks as well: `for check in checks_of(case): run(check, case, tmp_path, monkeypatch)`.
"""

import copy
import inspect
import json
import multiprocessing
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from tests.util import (
    SENTENCES,
    SMALL,
    blank,
    entity_offsets,
    examples,
    forbid_pickle,
    from_bytes,
    params,
    parse,
    reloaded,
    same_weights,
    train,
    two_sentences,
    words,
)

OWN, OTHER = "own", "other"  # names of the pipe that is checked, and of one that trains beside it
N_STEPS = 40
CODE = re.compile(r"\[L\d{3}\] .*'?(own|longtail_\w+)'?")  # a refusal says who refuses
SENTER = {"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": SMALL}}
CORPUS = {"@readers": "spacy.Corpus.v1", "gold_preproc": False, "max_length": 0, "limit": 0}
CORPUS["augmenter"] = None
TEXTS = ("", " ", "\n\n", "Maria", "Maria \n Berg", "[SEP]", "word " * 1000, "Fram " * 700)


class Case(NamedTuple):
    factory: str
    required: Mapping[str, Any] = {}  # the settings that have no default
    small: Mapping[str, Any] = {}  # settings of a pipe that trains in a second
    before: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()  # name, factory, settings of its needs
    learns: bool = True  # else it is not trained itself, and what stands before it is
    made: Callable[[], Language] | None = None  # of what trained pipelines are put together to
    toys: Mapping[str, Any] = {}  # settings whose default needs more than the toy corpus
    adds_labels: bool = True  # else a type that is added after training is refused


class Trained(NamedTuple):
    nlp: Language  # of all checks: they change copies alone
    history: list[dict[str, float]]


def given_to(case: Case, **settings: Any) -> dict[str, Any]:
    """The settings of a case; what takes time to make is a function."""
    given = {**case.required, **case.toys, **case.small, **settings}
    return {k: v() if callable(v) else copy.deepcopy(v) for k, v in given.items()}


def build(case: Case, other: bool = False, **settings: Any) -> Language:
    nlp = blank()
    if other:
        nlp.add_pipe("senter", name=OTHER, config=SENTER)
    for name, factory, config in case.before:
        nlp.add_pipe(factory, name=name, config=copy.deepcopy(dict(config)))
    nlp.add_pipe(case.factory, name=OWN, config=given_to(case, **settings))
    return nlp


_TRAINED: dict[str, Trained] = {}


def trained(case: Case) -> Trained:
    """The trained pipeline of a case, trained once."""
    key = repr(case)
    if key not in _TRAINED and case.made:
        _TRAINED[key] = Trained(case.made(), [])
    if key not in _TRAINED:
        nlp = build(case)
        _TRAINED[key] = Trained(nlp, train(nlp, N_STEPS, drop=0.0))
    return _TRAINED[key]


def copy_of(nlp: Language) -> Language:
    return pickle.loads(pickle.dumps(nlp))


def documents(nlp: Language) -> list[Doc]:
    return [*(words(nlp, text) for text in SENTENCES), two_sentences(nlp).predicted]


def shown(doc: Doc) -> tuple[list, dict, list[float]]:
    """What pipes write: entities, spans by key, and the spans' scores."""
    spans = {key: [(s.start, s.end, s.label_) for s in group] for key, group in doc.spans.items()}
    scores = [score for _, group in sorted(doc.spans.items()) for score in group.attrs.get("scores", ())]
    return entity_offsets(doc), spans, scores


def assert_scored(doc: Doc) -> None:
    """Each entity has its score."""
    if "entity_scores" in doc.spans:
        group = doc.spans["entity_scores"]
        assert list(group) == list(doc.ents) and len(group.attrs["scores"]) == len(group)
        assert all(0 < score <= 1 for score in group.attrs["scores"])
        for score, own in zip(group.attrs["scores"], group.attrs["token_scores"], strict=True):
            assert not own or score == pytest.approx(np.mean(own))


def predictions(nlp: Language, **settings: Any) -> list:
    return [shown(doc) for doc in nlp.pipe(documents(nlp), **settings)]


def assert_same(found: list, expected: list, tolerance: float = 1e-5) -> None:
    assert len(found) == len(expected)
    for (ents, spans, scores), (own_ents, own_spans, own_scores) in zip(found, expected, strict=True):
        assert (ents, spans) == (own_ents, own_spans)
        assert scores == pytest.approx(own_scores, abs=tolerance)


def rounded(cfg: dict[str, Any]) -> Any:
    """Settings and state as a file keeps them: lists for tuples, seven digits of a number."""
    text = json.dumps(cfg, default=str)
    return json.loads(text, parse_float=lambda number: f"{float(number):.6e}")


def fresh(data: list[Example]) -> list[Example]:
    return [Example(eg.predicted.copy(), eg.reference) for eg in data]


def learn(nlp: Language, data: list[Example], sgd: Any = None, **settings: Any) -> dict[str, float]:
    sgd = sgd or nlp.resume_training()
    sgd.learn_rate = 0.01
    return nlp.update(fresh(data), sgd=sgd, losses={}, **settings)


def refused(pipe: Any, action: Callable[[], None]) -> bool:
    """Whether the action is refused: then with a code, by name, and with nothing changed."""
    labels, weights = pipe.labels, params(pipe)
    try:
        action()
    except ValueError as error:
        said = str(error)
    else:
        return False
    assert CODE.match(said), said
    assert pipe.labels == labels and same_weights(params(pipe), weights)
    return True


class Apart:
    """A component that lets another pipeline read a document's words, and keeps what that shows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nlp: Language | None = None

    def __call__(self, doc: Doc) -> Doc:
        own = Doc(self.nlp.vocab, words=[token.text for token in doc])
        doc.user_data[self.name] = json.dumps(shown(self.nlp(own)))
        return doc


@Language.factory("pipeline_apart")
def make_apart(nlp: Language, name: str) -> Apart:
    return Apart(name)


@contextmanager
def start_method(method: str) -> Iterator[None]:
    before = multiprocessing.get_start_method()
    multiprocessing.set_start_method(method, force=True)
    try:
        yield
    finally:
        multiprocessing.set_start_method(before, force=True)


def assert_same_when_spawned(cases: Mapping[str, Case], method: str = "spawn") -> None:
    """All in one pair of processes: they take seconds to start."""
    nlp = blank()
    for name, case in cases.items():
        nlp.add_pipe("pipeline_apart", name=name).nlp = trained(case).nlp
    expected = [doc.user_data for doc in nlp.pipe(documents(nlp))]
    with start_method(method):
        found = [doc.user_data for doc in nlp.pipe(documents(nlp), n_process=2, batch_size=3)]
    for name in cases:
        seen, own = ([json.loads(data[name]) for data in docs] for docs in (found, expected))
        assert any(any(shown) for shown in own)
        assert_same(seen, own)


def check_defaults_train_and_predict(case: Case, tmp_path) -> None:
    nlp = build(case._replace(small={}))
    if "counts_corpus" in inspect.signature(nlp.get_pipe(OWN).initialize).parameters:
        DocBin(docs=[eg.reference for eg in examples(nlp)]).to_disk(tmp_path / "train.spacy")
        reader = {**CORPUS, "path": str(tmp_path / "train.spacy")}
        nlp.config["initialize"]["components"][OWN] = {"counts_corpus": reader}
    nlp.initialize(lambda: examples(nlp))
    losses = learn(nlp, examples(nlp))
    assert np.isfinite(losses[OWN]) and losses[OWN] > 0
    predictions(nlp)


def check_it_learns_what_it_is_shown(case: Case) -> None:
    nlp, history = trained(case)
    losses = [step[OWN] for step in history]
    assert all(isinstance(loss, float | np.floating) and np.isfinite(loss) for loss in losses)
    assert losses[-1] < 0.5 * losses[0]
    weights = nlp.get_pipe_meta(OWN).default_score_weights
    assert nlp.evaluate(examples(nlp))[next(name for name in weights if name.endswith("_f"))] > 0.9
    assert nlp.get_pipe(OWN).labels
    for doc in nlp.pipe(documents(nlp)):
        assert_scored(doc)
    assert [shown(doc) for doc in nlp.pipe(documents(nlp), disable=[OWN])] != predictions(nlp)


def check_empty_and_whitespace_documents(case: Case) -> None:
    nlp = trained(case).nlp
    words_of = [[token.text for token in doc] for doc in documents(nlp)]
    texts = [*TEXTS, *(gap.join(["", *own, ""]) for gap in (" \n ", "  ") for own in words_of)]
    expected = [shown(nlp(text)) for text in texts]
    docs = list(nlp.pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert_same([shown(doc) for doc in docs], expected)
    assert list(nlp.pipe([])) == [] and nlp.get_pipe(OWN).predict([]) is not None
    ends_on_space = isinstance(nlp.get_pipe(OWN), EntityRecognizer)  # as spaCy's parser has it
    for doc in docs:
        assert_scored(doc)
    for ent in (ent for doc in docs for ent in doc.ents if ent.label_ in nlp.get_pipe(OWN).labels):
        assert not ent[0].is_space and (ends_on_space or not ent[-1].is_space)


def check_a_memory_zone_changes_nothing(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    texts = [*TEXTS, "Zyzzyva met Qwortle ."]
    expected = [shown(doc) for doc in nlp.pipe(texts)]
    for _ in range(2):  # the second zone finds the words of the first one gone
        with nlp.memory_zone():
            found = [shown(doc) for doc in nlp.pipe([*texts, "Xylphor left ."])]
        assert_same(found[:-1], expected)
        assert "Xylphor" not in nlp.vocab.strings


def check_documents_without_words_or_annotation_teach_nothing(case: Case) -> None:
    again = copy_of(trained(case).nlp)
    pipe, optimizer = again.get_pipe(OWN), again.resume_training()
    weights = params(pipe)
    for data in ([Example(again.make_doc(text), again.make_doc(text)) for text in ("", "")], []):
        assert pipe.update(data, sgd=optimizer) == {OWN: 0.0}
    assert same_weights(params(pipe), weights)
    bare = [Example(doc.copy(), doc) for doc in map(again.make_doc, ("Maria left .", "It rained ."))]
    assert learn(again, bare)[OWN] == 0.0
    for doc in map(again.make_doc, TEXTS):
        doc.set_ents([])
        assert np.isfinite(learn(again, [Example(doc.copy(), doc), *examples(again)])[OWN])


def check_initialisation_with_empty_documents(case: Case) -> None:
    nlp = build(case)
    odd = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in ("", " ")]
    optimizer = nlp.initialize(lambda: [*fresh(odd), *examples(nlp)])
    assert np.isfinite(learn(nlp, [*odd, *examples(nlp)], optimizer)[OWN])


def check_gold_that_does_not_align_is_used_and_not_changed(case: Case) -> None:
    """Tokens that were cut differently are learnt from as far as they align, and harm nothing."""
    nlp = copy_of(trained(case).nlp)
    reference = parse(nlp, "[Jon Berg|PER] saw [Storm Ida|NAT] and [the Fram|ART] .")
    merged = Doc(nlp.vocab, words=["Jon", "Berg", "saw", "Storm", "Ida and", "the", "Fram."])
    parts = ["J", "on", "Berg", "saw", "Sto", "rm", "Ida", "and", "the", "Fram", "."]
    split = Doc(nlp.vocab, words=parts, spaces=[i not in (0, 4, 9) for i in range(11)])
    for predicted in (merged, split):
        eg = Example(predicted, reference)
        assert np.isfinite(learn(nlp, [eg])[OWN])
        before = eg.reference.to_bytes(), eg.predicted.to_bytes()
        nlp.get_pipe(OWN).update([eg], sgd=nlp.resume_training())
        assert (eg.reference.to_bytes(), eg.predicted.to_bytes()) == before
    labels = nlp.get_pipe(OWN).labels
    for doc in nlp.pipe([merged.copy(), split.copy()]):
        assert {ent.label_ for ent in doc.ents} <= {*labels, "PER", "GEO", "ART", "NAT"}


def check_documents_do_not_depend_on_their_batch(case: Case) -> None:
    nlp = trained(case).nlp
    expected = [shown(nlp(doc)) for doc in documents(nlp)]
    for size in (2, 3, len(expected)):
        assert_same(predictions(nlp, batch_size=size), expected)
    assert_same([shown(doc) for doc in nlp.pipe(documents(nlp)[::-1], batch_size=4)][::-1], expected)


def check_entities_that_a_document_comes_with_stay(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    free = nlp(words(nlp, SENTENCES[0]))
    doc = words(nlp, SENTENCES[0])
    doc.set_ents([Span(doc, 0, 1, label="GIVEN")], blocked=[doc[3:4]], default="missing")
    doc = nlp(doc)
    own = [place for place in entity_offsets(free) if place[0] > 0 and not place[0] <= 3 < place[1]]
    assert entity_offsets(doc) == [(0, 1, "GIVEN"), *own]
    assert doc[3].ent_iob_ == "B" and not doc[3].ent_type_  # still blocked
    if "entity_scores" in doc.spans:
        assert [(s.start, s.end, s.label_) for s in doc.spans["entity_scores"]] == own


def check_a_document_that_is_read_again_stays_as_it_is(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    if hasattr(nlp.get_pipe(OWN), "candidates"):
        nlp.get_pipe(OWN).cfg["calibration"] = {"*": [1.0, -0.5]}  # scores are calibrated once
    for doc in documents(nlp):
        expected = shown(nlp(doc))
        assert_same([shown(nlp(doc))], [expected])


def check_disk_bytes_and_pickle(case: Case, tmp_path) -> None:
    nlp = trained(case).nlp
    expected = predictions(nlp)
    nlp.to_disk(tmp_path)
    copies = [spacy.load(tmp_path), from_bytes(nlp), copy_of(nlp)]
    source = blank()
    for name in nlp.pipe_names:
        source.add_pipe(name, source=nlp)
    own = nlp.get_pipe(OWN)
    for again in (*copies, source):
        assert_same(predictions(again), expected)
        pipe = again.get_pipe(OWN)
        assert pipe.labels == own.labels and pipe.label_data == own.label_data
        assert getattr(pipe, "loss", None) == getattr(own, "loss", None)
        assert rounded(pipe.cfg) == rounded(own.cfg)
        assert same_weights(params(pipe), params(own))
    for again in copies:
        assert again.config == nlp.config
        assert again.get_pipe(OWN).to_bytes(exclude=["vocab"]) == own.to_bytes(exclude=["vocab"])


def check_loading_reads_no_pickle(case: Case, tmp_path, monkeypatch) -> None:
    """SECURITY.md: a pickle may hold any code."""
    trained(case).nlp.to_disk(tmp_path)
    forbid_pickle(monkeypatch)
    assert spacy.load(tmp_path)("Maria sailed.").text == "Maria sailed."


def check_the_same_in_forked_processes(case: Case) -> None:
    nlp = trained(case).nlp
    with start_method("fork"):
        found = predictions(nlp, n_process=2, batch_size=3)
    assert_same(found, predictions(nlp))


def check_rehearsal_works_or_passes_the_pipe_over(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    pipe = nlp.get_pipe(OWN)
    others = [name for name in nlp.pipe_names if name != OWN]
    for head_rate in (1.0, 10.0):
        pipe.head_rate = head_rate
        optimizer = nlp.resume_training()
        learn(nlp, examples(nlp)[:2], optimizer)  # away from what is to be kept
        before, data = params(pipe), fresh(examples(nlp))
        losses = nlp.rehearse(data, sgd=optimizer, losses={}, exclude=others)
        # spaCy's way, so that the others rehearse: one that cannot does nothing
        can_rehearse = isinstance(pipe, EntityRecognizer)
        assert same_weights(params(pipe), before) != can_rehearse
        assert not can_rehearse or np.isfinite(losses[OWN])


def check_a_frozen_pipe_keeps_its_weights(case: Case) -> None:
    nlp = build(case, other=True)
    optimizer = nlp.initialize(lambda: examples(nlp))
    own, other = nlp.get_pipe(OWN), nlp.get_pipe(OTHER)

    def moved(**settings: Any) -> tuple[bool, bool]:
        before = params(own), params(other)
        losses = learn(nlp, examples(nlp), optimizer, **settings)
        after = params(own), params(other)
        assert np.isfinite(list(losses.values())).all()
        return tuple(not same_weights(a, b) for a, b in zip(before, after, strict=True))

    assert moved() == (True, True)
    with nlp.select_pipes(disable=[OWN]):
        assert moved() == (False, True)
        alone = nlp.pipe(documents(nlp), disable=[n for n, *_ in case.before])
        assert not any(doc.ents for doc in alone)
    assert moved(exclude=[OWN]) == (False, True)  # as in frozen_components
    with nlp.select_pipes(disable=[OTHER]):
        assert moved() == (True, False)


def check_higher_thresholds_keep_less(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    pipe = nlp.get_pipe(OWN)
    if not hasattr(pipe, "candidates"):
        return
    pipe.cfg["scores_key"] = "entity_scores"
    kept = []
    for threshold in (0, 0.3, 0.6, 1):
        pipe.cfg["thresholds"] = dict.fromkeys(pipe.labels, threshold)
        kept.append([set(entity_offsets(doc)) for doc in nlp.pipe(documents(nlp))])
    if not case.before:  # what a secondary gives up makes room for the primary
        assert all(a >= b for low, high in pairwise(kept) for a, b in zip(low, high, strict=True))


def check_a_label_after_training_works_or_is_refused(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    pipe, optimizer = nlp.get_pipe(OWN), nlp.resume_training()
    learn(nlp, examples(nlp), optimizer)  # which knows the old size
    labels, expected = pipe.labels, [entity_offsets(doc) for doc in nlp.pipe(documents(nlp))]
    assert pipe.add_label("ART") == 0 and pipe.labels == labels
    # where entities are merged, a blocked token has the type ""
    for no_type in ("", " ", " ART", "O", 3, ["SHIP"]):
        with pytest.raises(ValueError, match=r"^\[L"):
            pipe.add_label(no_type)
    predicted = "SHIP" if "ART" in labels else labels[0]  # all types may be predicted as one

    def works() -> None:
        assert pipe.add_label("SHIP") == 1 and pipe.add_label("SHIP") == 0
        assert set(pipe.labels) == {*labels, predicted}

    is_refused = refused(pipe, works)
    assert is_refused != case.adds_labels
    finds_new_types = hasattr(pipe, "tokens") and pipe.tokens.is_described  # by their descriptions
    if not finds_new_types:
        assert [entity_offsets(doc) for doc in nlp.pipe(documents(nlp))] == expected
    assert_same(predictions(from_bytes(nlp)), predictions(nlp))
    if not is_refused:
        text = "The [Vega|SHIP] left ."
        new = [Example(words(nlp, text), parse(nlp, text)), *examples(nlp)[:2]]
        losses = [learn(nlp, new, optimizer)[OWN] for _ in range(60)]
        assert losses[-1] < losses[0]
        if not case.before:  # a gate that was not told of the type shows nobody its sentences
            assert entity_offsets(nlp(words(nlp, text))) == [(1, 2, predicted)]
        again = from_bytes(nlp)
        assert again.get_pipe(OWN).labels == pipe.labels
        assert_same(predictions(again), predictions(nlp))


def check_renamed_pipes_work(case: Case) -> None:
    nlp = copy_of(trained(case).nlp)
    expected = predictions(nlp)
    for name in nlp.pipe_names:
        nlp.rename_pipe(name, f"renamed_{name}")
    assert_same(predictions(nlp), expected)
    assert_same(predictions(from_bytes(nlp)), expected)
    other = Language(nlp.vocab)
    for name in nlp.pipe_names:  # the same objects, which get these names here, too
        other.add_pipe(name, source=nlp, name=f"other_{name}")
    assert_same(predictions(nlp), expected)
    if not case.made:
        nlp.initialize(lambda: examples(nlp))
        predictions(nlp)


def check_training_is_resumed(case: Case, tmp_path) -> None:
    nlp, history = trained(case)
    again = reloaded(nlp, tmp_path)
    before = params(again.get_pipe(OWN))
    assert learn(again, examples(again))[OWN] < 0.5 * history[0][OWN]  # it begins with what was learnt
    assert not same_weights(params(again.get_pipe(OWN)), before)


def check_a_seed_fixes_the_weights(case: Case) -> None:
    def weights(seed: int) -> list[np.ndarray]:
        nlp = build(case)
        train(nlp, 3, seed)
        return params(nlp.get_pipe(OWN))

    first = weights(1)
    assert same_weights(weights(1), first)
    assert not same_weights(weights(2), first)


# checks whose outcome depends on the factory, not on its settings: one case each is enough
OF_THE_FACTORY = (
    check_defaults_train_and_predict,
    check_a_memory_zone_changes_nothing,
    check_rehearsal_works_or_passes_the_pipe_over,
    check_renamed_pipes_work,
)
OF_TRAINING = (
    check_defaults_train_and_predict,
    check_it_learns_what_it_is_shown,
    check_documents_without_words_or_annotation_teach_nothing,
    check_initialisation_with_empty_documents,
    check_gold_that_does_not_align_is_used_and_not_changed,
    check_rehearsal_works_or_passes_the_pipe_over,
    check_a_frozen_pipe_keeps_its_weights,
    check_a_label_after_training_works_or_is_refused,
    check_training_is_resumed,
    check_a_seed_fixes_the_weights,
)
CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


def checks_of(case: Case) -> list[Callable]:
    """The checks that hold for a pipe: not those of training for one that does not learn."""
    return [check for check in CHECKS if case.learns or check not in OF_TRAINING]


def run(check: Callable, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a check with those fixtures that it takes."""
    given = {"tmp_path": tmp_path, "monkeypatch": monkeypatch}
    check(case, **{name: given[name] for name in inspect.signature(check).parameters if name in given})
