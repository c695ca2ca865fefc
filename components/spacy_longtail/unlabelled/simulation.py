"""Mining played through on a labelled corpus: what labels buy, by how sentences are chosen."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import JsonValue
from spacy.tokens import Doc
from spacy.util import load_config
from thinc.types import Ints1d
from tqdm import tqdm

from ..corpus.cutting import bare
from ..corpus.descriptions import CorpusTypes, read_types
from ..corpus.examples import holds
from ..corpus.folder import PARTS, load_docs, write_corpus
from ..corpus.parts import part_path
from ..corpus.tokenizers import blank
from ..corpus.units import divide
from ..errors import Errors
from ..evaluation.evaluate import evaluate_model
from ..output.writing import check_folder, check_outside, write_file
from ..records import Record
from ..training.loading import load_pipeline
from ..training.provenance import checksum
from ..training.train import check_trainable, known_sections, load_filled, refuse_parts, train_model
from ..types import Overrides
from .mining import descriptions
from .scan import RANDOM
from .selection import warn_of_none
from .strategies import MINE, SCORES, by_expected_mentions, by_score, what_lacks

RECORDS = "rounds.jsonl"
DIGITS = 16  # of a checksum
STRATEGIES = (MINE, *SCORES, RANDOM)


class Round(Record):
    """One training, on what a strategy has labelled so far."""

    corpus: str
    strategy: str
    seed: int
    round: int  # 0 is before the first choice
    start: int
    labels: int  # per round
    pool: int  # sentences
    config: str  # the file
    content: str = ""  # of config and corpus; "" in records of before
    settings: dict[str, JsonValue]  # config values by dotted name
    labelled: int  # sentences in all
    rare_sentences: int  # with a rare type, among those chosen in all rounds
    rare_mentions: int
    rare_in_pool: int  # sentences with a rare type that the pool began with
    macro: float  # F1 on test, in [0, 1]
    tail: float
    micro: float


class Game(NamedTuple):
    """What is played: see `simulate`."""

    corpus: Path
    config: Path
    start: int
    rounds: int
    labels: int
    pool: int | None
    strategies: tuple[str, ...]
    seeds: tuple[int, ...]
    overrides: Overrides
    gpu_id: int = -1  # -1 is the CPU


def simulate(game: Game, output: Path) -> list[Round]:
    """Hide the labels of a corpus's training part, and let each strategy buy some of them back.

    The first `start` sentences of a shuffled order are labelled; in each round a model is trained on
    what is labelled, chosen on dev, scored on test, and chooses `labels` sentences of the rest.
    Strategies of a seed begin with the same sentences and the same model. What is finished is read from
    rounds.jsonl.

    game (Game): Corpus and config; start, rounds, labels; pool, the most sentences to choose from, null
        for all; strategies, of `STRATEGIES`; seeds; overrides of the config; gpu_id.
    output (Path): The folder of rounds.jsonl.
    RETURNS (List[Round]): Of this game.
    RAISES (ValueError): L402, L403, L404, L432, L434, L436, L438, L439, L508, L516, and what training
        raises.
    """
    types, sentences, done, played, content = prepared(game, output)
    path = output / RECORDS
    total = len(game.seeds) * len(game.strategies) * (1 + game.rounds)
    n_played = len(played) * (1 + game.rounds)
    progress = tqdm(total=total, initial=n_played, unit="training", desc="mine", disable=None)
    for seed in game.seeds:
        order = np.random.default_rng(seed).permutation(len(sentences))
        if game.pool is not None:
            order = order[: game.start + game.pool]
        with tempfile.TemporaryDirectory(prefix="longtail-mine-") as folder:
            play = _Play(game, types, sentences, order, content, Path(folder))
            for strategy in game.strategies:
                if (strategy, seed) in played:
                    continue
                for record in play.rounds(strategy, seed):
                    same = setting_of(record), record.strategy, record.seed, record.round
                    done = [r for r in done if (setting_of(r), r.strategy, r.seed, r.round) != same]
                    done.append(record)
                    write_file(path, "".join(f"{json.dumps(r.model_dump())}\n" for r in done))
                    progress.update(1)
    progress.close()
    asked = [r for r in done if is_of(r, game, content, len(sentences))]
    return [r for r in asked if r.strategy in game.strategies and r.seed in game.seeds]


class Prepared(NamedTuple):
    """A simulation before its first training."""

    types: CorpusTypes
    sentences: list[Doc]  # of the training part
    done: list[Round]  # of the folder, of this game and others
    played: list[tuple[str, int]]  # strategies and seeds that are finished
    content: str  # of config and corpus


def prepared(game: Game, output: Path) -> Prepared:
    """Check all that is given, and read the corpus: arguments as `simulate` has them.

    RAISES (ValueError): Those of `simulate`, without those of training.
    """
    refuse_parts(game.overrides)
    check_folder(output, [game.corpus, game.config])
    check_outside(output, [game.corpus], "folder")
    types, sentences = _read(game)
    _check_strategies(game)
    if MINE in game.strategies:
        warn_of_none(game.labels, 0.0, types.tail, {})
    done, content = read_rounds(output / RECORDS), content_of(game)

    def is_played(strategy: str, seed: int) -> bool:
        own = [r for r in done if (r.strategy, r.seed) == (strategy, seed)]
        return len({r.round for r in own if is_of(r, game, content, len(sentences))}) > game.rounds

    played = [pair for pair in product(game.strategies, game.seeds) if is_played(*pair)]
    return Prepared(types, sentences, done, played, content)


def read_rounds(path: Path) -> list[Round]:
    """The records of a folder; none where there is no file. RAISES (ValueError): L508."""
    if not path.is_file():
        return []
    try:
        return [Round.model_validate_json(line) for line in path.read_text("utf8").splitlines()]
    except ValueError as error:
        fix = "Name another --output, or delete the file."
        problem = f"{path.name} there is not of a simulation ({str(error).splitlines()[0]})"
        raise ValueError(Errors.L508.format(path=path.parent, problem=problem, fix=fix)) from error


def as_json(overrides: Overrides) -> dict[str, JsonValue]:
    """Config values as a record has them."""
    found: dict[str, JsonValue] = json.loads(json.dumps(dict(overrides)))
    return found


def setting_of(record: Round) -> tuple[object, ...]:
    """What a training is of, beside its strategy and seed."""
    settings = json.dumps(record.settings, sort_keys=True)
    what = record.corpus, record.config, record.content, settings
    return *what, record.start, record.labels, record.pool


def is_of(record: Round, game: Game, content: str, n_sentences: int) -> bool:
    """Whether a record is of a game.

    content (str): That `content_of` gave. n_sentences (int): Of the training part.
    """
    settings = json.dumps(as_json(game.overrides), sort_keys=True)
    most = n_sentences - game.start
    pool = most if game.pool is None else min(game.pool, most)
    what = game.corpus.name, str(game.config), content, settings
    asked = (*what, game.start, game.labels, pool)
    return record.round <= game.rounds and setting_of(record) == asked


def content_of(game: Game) -> str:
    """What config and corpus are known by, wherever they lie."""
    parts = [checksum(path) for part in PARTS if (path := part_path(game.corpus, part)).exists()]
    types = json.dumps(read_types(game.corpus)._asdict(), sort_keys=True)
    return hashlib.sha256(" ".join([checksum(game.config), types, *parts]).encode()).hexdigest()[:DIGITS]


def _read(game: Game) -> tuple[CorpusTypes, list[Doc]]:
    """The types, and the sentences of the training part. RAISES (ValueError): L402, L404, L508."""
    types = read_types(game.corpus)
    problem = fix = ""
    unknown = [name for name in game.strategies if name not in STRATEGIES]
    if unknown or not game.strategies:
        problem = f"{', '.join(unknown) or 'nothing'} is no strategy"
        fix = f"Use some of {', '.join(STRATEGIES)}."
    elif not types.tail:
        problem, fix = "types.json names no rare type", "Declare a tail in corpus.json."
    if not problem:
        for part in ("train", "dev", "test"):
            path = part_path(game.corpus, part)
            if not path.exists():
                raise ValueError(Errors.L402.format(path=path, fix="`split` makes the parts."))
        nlp = blank(types.lang, types.tokens)
        sentences = divide(load_docs(part_path(game.corpus, "train"), nlp), "sentence", []).docs
        wanted = game.start + game.rounds * game.labels
        if game.pool is not None and game.pool < game.rounds * game.labels:
            problem = f"{game.rounds * game.labels} labels are asked for, and the pool has {game.pool}"
            fix = "Raise --pool-size, or lower --rounds or --labels."
        elif wanted > len(sentences):
            problem = f"{wanted} sentences are asked for, and train has {len(sentences)}"
            fix = "Lower --start, --rounds or --labels."
    if problem:
        raise ValueError(Errors.L508.format(path=game.corpus, problem=problem, fix=fix))
    return types, sentences


def _check_strategies(game: Game) -> None:
    """Refuse strategies that the config's pipeline cannot serve, before any training.

    RAISES (ValueError): L402, L438, L439, L508.
    """
    nlp = check_trainable(load_filled(game.config, game.corpus, game.overrides), game.config)
    for strategy in game.strategies:
        if lacking := what_lacks(nlp, strategy):
            fix = "Take another --config, or leave the strategy out of --strategies."
            problem = f"the strategy {strategy!r} needs {lacking}, which {game.config} has not"
            raise ValueError(Errors.L508.format(path=game.corpus, problem=problem, fix=fix))


class _Play:
    """The strategies of one seed, from one first model."""

    def __init__(
        self,
        game: Game,
        types: CorpusTypes,
        sentences: list[Doc],
        order: Ints1d,
        content: str,
        folder: Path,
    ) -> None:
        self.game, self.types, self.sentences, self.folder = game, types, sentences, folder
        self.content = content
        self.order = order
        self.tail = set(types.tail)
        self.rare = np.array([holds(doc, self.tail) for doc in sentences])

    def rounds(self, strategy: str, seed: int) -> Iterator[Round]:
        """Train, score, choose, and again."""
        labelled = self.order[: self.game.start].tolist()
        hidden = self.order[self.game.start :].tolist()
        bought: list[int] = []
        for i in range(self.game.rounds + 1):
            model = self.folder / "first" / "model-best"
            if i or not model.is_dir():
                model = self._train(labelled + bought, seed, "later" if i else "first")
            yield self._score(model, strategy, seed, i, bought, hidden)
            if i < self.game.rounds:
                own = set(bought)
                left = [j for j in hidden if j not in own]
                bought += self._choose(strategy, model, left, seed + 1000 * i)

    def _train(self, ids: Sequence[int], seed: int, name: str) -> Path:
        corpus = self.folder / "corpus"
        nlp = blank(self.types.lang, self.types.tokens)
        dev = load_docs(part_path(self.game.corpus, "dev"), nlp)
        write_corpus(corpus, {"train": [self.sentences[i] for i in ids], "dev": dev}, self.types)
        seeds: Overrides = {"training.seed": seed, "system.seed": seed}
        known = known_sections(seeds, load_config(self.game.config, interpolate=False))
        overrides = {**known, **self.game.overrides}
        output, gpu_id = self.folder / name, self.game.gpu_id
        return train_model(self.game.config, corpus, output, gpu_id=gpu_id, overrides=overrides)

    def _score(
        self, model: Path, strategy: str, seed: int, i: int, bought: list[int], hidden: list[int]
    ) -> Round:
        test = part_path(self.game.corpus, "test")
        scores = evaluate_model(model, test, self.types.labels, self.types.tail).scores
        mentions = [ent.label_ for j in bought for ent in self.sentences[j].ents]
        return Round(
            corpus=self.game.corpus.name,
            strategy=strategy,
            seed=seed,
            round=i,
            start=self.game.start,
            labels=self.game.labels,
            pool=len(hidden),
            config=str(self.game.config),
            content=self.content,
            settings=as_json(self.game.overrides),
            labelled=self.game.start + len(bought),
            rare_sentences=int(self.rare[bought].sum()) if bought else 0,
            rare_mentions=sum(label in self.tail for label in mentions),
            rare_in_pool=int(self.rare[hidden].sum()),
            macro=float(scores.ents_macro_f),
            tail=float(scores.ents_tail_f or 0.0),
            micro=float(scores.ents_f),
        )

    def _choose(self, strategy: str, model: Path, left: list[int], seed: int) -> list[int]:
        """The sentences to label next."""
        n = self.game.labels
        if strategy == RANDOM:
            return np.random.default_rng(seed).permutation(left)[:n].tolist()
        nlp = load_pipeline(model)
        docs = [bare(self.sentences[i], nlp.vocab) for i in left]
        if strategy == MINE:
            texts = descriptions(self.game.corpus, self.types.tail)
            order = by_expected_mentions(nlp, docs, n, texts, seed)
        else:
            order = by_score(nlp, docs, strategy)
        return [left[at] for at in order[:n]]
