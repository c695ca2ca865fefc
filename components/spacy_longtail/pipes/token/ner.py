"""`longtail_token_ner`: NER that labels tokens, with a softmax, sigmoid, CRF or two-task head."""

from collections.abc import Callable
from typing import Literal

from spacy.language import Language
from thinc.api import Model

from ...heads import HeadName
from ...losses import Loss
from ...settings import unused, whole
from ..base import factory
from ..label_checks import check_types
from ..scores.thresholding import check_judging
from .describing import check_described
from .tagging import DEFAULT_TOKEN_MODEL, TokenTagger
from .token_model import check_head

WHO = "longtail_token_ner"


class TokenNER(TokenTagger):
    """NER that gives every token a tag, over any encoder, with exact probabilities.

    The score of an entity is the mean probability of its tags. A document with sentence boundaries
    is tagged sentence by sentence, so that no entity crosses a boundary.

    model (Model[List[Doc], Ragged]): Outputs per token: longtail.TokenClassifier.v1 or
        longtail.DescribedTypes.v1, with an encoder of its own or a listener.
    head (str): "softmax", decoded over legal tag sequences; "sigmoid", a binary output per tag;
        "crf", a chain with learnt transitions; "two_task", an entity and a begin output for AUC.
    loss (Optional[TagLoss]): A loss for the head; null is cross-entropy for softmax and crf,
        longtail.OneVersusRestFocal.v1 for sigmoid, longtail.AUCMargin.v1 for two_task.
    scheme (str): Scheme of the tags: "BIO" or "BILUO"; two_task has "BIO".
    include, scores_key, thresholds, abstain_key, head_rate: As for longtail_ner.
    warmup (int): Number of training updates with cross-entropy before those with the loss, for the
        heads softmax and crf.
    describe (Optional[Callable[[List[str]], Floats2d]]): Vectors of the types' descriptions, for
        longtail.DescribedTypes.v1; null takes those of a pretrained head, else hashed words.
    write_probabilities (bool): Write the probability of each tag at each token to
        doc.user_data["entity_probabilities"]. A longtail_posterior_gate after it sets this.
    scorer (Optional[Callable]): The scoring function.
    """

    who = WHO

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model,
        head: HeadName = "softmax",
        loss: Loss | None = None,
        scheme: Literal["BIO", "BILUO"] = "BIO",
        include: list[str] | None = None,
        scores_key: str | None = None,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        head_rate: float = 1.0,
        warmup: int = 0,
        describe: Callable | None = None,
        write_probabilities: bool = False,
        scorer: Callable | None = None,
    ) -> None:
        trained_with = check_head(head, loss, scheme, model, WHO)
        if include is not None:
            check_types("include", include, WHO)
        check_described(model, WHO, describe=describe)
        if warmup and (head not in ("softmax", "crf") or trained_with.is_likelihood):
            where = "head = 'softmax' or 'crf' with a loss other than a likelihood, such as Focal or MoM"
            raise unused("warmup", warmup, WHO, where)
        super().__init__(
            nlp,
            model,
            name,
            loss=trained_with,
            scorer=scorer,
            head_rate=head_rate,
            describe=describe,
            head=head,
            scheme=scheme,
            include=include,
            warmup=whole("warmup", warmup, "Use 0 for none."),
            write_probabilities=write_probabilities,
            **check_judging(thresholds, abstain_key, scores_key, WHO),
        )


make_token_ner = factory(WHO, "ner", model=DEFAULT_TOKEN_MODEL)(TokenNER)
