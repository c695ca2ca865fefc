"""Several teachers as one: the mean of what they say of each token."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ints1d, Ragged

from ..corpus.examples import in_sentences, sentence_lengths
from ..errors import Errors
from ..heads import Decoding, Head, Scores, SoftmaxHead
from ..losses import CrossEntropy
from ..pipes.tagging import TokenTagger
from .teacher import NOT_ONE, only_tagger

AVERAGE = "longtail_average"  # in user_data: the mean of each token's tags, taken once
LEAST = 1e-30  # what is impossible for all, so that its logarithm is a number
FIX = "Name pipelines that differ in their seed alone, as one config trains them."
JUDGED = (
    "Name it as it was before `thresholds`: what was chosen on its own scores is not right for a mean."
)


class Lead(NamedTuple):
    """What the first pipeline reads with; the documents are its own."""

    model: Model[list[Doc], Scores]
    head: Head
    decoding: Decoding

    def marginals(self, docs: list[Doc]) -> Floats2d:
        lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
        outside = np.zeros(lengths.sum(), dtype="float32")
        return self.head.marginals(self.model.predict(docs), lengths, outside, self.decoding)


class Other(NamedTuple):
    """One of the other pipelines. It reads the tokens and sentences of the first."""

    nlp: Language  # without what would read entities, or sentences
    tagger: TokenTagger
    columns: Ints1d  # of its tags, in the order of the first's

    def marginals(self, docs: list[Doc]) -> Floats2d:
        with self.nlp.memory_zone():
            own = list(self.nlp.pipe(in_sentences(doc, self.nlp.vocab) for doc in docs))
            return self.tagger.marginals(own)[:, self.columns]


def average(
    nlp: Language, path: Path | str, others: Sequence[Language], paths: Sequence[Path | str]
) -> None:
    """Let the token NER of a pipeline read by the mean of the tag probabilities of several.

    Entities are the best legal tags by the mean, and their scores are its probabilities. The pipeline is
    not to be saved or trained then.

    nlp (Language): The first pipeline; it is changed. path (Path | str): Of it.
    others (Sequence[Language]): The others; they are changed. paths (Sequence[Path | str]): Of them.
    RAISES (ValueError): L514.
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """
    tagger = _member(nlp, path)
    members: list[Lead | Other] = [Lead(tagger.model, tagger.head, tagger.decoding)]
    for other, place in zip(others, paths, strict=True):
        own = _member(other, place)
        if set(own.codec.tags) != set(tagger.codec.tags):
            found, known = (f"{t.codec.scheme} of {', '.join(t.codec.labels)}" for t in (own, tagger))
            problem = f"its tags are {found}, those of {path} {known}"
            raise ValueError(Errors.L514.format(path=place, problem=problem, fix=FIX))
        unread = ("doc.ents", "token.is_sent_start")
        assigned = {name: other.get_pipe_meta(name).assigns for name in other.pipe_names}
        other.select_pipes(disable=[n for n, a in assigned.items() if any(x in a for x in unread)])
        columns = np.array([own.codec.tags.index(tag) for tag in tagger.codec.tags])
        members.append(Other(other, own, columns))
    tagger.model = Model("average", forward, attrs={"members": members})
    tagger.head = SoftmaxHead(tagger.codec, CrossEntropy())


def forward(model: Model[list[Doc], Ragged], docs: list[Doc], is_train: bool) -> tuple[Ragged, None]:
    """The logarithms of the mean probabilities, which a document keeps once they are taken."""
    new = [doc for doc in docs if AVERAGE not in doc.user_data]
    if any(map(len, new)):
        p = np.mean([own.marginals(new) for own in model.attrs["members"]], axis=0)
        ends = np.cumsum([len(doc) for doc in new])
        for doc, rows in zip(new, np.split(p, ends[:-1]), strict=True):
            doc.user_data[AVERAGE] = rows
    lengths = model.ops.asarray1i([len(doc) for doc in docs])
    found = np.concatenate([doc.user_data[AVERAGE] for doc in docs if len(doc)])
    return Ragged(model.ops.asarray2f(np.log(np.maximum(found, LEAST))), lengths), None


def _member(nlp: Language, path: Path | str) -> TokenTagger:
    """The token NER of a pipeline. RAISES (ValueError): L514."""
    tagger = only_tagger(nlp)
    if tagger is None:
        problem = f"{', '.join(nlp.pipe_names)} {NOT_ONE}"
        raise ValueError(Errors.L514.format(path=path, problem=problem, fix=FIX))
    judged = [name for name in ("thresholds", "calibration") if tagger.cfg.get(name)]
    if judged:
        problem = f"{tagger.name!r} has {' and '.join(judged)} of its own"
        raise ValueError(Errors.L514.format(path=path, problem=problem, fix=JUDGED))
    return tagger
