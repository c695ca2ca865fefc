"""`longtail_ensemble_ner`: trained token NERs as one, by the mean of their tag probabilities."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NoReturn

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, to_numpy
from thinc.types import Floats2d

from ...chains.tags import TagCodec
from ...errors import Errors
from ...heads import HEADS, Head, Scores
from ...heads.outputs import forget_outputs
from ...losses import CrossEntropy
from ...scorers import NER_SCORE_WEIGHTS
from ...types import Block
from ..scores.spans import ScoredSpan
from ..scores.thresholding import JUDGING, check_judging
from .ensemble_members import Member, MemberSettings, check_members, mean_model
from .tagging import TokenTagger

WHO = "longtail_ensemble_ner"

DEFAULTS: Block = {
    "scheme": "BIO",
    "scores_key": None,
    **JUDGING,
    "probabilities_key": None,
    "scorer": {"@scorers": "longtail.ner_scorer.v1"},
}


@Language.factory(
    WHO,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=DEFAULTS,
    default_score_weights=NER_SCORE_WEIGHTS,
)
def make_ensemble_ner(
    nlp: Language,
    name: str,
    members: dict[str, dict],
    scheme: Literal["BIO", "BILUO"],
    scores_key: str | None,
    thresholds: dict[str, float] | None,
    abstain_key: str | None,
    probabilities_key: str | None,
    scorer: Callable | None,
) -> "EnsembleNER":
    """Several trained token NERs as one, which the command `ensemble` makes: not trained any further.

    members (Dict[str, Dict]): A block for each, by any name: `head`, "softmax" or "crf", and `model`,
        with an encoder of its own.
    scheme (str): Tags of all of them: "BIO" or "BILUO".
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null for none.
    thresholds (Optional[Dict[str, float]]): Least score of an entity by type, others keep all; null is
        none. The command `thresholds` finds them.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold; null drops them.
    probabilities_key (Optional[str]): Key in Doc.user_data for the tag probabilities of each token, so
        that what counts by them (a posterior gate, distillation) need not compute them again; null keeps
        none.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """
    found = check_members(members, scheme, WHO)
    judging = check_judging(thresholds, abstain_key, scores_key, WHO)
    return EnsembleNER(
        nlp.vocab,
        name,
        found,
        scorer=scorer,
        scheme=scheme,
        scores_key=scores_key,
        probabilities_key=probabilities_key,
        **judging,
    )


class EnsembleNER(TokenTagger):
    """Labels tokens by the mean of its members' tag probabilities, over legal tag sequences.

    Entity score: the mean probability of its tags. Weights and types come from
    `compose`, or from what is saved; a model's probabilities are those of its own pipe.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        members: Mapping[str, MemberSettings],
        *,
        scorer: Callable | None,
        **settings: Any,
    ) -> None:
        self.members = {  # with what their heads add to the models
            own: given._replace(model=HEADS[given.head].attach(given.model))
            for own, given in members.items()
        }
        model = mean_model([given.model for given in self.members.values()])
        untrained: Block = {own: {"types": []} for own in self.members}
        super().__init__(
            vocab,
            model,
            name,
            loss=CrossEntropy(),
            scorer=scorer,
            head="softmax",
            members=untrained,
            **settings,
        )

    def _build_head(self) -> None:
        """The head that reads the mean, and those of the members, by their own types."""
        super()._build_head()
        rows = zip(self.cfg["members"].values(), self.members.values(), strict=True)
        self.model.attrs["members"] = [self._member(own, given) for own, given in rows]

    def _member(self, own: Block, given: MemberSettings) -> Member:
        codec = TagCodec(tuple(own["types"]), self.cfg["scheme"])
        columns = np.array([codec.tags.index(tag) for tag in self.codec.tags])
        return Member(HEADS[given.head](codec, CrossEntropy()), columns)

    def _read_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over the cfg that was saved."""
        if saved["members"].keys() != self.members.keys():
            names = {"saved": ", ".join(saved["members"]), "found": ", ".join(self.members)}
            raise ValueError(Errors.L305.format(who=self.name, **names))
        ordered = {name: saved["members"][name] for name in self.members}
        super()._read_cfg({**saved, "members": ordered}, exclude)

    def _classifiers(self) -> list[tuple[Model, Head]]:
        return [
            (model, own.head)
            for model, own in zip(self.model.layers, self.model.attrs["members"], strict=True)
        ]

    def compose(self, types: Iterable[str], weights: Mapping[str, TokenTagger]) -> None:
        """Take over what was trained.

        types (Iterable[str]): In the order of the ensemble's columns.
        weights (Mapping[str, TokenTagger]): The trained pipe of each member, whose model is its own.
        """
        self.cfg["types"] = list(types)
        for name, tagger in weights.items():
            self.cfg["members"][name] = {"types": list(tagger.cfg["types"])}
        self._build_head()
        for (model, _), name in zip(self._classifiers(), self.members, strict=True):
            forget_outputs(model)
            model.from_bytes(weights[name].model.to_bytes())
        self._check_outputs()

    def entities(
        self, docs: list[Doc], scores: Scores, score: bool, beside: bool = True
    ) -> list[list[ScoredSpan]]:
        """As of any TokenTagger; documents keep their probabilities where probabilities_key is set."""
        if key := self.cfg["probabilities_key"]:
            ends = np.cumsum([len(doc) for doc in docs])
            p = np.exp(to_numpy(self.head.logits(scores).dataXd))
            for doc, rows in zip(docs, np.split(p, ends[:-1]), strict=True):
                doc.user_data[key] = rows
        return super().entities(docs, scores, score, beside)

    def marginals(self, docs: list[Doc]) -> Floats2d:
        """As of any TokenTagger; what documents keep is not computed again."""
        kept = [doc.user_data.get(self.cfg["probabilities_key"], ()) for doc in docs]
        if not any(map(len, kept)) or list(map(len, kept)) != list(map(len, docs)):
            return super().marginals(docs)
        p: Floats2d = np.concatenate([rows for rows in kept if len(rows)])
        return p

    def add_label(self, label: str, description: str | None = None) -> int:
        """Refused for a type that its members have not learnt."""
        return 0 if label in self.labels else self._refuse(f"learn the type {label!r}")

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Refused: its members were trained apart."""
        self._refuse("be initialized")

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Refused: its members were trained apart."""
        self._refuse("be trained")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(Errors.L303.format(who=self.name, what=what))
