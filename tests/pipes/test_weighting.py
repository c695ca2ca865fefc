import warnings

import pytest

from tests.util import blank, examples, small_ner

WEIGHTED = {
    "@losses": "longtail.CrossEntropy.v1",
    "weights": {"@misc": "longtail.log_inverse_frequency.v1", "unit": "type"},
}


def initialize(reader):
    nlp = blank()
    nlp.config["corpora"]["train"]["@readers"] = reader
    nlp.add_pipe("longtail_ner", name="ner", config=small_ner(loss=WEIGHTED))
    pipe = nlp.get_pipe("ner")
    pipe.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: examples(nlp))


def test_correcting_the_imbalance_twice_warns():
    with pytest.warns(UserWarning, match="LW004"):
        initialize("longtail.ResampledCorpus.v1")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        initialize("spacy.Corpus.v1")
