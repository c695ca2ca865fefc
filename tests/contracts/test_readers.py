"""The reader contract over every published reader and policy, and what may wrap what."""

import pytest
from spacy import util
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.training.augment import create_lower_casing_augmenter
from spacy.util import registry

from spacy_longtail.readers import (
    ImbalancedCorpus,
    LowResourceCorpus,
    RelabelledCorpus,
    ResampledCorpus,
    UndersampledCorpus,
)
from spacy_longtail.readers.repeats import sC, sCR
from tests.contracts.check_reader import CHECKS, Fixed, pipeline, read, run
from tests.util import blank, examples

util.registry.readers.get_all()
POLICIES = [n for n in registry.misc.get_all() if hasattr(registry.misc.get(n), "fit")]
MAKERS = {
    "longtail.UndersampledCorpus.v1": {"": lambda corpus, seed: UndersampledCorpus(corpus)},
    "longtail.RelabelledCorpus.v1": {
        "keep": lambda corpus, seed: RelabelledCorpus(corpus, keep=["ART", "NAT"]),
        "drop": lambda corpus, seed: RelabelledCorpus(corpus, drop=["PER"]),
    },
    "longtail.LowResourceCorpus.v1": {
        "sentences": lambda corpus, seed: LowResourceCorpus(corpus, n_sentences=9, seed=seed)
    },
    "longtail.ImbalancedCorpus.v1": {
        "": lambda corpus, seed: ImbalancedCorpus(corpus, 0.25, n_sentences=9, seed=seed)
    },
    "longtail.ResampledCorpus.v1": {
        name: lambda corpus, seed, n=name: ResampledCorpus(corpus, registry.misc.get(n)(), seed=seed)
        for name in ("longtail.sCR.v1", "longtail.RandomUndersampling.v1")
    }
    | {
        "joined": lambda corpus, seed: ResampledCorpus(corpus, sC(), join=2, seed=seed),
        "over others": lambda corpus, seed: ResampledCorpus(
            UndersampledCorpus(RelabelledCorpus(corpus, drop=["GEO"])), sCR(), seed=seed
        ),
    },
}
CASES = [
    pytest.param(make, id=f"{name.split('.')[1]}: {about}" if about else name.split(".")[1])
    for name, makers in MAKERS.items()
    for about, make in makers.items()
]


def test_every_published_reader_and_policy_is_checked():
    published = {n for n in registry.readers.get_all() if n.startswith("longtail.")}
    assert published - {"longtail.NamesCorpus.v1"} == set(MAKERS)  # that one wraps no corpus
    policies = {"sC", "sCR", "sCRD", "nsCRD", "RandomOversampling", "RandomUndersampling"}
    assert {n.split(".")[1] for n in POLICIES} == policies


@pytest.mark.filterwarnings("ignore:.*LW01.*")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("make", CASES)
def test_the_contract(make, check, tmp_path):
    run(check, make, tmp_path)


@pytest.mark.parametrize(
    "build",
    [
        lambda c: ResampledCorpus(ResampledCorpus(c, sC()), sCR()),
        lambda c: UndersampledCorpus(ResampledCorpus(c, sC())),
        lambda c: RelabelledCorpus(ResampledCorpus(c, sC()), keep=["PER"]),
        lambda c: ImbalancedCorpus(ResampledCorpus(c, sC()), 0.1, 5),
        lambda c: UndersampledCorpus(LowResourceCorpus(UndersampledCorpus(c), 5)),
        lambda c: RelabelledCorpus(UndersampledCorpus(c), keep=["PER"]),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(build):
    with pytest.raises(ValueError, match=r"L108.*(Resampled|Undersampled)Corpus"):
        build(Fixed([]))


def test_readers_that_count_wrap_any_undersampling():
    class Own(UndersampledCorpus):
        pass

    for reader in (UndersampledCorpus(Fixed([])), Own(Fixed([]))):
        assert ResampledCorpus(reader, sC()).corpus is reader


@pytest.mark.parametrize(
    "build",
    [
        lambda c: ResampledCorpus(c, sC()),
        lambda c: ResampledCorpus(RelabelledCorpus(c, keep=["PER"]), sC()),
        lambda c: LowResourceCorpus(c, 5),
        lambda c: ImbalancedCorpus(c, 0.1, 5),
    ],
)
def test_what_counts_refuses_an_augmented_corpus(build, tmp_path):
    DocBin(docs=[eg.reference for eg in examples(blank())]).to_disk(tmp_path / "a.spacy")
    augmented = Corpus(tmp_path, augmenter=create_lower_casing_augmenter(0.5))
    with pytest.raises(ValueError, match=r"L108.*augmenter"):
        build(augmented)
    build(Corpus(tmp_path))
    UndersampledCorpus(augmented)
    RelabelledCorpus(augmented, keep=["PER"])


PLAIN = {"@readers": "spacy.Corpus.v1", "path": "x"}
RESAMPLED = {
    "@readers": "longtail.ResampledCorpus.v1",
    "corpus": PLAIN,
    "repeats": {"@misc": "longtail.sCR.v1"},
}
LOWER = {"@augmenters": "spacy.lower_case.v1"}


@pytest.mark.parametrize(
    ("block", "found"),
    [
        (PLAIN, None),
        (None, None),
        (RESAMPLED, "longtail.ResampledCorpus.v1"),
        ({"@readers": "longtail.RelabelledCorpus.v1", "corpus": RESAMPLED}, "Resampled"),
        ({"@readers": "longtail.RelabelledCorpus.v1", "corpus": "${corpora.train}"}, "Resampled"),
        ({"@readers": "longtail.UndersampledCorpus.v1", "corpus": PLAIN}, "Undersampled"),
        ({**PLAIN, "augmenter": LOWER}, "the augmenter of spacy.Corpus.v1"),
    ],
)
def test_development_data_that_is_changed_is_refused(block, found):
    nlp = pipeline()
    nlp.config["corpora"] = {"dev": block or PLAIN, "train": RESAMPLED}
    nlp.config["training"]["dev_corpus"] = "corpora.dev" if block else None
    nlp.config = util.load_config_from_str(nlp.config.to_str(), interpolate=False)
    data = Fixed(examples(blank()))
    for reader in (RelabelledCorpus(data, keep=["PER"]), ResampledCorpus(data, sCR())):
        if found is None:
            assert read(reader, nlp)
        else:
            with pytest.raises(ValueError, match=f"L109.*'corpora.dev'.*{found}"):
                read(reader, nlp)
