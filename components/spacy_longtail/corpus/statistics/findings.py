"""A finding about a corpus: how its numbers are worded, and what to try."""

from .records import Finding

# By rule, or by rule and part. Each names what this package has for the case, and promises nothing.
ADVICE = {
    "no_entity": "Check the path, and the annotation layer that was exported.",
    "absent_part.dev": (
        "A training cannot choose its best model without it. `python -m spacy_longtail split` makes one."
    ),
    "absent_part.test": (
        "Scores on dev are too good, since dev chose the model. `python -m spacy_longtail split` "
        "makes a test part."
    ),
    "undeclared_type": (
        "They enter no macro average. Declare them in corpus.json, fix the spelling, or leave them "
        "out with longtail.RelabelledCorpus.v1."
    ),
    "absent_type.train": (
        "No model can learn them. Annotate some, or declare the types without them: each counts as F1 "
        "= 0 in the macro average."
    ),
    "absent_type.dev": (
        "Model selection is blind to them. `python -m spacy_longtail split` gives every part its share."
    ),
    "absent_type.test": (
        "Their F1 is 0 whatever the model does. `python -m spacy_longtail split` gives every part its "
        "share."
    ),
    "conflict": (
        "No model can agree with both. Settle them by hand; `python -m spacy_longtail audit` lists "
        "more suspects, rare types first."
    ),
    "leakage": (
        "Scores on them are memory. `python -m spacy_longtail split` keeps equal texts in one part."
    ),
    "few_mentions": (
        "More annotation is the surest help (`python -m spacy_longtail mine` says of what). Then begin "
        "with an encoder that has seen entities elsewhere: `longtail init-config pretrained` for "
        "English, docs/encoders.md. Resampling, augmentation, focal loss and the gate were not "
        "shown to beat stock spaCy without one (docs/results.md); `longtail recommend` tries them."
    ),
    "not_measurable.dev": (
        "Where such a type decides, the best model is chosen by luck. Weigh ents_f beside "
        "ents_macro_f in [training.score_weights], or make a larger dev part."
    ),
    "not_measurable.test": (
        "Do not compare models on these types alone: take ents_tail_f over several seeds, or a larger "
        "test part (`python -m spacy_longtail split --min-mentions`)."
    ),
    "unseen": (
        "A model that remembers names will miss them; it has to read the context. Try pretrained "
        "vectors ([paths] vectors) or a transformer as the encoder (docs/token_ner.md), and more "
        "varied mentions (longtail.mention_replacement.v1)."
    ),
    "contested": (
        "Only the context tells them apart: try a transformer as the encoder. Ask first whether "
        "annotators told them apart (`python -m spacy_longtail audit`)."
    ),
    "low_resource": (
        "Begin with a pretrained encoder: `longtail init-config pretrained` for English, or a "
        "transformer. Without one try a CRF (`longtail init-config token_crf`), and the two-task AUC "
        "loss, which was made for this size (`longtail init-config token_two_task`)."
    ),
    "sparse": (
        "Sentence resampling was made for such corpora: longtail.ResampledCorpus.v1 with "
        "longtail.sCR.v1, or with longtail.RandomUndersampling.v1 for shorter epochs."
    ),
    "dense": (
        "Expect longer epochs rather than another balance. To aim at rare types alone, try an "
        "augmenter with `labels`, longtail.label_weights.v1 or the gate."
    ),
    "repetition": (
        "Such sentences are resampled in any case. Remove copies before policies or class weights are "
        "compared."
    ),
    "no_context": (
        "Models learn no context beyond a sentence, and never see a sentence border. If the source "
        "has documents, convert those (docs/corpora.md); else feed single sentences in production "
        "too."
    ),
    "unbounded": (
        "Each is one sentence for resampling, the gate and the secondary NER. Set boundaries before "
        'converting, or use unit = "doc".'
    ),
}


def make_finding(rule: str, finding: str, evidence: str, part: str | None = None) -> Finding:
    """A finding with the advice for its rule, or for its rule and part."""
    advice = ADVICE.get(f"{rule}.{part}") or ADVICE[rule]
    return Finding(rule=rule, part=part, finding=finding, evidence=evidence, advice=advice)


def percent(share: float) -> str:
    """A share in [0, 1], with a decimal where it is small."""
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"
