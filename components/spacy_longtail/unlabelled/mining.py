"""Mining: the sentences of a pool to label next."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language

from ..corpus.folder import read_types
from ..corpus.formats.context import Events
from ..corpus.type_words import type_words
from ..errors import Errors, Warnings
from ..output.targets import check_file, check_outside
from ..pipes.gate.sentence_gate import SentenceGate
from ..training.loading import load_for_types
from .expectations import has_expectations, record_expectations
from .known import KnownSentences, known_in_corpus
from .pool import PoolOptions, add_sentences, processed, read_pool
from .proposals import ProposalFormat, write_proposals
from .scan import RANDOM, Proposal, Scan, choose, share_out

CANDIDATES = 10  # per sentence of a quota
MIN_CANDIDATES = 200  # per type


class Mined(NamedTuple):
    """Result of mining."""

    proposals: list[Proposal]
    types: list[str]
    scan: Scan
    events: Events  # counts of skipped texts


def mine(
    pipeline: Path | str,
    pool: Path,
    output: Path,
    options: PoolOptions,
    format: ProposalFormat,
    *,
    labels: int,
    types: Sequence[str] = (),
    corpus: Path | None = None,
    exclude: Sequence[Path] = (),
    quotas: Mapping[str, int] | None = None,
    random: float = 0.1,
    diversity: float = 0.5,
    seed: int = 0,
    batch_size: int = 64,
    n_process: int = 1,
    split: bool = False,
) -> Mined:
    """Write the sentences of a pool to label next, with the pipeline's predictions.

    pipeline (Path | str): Trained pipeline, or an encoder that finds types by their descriptions.
    pool (Path): File or folder of files with texts.
    output (Path): File to write.
    options (PoolOptions): Options of the pool's files.
    format (str): Annotation tool that will open the file.
    labels (int): Number of sentences to propose.
    types (Sequence[str]): Types to look for. Without any, these are the rare types of the corpus,
        or else those of the pipeline's sentence gates.
    corpus (Optional[Path]): Folder of a converted corpus, whose sentences are excluded.
    exclude (Sequence[Path]): Files or folders with more sentences to exclude.
    quotas (Optional[Mapping[str, int]]): Maximum number of sentences for some types.
    random (float): Fraction of the proposals that is sampled at random, to evaluate on.
    diversity (float): Penalty for sentences similar to earlier proposals, in [0, 1].
    seed (int): Random seed.
    batch_size (int): Number of texts that the pipeline processes together.
    n_process (int): Number of processes.
    split (bool): Whether to split texts into sentences by punctuation if the pipeline does not.
    RETURNS (Mined): The proposals, and counts of the pass over the pool.
    RAISES (ValueError): If an option or file cannot be used, or no sentence can be proposed.
    """
    inputs = [pool, Path(pipeline), *exclude, *filter(None, [corpus])]
    check_file(output, [path for path in inputs if path.exists()])
    if output.is_file() and output.stat().st_size:
        raise ValueError(Errors.L437.format(path=output, problem="the file may contain labels"))
    check_outside(output, [pool], "file")
    if corpus is not None and format == "spacy":  # the corpus would have it as another part
        check_outside(output, [corpus], "file")
    nlp, types = _load(pipeline, corpus, types)
    n_random, capped = round(random * labels), quotas or {}
    shares = share_out(labels - n_random, types, capped)
    if split:
        add_sentences(nlp)
    known = KnownSentences() if corpus is None else known_in_corpus(corpus, nlp, pool)
    for path in exclude:
        known.add_docs(read_pool(path, nlp, PoolOptions(encoding=options.encoding), Events()), nlp)
    sizes = {label: max(MIN_CANDIDATES, CANDIDATES * n) for label, n in shares.items()}
    scan = Scan(types, {**sizes, RANDOM: n_random}, known, seed)
    events = Events()
    record_expectations(nlp)
    scan.read(processed(nlp, read_pool(pool, nlp, options, events), batch_size, n_process))
    proposals = choose(scan, shares, n_random, diversity, capped)
    if not proposals:
        raise ValueError(Errors.L503.format(path=pool, n=scan.counts.sentences, known=scan.counts.known))
    write_proposals(proposals, output, format, nlp.vocab)
    return Mined(proposals, types, scan, events)


def _load(pipeline: Path | str, corpus: Path | None, given: Sequence[str]) -> tuple[Language, list[str]]:
    """Return a pipeline that gives expected mentions, and the types to look for."""
    declared = None if corpus is None else read_types(corpus)
    # an encoder looks for all of them, so that they compete for each token
    labels = [*(declared.labels if declared else ()), *given]
    nlp = load_for_types(pipeline, type_words(labels, declared.descriptions if declared else {}))
    counting = [pipe for _, pipe in nlp.pipeline if has_expectations(pipe)]
    known = list(dict.fromkeys(t for pipe in counting for t in getattr(pipe, "labels", ())))
    gated = [t for _, pipe in nlp.pipeline if isinstance(pipe, SentenceGate) for t in pipe.labels]
    types = list(dict.fromkeys(given or (declared.tail if declared else gated)))
    if counting and not given and (unread := [t for t in types if t not in known]):
        types = [label for label in types if label in known]
        warnings.warn(Warnings.W198.format(pipeline=pipeline, types=", ".join(unread)), stacklevel=3)
    if not counting:
        raise ValueError(
            Errors.L500.format(
                problem=f"no component of {pipeline} gives expected mentions",
                fix="Use a pipeline with longtail_token_ner or ner, or an encoder.",
            )
        )
    if not types or RANDOM in types:
        raise ValueError(
            Errors.L500.format(
                problem=f"the types to look for are {', '.join(types) or 'none'}",
                fix="Name types with --types EVE,NAT, or a converted corpus with --corpus.",
            )
        )
    if unknown := [label for label in types if label not in known]:
        raise ValueError(
            Errors.L500.format(
                problem=f"{pipeline} cannot find {', '.join(unknown)}",
                fix=f"Name types among {', '.join(known)}, or an encoder instead of the pipeline.",
            )
        )
    return nlp, types
