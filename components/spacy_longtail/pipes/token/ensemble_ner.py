"""`longtail_ensemble_ner`: trained token NERs as one, by the mean of their tag probabilities."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NoReturn

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Ragged

from ...chains.tags import TagCodec
from ...errors import Errors
from ...heads import HEADS, Head
from ...heads.outputs import forget_outputs
from ...losses import CrossEntropy
from ...sentences import sentence_lengths
from ..base import factory
from ..scores.thresholding import check_judging
from .tagging import TokenTagger
from .type_table import TypeTable

WHO = "longtail_ensemble_ner"

LEAST = 1e-30  # what is impossible for all, so that its logarithm is a number


def forward(model: Model[list[Doc], Ragged], docs: list[Doc], is_train: bool) -> tuple[Ragged, None]:
    """The logarithm of the mean of the members' tag probabilities. It is not trained.

    Its attr "members" has, for each layer, the head that was trained over it and the columns of its
    tags in the order of the ensemble's, (n_tags,).
    """
    lengths = np.concatenate([sentence_lengths(doc) for doc in docs])
    outside = np.zeros(lengths.sum(), dtype="float32")
    members = [(layer, *rest) for layer, rest in zip(model.layers, model.attrs["members"], strict=True)]
    rows = [head.marginals(layer.predict(docs), lengths, outside)[:, at] for layer, head, at in members]
    p = np.mean(rows, axis=0)
    n_tokens = model.ops.asarray1i([len(doc) for doc in docs])
    return Ragged(model.ops.asarray2f(np.log(np.maximum(p, LEAST))), n_tokens), None


class EnsembleNER(TokenTagger):
    """Several trained token NERs as one, by the command `ensemble`: not trained any further.

    Entity score: the mean probability of its tags. Weights and types come from `compose`, or from
    what is saved; a model's probabilities are those of its own pipe.

    members (Dict[str, Dict]): By any name: `head`, "softmax" or "crf", and `model` with an encoder.
    scheme (str): Tags of all of them: "BIO" or "BILUO".
    scores_key, thresholds, abstain_key: As for longtail_ner.
    write_probabilities (bool): As for longtail_token_ner.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """

    required = ("types", "members", "scheme")

    def __init__(
        self,
        nlp: Language,
        name: str,
        members: dict[str, dict],
        scheme: Literal["BIO", "BILUO"] = "BIO",
        scores_key: str | None = None,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        write_probabilities: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        self._heads = {name: members[name]["head"] for name in sorted(members)}  # as a config has them
        models = [HEADS[head].attach(members[name]["model"]) for name, head in self._heads.items()]
        super().__init__(
            nlp,
            Model("mean_of_members", forward, layers=models, attrs={"members": ()}),
            name,
            loss=CrossEntropy(),
            scorer=scorer,
            head="softmax",
            members={member: {"types": []} for member in self._heads},
            scheme=scheme,
            write_probabilities=write_probabilities,
            **check_judging(thresholds, abstain_key, scores_key, WHO),
        )

    def _build_head(self) -> None:
        super()._build_head()
        members = self.model.attrs["members"] = []
        for name, head in self._heads.items():
            codec = TagCodec(tuple(self.cfg["members"][name]["types"]), self.cfg["scheme"])
            columns = np.array([codec.tags.index(tag) for tag in self.codec.tags])
            members.append((HEADS[head](codec, CrossEntropy()), columns))

    def _classifiers(self) -> list[tuple[Model, Head]]:
        heads = [head for head, _ in self.model.attrs["members"]]
        return list(zip(self.model.layers, heads, strict=True))

    def compose(self, types: Iterable[str], weights: Mapping[str, TokenTagger]) -> None:
        """Take over what was trained."""
        for name, tagger in weights.items():
            self.cfg["members"][name] = {"types": list(tagger.labels)}
        self._use(TypeTable(tuple(types)))
        for (model, _), name in zip(self._classifiers(), self._heads, strict=True):
            forget_outputs(model)
            model.from_bytes(weights[name].model.to_bytes())

    def add_label(self, label: str, description: str | None = None) -> int:
        """Refused for a type that its members have not learnt."""
        return 0 if label in self.labels else self._refuse(f"learn the type {label!r}")

    def initialize(self, get_examples: Callable, **settings: Any) -> NoReturn:
        """Refused: its members were trained apart."""
        self._refuse("be initialized")

    def update(self, *args: Any, **settings: Any) -> NoReturn:
        """Refused: its members were trained apart."""
        self._refuse("be trained")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(Errors.L303.format(who=self.name, what=what))


make_ensemble_ner = factory(WHO, "ner")(EnsembleNER)
