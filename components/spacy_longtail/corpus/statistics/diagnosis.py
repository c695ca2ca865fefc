"""What the statistics of a corpus mean for training on it: short findings, each with what to try."""

from collections.abc import Callable, Collection, Iterator

from ...output.amounts import number, verb
from ..rare import FEW_MENTIONS
from .records import Finding, Statistics, TypeStatistics

MEASURABLE = 30  # mentions in a part that is scored
UNSEEN = 0.5  # share of test mentions
CONTESTED = 0.05  # share of training mentions whose wording more often has another type
SPARSE = 0.5  # share of training sentences with an entity
LOW_RESOURCE = 500  # training sentences
LONG = 200  # words of a sentence

Found = Iterator[tuple[str, str, str | None]]  # the finding, its evidence, the part or null
# By rule, or by rule and part. Each names what this package has for the case, and promises nothing.
ADVICE = {
    "no_entity": "Check the path, and the annotation layer that was exported.",
    "absent_part.dev": "A training cannot choose its best model without it. `longtail split` makes one.",
    "absent_part.test": (
        "Scores on dev are too good, since dev chose the model. `longtail split` makes a test part."
    ),
    "undeclared_type": (
        "They enter no macro average. Declare them in corpus.json, fix the spelling, or leave them "
        "out with longtail.RelabelledCorpus.v1."
    ),
    "absent_type.train": (
        "No model can learn them. Annotate some, or declare the types without them: each counts as "
        "F1 = 0 in the macro average."
    ),
    "absent_type.dev": "Model selection is blind to them. `longtail split` gives every part its share.",
    "absent_type.test": (
        "Their F1 is 0 whatever the model does. `longtail split` gives every part its share."
    ),
    "conflict": (
        "No model can agree with both. Settle them by hand; `longtail audit` lists more suspects."
    ),
    "leakage": "Scores on them are memory. `longtail split` keeps equal texts in one part.",
    "few_mentions": (
        "More annotation is the surest help (`longtail mine` says of what). Then start from an "
        "encoder that has seen entities elsewhere: `longtail init-config pretrained` for English, "
        "docs/encoders.md. Resampling, augmentation, focal loss and the gate were not shown to "
        "beat stock spaCy without one (docs/results.md); `longtail recommend` tries them."
    ),
    "not_measurable.dev": (
        "Where such a type decides, the best model is chosen by luck. Weigh ents_f beside "
        "ents_macro_f in [training.score_weights], or make a larger dev part."
    ),
    "not_measurable.test": (
        "Do not compare models on these types alone: take ents_tail_f over several seeds, or a "
        "larger test part (`longtail split --min-mentions`)."
    ),
    "unseen": (
        "A model that remembers names will miss them. Try pretrained vectors ([paths] vectors) or a "
        "transformer as the encoder (docs/token_ner.md), and more varied mentions "
        "(longtail.mention_replacement.v1)."
    ),
    "contested": (
        "Only the context tells them apart: try a transformer as the encoder. Ask first whether "
        "annotators told them apart (`longtail audit`)."
    ),
    "low_resource": (
        "Start from a pretrained encoder: `longtail init-config pretrained` for English, or a "
        "transformer. Without one try a CRF (`longtail init-config token_crf`), and the two-task AUC "
        "loss, which was made for this size (`longtail init-config token_two_task`)."
    ),
    "sparse": (
        "Sentence resampling was made for such corpora: longtail.ResampledCorpus.v1 with "
        "longtail.sCR.v1, or with longtail.RandomUndersampling.v1 for shorter epochs."
    ),
    "unbounded": (
        "Each is one sentence for resampling, the gate and the secondary NER. Set boundaries with "
        "`longtail convert --sentences`."
    ),
}


def percent(share: float) -> str:
    """A share in [0, 1], with a decimal where it is small."""
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def no_entity(of: Statistics) -> Found:
    own = of.parts["train"]
    if not own.mentions:
        evidence = f"Tokens that are O: {own.tokens:,}; not annotated: {own.unannotated_tokens:,}."
        yield "Training has no entity.", evidence, None


def absent_part(of: Statistics) -> Found:
    for part in ("dev", "test"):
        if part not in of.parts:
            yield f"There is no {part} part.", f"Found: {', '.join(of.parts)}.", part


def undeclared_type(of: Statistics) -> Found:
    n = len(of.undeclared)
    if n:
        text = f"{number(n, 'type')} {verb(n, 'occur')} without being declared"
        yield _listed(text, of.undeclared), f"Declared: {', '.join(of.labels)}.", None


def absent_type(of: Statistics) -> Found:
    for part, own in of.parts.items():
        absent = [t for t in of.labels if not own.types[t].mentions]
        if absent and len(absent) < len(of.labels):  # else the part has no entity at all
            evidence = [
                f"{t}: " + ", ".join(f"{p.types[t].mentions} in {name}" for name, p in of.parts.items())
                for t in absent
            ]
            yield _listed(f"{_have(absent)} no mention in {part}", absent), _joined(evidence), part


def conflict(of: Statistics) -> Found:
    n = of.conflicts.texts
    if n:
        evidence = " / ".join(f"{own.part}: {own.text}" for own in of.conflicts.examples[0])
        text = f"{number(n, 'text')} {verb(n, 'occur')} with different annotations."
        yield text, evidence, None


def leakage(of: Statistics) -> Found:
    for part, own in of.leakage.items():
        if own.entity_sentences:
            n = own.sentences
            text = f"{number(n, 'sentence')} of {part} also {verb(n, 'stand')} in training"
            evidence = f"{percent(own.share)} of {part}, such as: {own.examples[0]}"
            yield f"{text}, {own.entity_sentences:,} with an entity.", evidence, part


def few_mentions(of: Statistics) -> Found:
    types = of.parts["train"].types
    few = [t for t in of.labels if 0 < types[t].mentions < FEW_MENTIONS]
    if few:
        evidence = [
            f"{t}: {number(types[t].mentions, 'mention')} in "
            f"{number(types[t].sentences, 'sentence')}{_unseen_of(of, t)}"
            for t in few
        ]
        text = f"{_have(few)} fewer than {FEW_MENTIONS} mentions in training"
        yield _listed(text, few), _joined(evidence), None


def not_measurable(of: Statistics) -> Found:
    for part, own in of.parts.items():
        few = {t: n for t in of.labels if 0 < (n := own.types[t].mentions) < MEASURABLE}
        if few and part != "train":
            evidence = [
                f"{t}: {number(n, 'mention')}, one is {100 / n:.3g} points of recall"
                for t, n in few.items()
            ]
            text = f"{_have(few)} fewer than {MEASURABLE} mentions in {part}, too few to measure"
            yield _listed(text, few), _joined(evidence), part


def unseen(of: Statistics) -> Found:
    new = {t: share for t in of.labels if (share := of.unseen[t] or 0.0) >= UNSEEN}
    if new:
        types = of.parts["test"].types
        evidence = [
            f"{t}: {percent(share)} of {number(types[t].mentions, 'mention')}"
            for t, share in new.items()
        ]
        text = f"Most test mentions of {number(len(new), 'type')} have a wording that is new"
        yield _listed(text, new), _joined(evidence), None


def contested(of: Statistics) -> Found:
    def is_split(own: TypeStatistics) -> bool:
        return own.minority_mentions > CONTESTED * own.mentions

    types = of.parts["train"].types
    split = [t for t in of.labels if is_split(types[t])]
    if split:
        evidence = [
            f"{t}: {types[t].minority_mentions:,} of {number(types[t].mentions, 'mention')}; "
            f"{types[t].ambiguous_surfaces:,} of {number(types[t].surfaces, 'wording')} are ambiguous"
            for t in split
        ]
        text = f"Mentions of {number(len(split), 'type')} often have a wording that is mostly another's"
        yield _listed(text, split), _joined(evidence), None


def low_resource(of: Statistics) -> Found:
    own = of.parts["train"]
    if own.sentences < LOW_RESOURCE:
        evidence = f"{number(own.sentences, 'sentence')}, {number(own.mentions, 'mention')}."
        yield f"Training has fewer than {LOW_RESOURCE} sentences.", evidence, None


def sparse(of: Statistics) -> Found:
    share, policies = of.parts["train"].entity_sentence_share, of.policies
    if 0 < share < SPARSE:
        over, under = policies["sCR"].sentences, policies["RandomUndersampling"].sentences
        evidence = (
            f"sCR makes the part {over:.1f} times as large and adds copies of these alone; "
            f"RandomUndersampling keeps {percent(under)} of it."
        )
        yield f"Only {percent(share)} of the training sentences have an entity.", evidence, None


def unbounded(of: Statistics) -> Found:
    for part, own in of.parts.items():
        n = own.documents_without_boundaries
        if n and own.longest_sentence > LONG:
            text = f"{number(n, 'document')} of {part} {verb(n, 'have')} no sentence boundaries."
            evidence = f"The longest sentence of the part has {own.longest_sentence:,} words."
            yield text, evidence, part


RULES: tuple[Callable[[Statistics], Found], ...] = (
    *(no_entity, absent_part, undeclared_type, absent_type, conflict, leakage, few_mentions),
    *(not_measurable, unseen, contested, low_resource, sparse),
    unbounded,
)


def diagnose(statistics: Statistics) -> list[Finding]:
    """All findings, the most serious first.

    RETURNS (List[Finding]): One for each rule that applies, or for each part where parts differ.
    """
    return [
        Finding(rule=name, part=part, finding=text, evidence=evidence, advice=advice)
        for name, rule in ((rule.__name__, rule) for rule in RULES)
        for text, evidence, part in rule(statistics)
        for advice in (ADVICE.get(f"{name}.{part}") or ADVICE[name],)
    ]


def _have(labels: Collection[str]) -> str:
    n = len(labels)
    return f"{number(n, 'type')} {verb(n, 'have')}"


def _listed(text: str, labels: Collection[str]) -> str:
    return f"{text}: {', '.join(labels)}."


def _joined(evidence: list[str]) -> str:
    return "; ".join(evidence) + "."


def _unseen_of(of: Statistics, label: str) -> str:
    share = of.unseen[label]
    if share is None:
        return ""
    n = of.parts["test"].types[label].mentions
    return f", {round(share * n)} of {number(n, 'test mention')} not among them"
