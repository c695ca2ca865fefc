"""Mining a pool: which sentences to label next."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..corpus.cutting import bare
from ..corpus.descriptions import read_types
from ..corpus.formats.context import Events
from ..corpus.formats.docbin import stream_docs
from ..corpus.likeness import text_key
from ..corpus.parts import part_path
from ..corpus.type_words import in_words
from ..errors import Errors, Warnings
from ..output.writing import check_file, check_outside
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.neighbours import BOUNDARIES
from ..sentences import by_punctuation
from ..training.loading import load_for_types
from .expectations import has_expectations, record_expectations
from .pool import BATCH, PoolOptions, add_sentences, processed, read_pool
from .proposals import ProposalFormat, write_proposals
from .scan import RANDOM, Proposal, Scan, choose, share_out
from .units import sentences_of

CORPUS_PARTS = ("train", "dev", "test", "all")
KEPT = 10  # candidates per label of a quota
FEWEST = 200  # candidates of each type at least


class Mined(NamedTuple):
    """What a pool gave."""

    proposals: list[Proposal]
    types: list[str]
    scan: Scan
    events: Events  # what was left out


@dataclass(frozen=True)
class MiningRequest:
    """What to look for, and how many.

    labels (int): Sentences to propose. types (Sequence[str]): The rare types; empty takes the
        corpus's tail, or what a gate of the pipeline opens for.
    corpus (Optional[Path]): A folder with types.json. Sentences of its parts need no label.
    random (float): Share of the labels that is drawn by lot, for an evaluation without bias.
    diversity (float): How much of its score a sentence loses that is like those chosen, in [0, 1].
    split (bool): Whether texts are cut into sentences by punctuation, where the pipeline does not.
    exclude (Sequence[Path]): Sentences that are not wanted, in any format of a pool.
    """

    labels: int
    types: tuple[str, ...] = ()
    corpus: Path | None = None
    quotas: Mapping[str, int] = field(default_factory=dict)
    random: float = 0.1
    diversity: float = 0.5
    seed: int = 0
    batch_size: int = 64
    n_process: int = 1
    split: bool = False
    exclude: tuple[Path, ...] = ()


def mine(
    pipeline: Path | str,
    pool: Path,
    output: Path,
    request: MiningRequest,
    options: PoolOptions,
    format: ProposalFormat,
) -> Mined:
    """Propose sentences of a pool for labelling, with what the pipeline reads in them."""
    inputs = [pool, Path(pipeline), *request.exclude, *filter(None, [request.corpus])]
    check_file(output, [path for path in inputs if path.exists()])
    if output.is_file() and output.stat().st_size:
        raise ValueError(Errors.L437.format(path=output, problem="its file may hold labels"))
    check_outside(output, [pool], "file")
    nlp, types = _load(pipeline, request)
    n_random = round(request.random * request.labels)
    quotas = share_out(request.labels - n_random, types, request.quotas)
    if request.split:
        add_sentences(nlp)
    known = set() if request.corpus is None else corpus_keys(request.corpus, nlp)
    for path in request.exclude:
        known |= keys_of(read_pool(path, nlp, PoolOptions(encoding=options.encoding), Events()), nlp)
    sizes = {label: max(FEWEST, KEPT * n) for label, n in quotas.items()}
    scan = Scan(types, {**sizes, RANDOM: n_random}, known, request.seed)
    events = Events()
    texts = iter(read_pool(pool, nlp, options, events))
    record_expectations(nlp)
    scan.read(processed(nlp, texts, request.batch_size, request.n_process))
    proposals = choose(scan, quotas, n_random, request.diversity, request.quotas)
    if not proposals:
        raise ValueError(Errors.L503.format(path=pool, n=scan.n_sentences, known=scan.n_known))
    write_proposals(proposals, output, format, nlp.vocab)
    return Mined(proposals, types, scan, events)


def _load(pipeline: Path | str, request: MiningRequest) -> tuple[Language, list[str]]:
    """A pipeline whose probabilities count mentions, and the types to look for."""
    declared = None if request.corpus is None else read_types(request.corpus)
    # those that an encoder finds: all compete for each token
    labels = [*(declared.labels if declared else ()), *request.types]
    nlp = load_for_types(pipeline, in_words(labels, declared.descriptions if declared else {}))
    counting = [pipe for _, pipe in nlp.pipeline if has_expectations(pipe)]
    known = list(dict.fromkeys(t for pipe in counting for t in getattr(pipe, "labels", ())))
    gates = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SentenceGate)]
    tail = declared.tail if declared else [label for gate in gates for label in gate.labels]
    types = list(dict.fromkeys(request.types or tail))
    if counting and not request.types and (unread := [t for t in types if t not in known]):
        types = [label for label in types if label in known]
        shown = {"pipeline": pipeline, "types": ", ".join(unread)}
        warnings.warn(Warnings.W198.format(**shown), stacklevel=3)
    problem, fix = "", "Use a pipeline with longtail_token_ner or ner, or an encoder."
    if not counting:
        problem = f"no component of {pipeline} has probabilities that count mentions"
    elif not types or RANDOM in types:
        problem = f"the types to look for are {', '.join(types) or 'none'}"
        fix = "Name types with --types EVE,NAT, or a converted corpus with --corpus."
    elif unknown := [label for label in types if label not in known]:
        problem = f"{pipeline} cannot find {', '.join(unknown)}"
        fix = f"Name types among {', '.join(known)}, or an encoder in place of the pipeline."
    if problem:
        raise ValueError(Errors.L500.format(problem=problem, fix=fix))
    return nlp, types


def corpus_keys(corpus: Path, nlp: Language) -> set[int]:
    """The sentences and documents of a corpus, as `text_key` knows them."""
    paths = [path for part in CORPUS_PARTS if (path := part_path(corpus, part)).exists()]
    return keys_of((doc for path in paths for doc in stream_docs(path, nlp.vocab)), nlp)


def keys_of(docs: Iterable[Doc], nlp: Language) -> set[int]:
    """Documents and their sentences, as `text_key` knows them.

    nlp (Language): The pipeline that reads the pool. A document without sentence boundaries is cut
        as the pipeline cuts a text, and by punctuation, too.
    """
    keys: set[int] = set()
    setters = {name for name in nlp.pipe_names if BOUNDARIES & {*nlp.get_pipe_meta(name).assigns}}
    heard = {n for n, pipe in nlp.pipeline if setters & {*getattr(pipe, "listening_components", ())}}
    wanted = [name for name in nlp.pipe_names if name in setters | heard]
    for batch in minibatch(docs, BATCH):
        keys.update(text_key(doc.text) for doc in batch)
        whole = [bare(doc, nlp.vocab) for doc in batch if not doc.has_annotation("SENT_START")]
        cut = [doc for doc in batch if doc.has_annotation("SENT_START")] + by_punctuation(whole)
        if wanted and whole:
            with nlp.select_pipes(enable=wanted):
                cut += nlp.pipe(bare(doc, nlp.vocab) for doc in whole)
        keys.update(text_key(doc[a:b].text) for doc in cut for a, b in sentences_of(doc) if a < b)
    return keys
