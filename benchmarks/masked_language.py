"""Train six layers on, as a masked language model, on text of a domain before they are fine-tuned.

    python benchmarks/languages.py SOURCES corpus/domains --language en --train 300 \\
        --name dimb_re --pool corpus/pools --most 100000
    python benchmarks/masked_language.py corpus/domains/dimb_re corpus/pools/dimb_re.txt

A new output layer over the encoder's word embeddings learns first, alone, then the encoder learns
with it. The encoder's weights are then the mean of those before and after, in the proportion
`--mix`. The config transformer.cfg is trained from that encoder for 1,000 steps, to be compared
with six layers after 1,000 steps in domains.jsonl. Appends one JSON record to
benchmarks/results/masked_language.jsonl: the loss on held-out text before and after, zero-shot F1
on dev before and after, and F1 on dev and test after fine-tuning.
"""

import random
import time
from pathlib import Path
from typing import Annotated

import srsly
import torch
import typer
from thinc.api import Model
from torch import Tensor, nn
from tqdm import tqdm
from zero_shot import in_points

from spacy_longtail.corpus.folder import CorpusTypes, read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.corpus.type_words import type_words
from spacy_longtail.evaluation.evaluate import score_pipeline
from spacy_longtail.layers.torch_transformer import PieceEncoder
from spacy_longtail.pipes.token.pretrained_head import read_pretrained
from spacy_longtail.training.loading import load_pipeline
from spacy_longtail.training.provenance import BEST
from spacy_longtail.training.train import train_model

RESULTS = Path(__file__).parent / "results" / "masked_language.jsonl"
CONFIG = Path(__file__).parents[1] / "configs" / "transformer.cfg"
STEPS = 1000  # of fine-tuning
SIZE = 2048  # subwords per batch
LONGEST = 128  # subwords of a sentence
HELD_OUT = 50  # sentences
IGNORED = -100  # target of a subword that is not predicted


class MaskedLanguageModel(nn.Module):
    """Output layer that predicts subwords; its matrix is that of the word embeddings."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        words = encoder.get_input_embeddings().weight  # type: ignore[operator, union-attr]
        self.words = words.detach()
        width = self.words.shape[1]
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(len(self.words)))

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the masked subwords."""
        states = self.encoder(input_ids=ids, attention_mask=mask)[0][targets != IGNORED]
        logits = self.transform(states) @ self.words.T + self.bias
        return nn.functional.cross_entropy(logits, targets[targets != IGNORED])


def batches(rows: list[list[int]], rng: random.Random) -> list[list[list[int]]]:
    """Return batches of sentences of similar length, in random order."""
    found: list[list[list[int]]] = [[]]
    for row in sorted(rng.sample(rows, len(rows)), key=len):
        if (len(found[-1]) + 1) * len(row) > SIZE:
            found.append([])
        found[-1].append(row)
    return rng.sample(found, len(found))


def masked(
    rows: list[list[int]], mask_id: int, special: set[int], n_words: int, rng: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Mask 15 % of the subwords: 80 % of them by [MASK], 10 % by another subword."""
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    is_word = (mask == 1) & ~torch.isin(ids, torch.tensor(sorted(special)))
    chosen = (torch.rand(ids.shape, generator=rng) < 0.15) & is_word
    targets = torch.where(chosen, ids, torch.tensor(IGNORED))
    way = torch.rand(ids.shape, generator=rng)
    ids = torch.where(chosen & (way < 0.8), torch.tensor(mask_id), ids)
    others = torch.randint(n_words, ids.shape, generator=rng)
    return torch.where(chosen & (way >= 0.9), others, ids), mask, targets


def module_of(tok2vec: Model) -> PieceEncoder:
    """Return the torch module of a pipeline's transformer."""
    return next(
        shim._model
        for node in tok2vec.walk()
        for shim in node.shims
        if isinstance(shim._model, PieceEncoder)
    )


def learn(
    module: PieceEncoder, texts: list[str], epochs: int, rate: float, mix: float
) -> dict[str, object]:
    """Train the encoder on texts and return what was measured."""
    tokenizer = module.tokenizer
    if tokenizer is None:
        raise ValueError("The encoder has no tokenizer.")
    rows = [encoding.ids[:LONGEST] for encoding in tokenizer.encode_batch(texts)]
    special = {tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]", "[MASK]")}
    shape = (tokenizer.token_to_id("[MASK]"), special, tokenizer.get_vocab_size())
    shuffler, rng = random.Random(0), torch.Generator().manual_seed(0)
    shuffler.shuffle(rows)
    rows, held_out = rows[HELD_OUT:], rows[:HELD_OUT]
    check = masked(held_out, *shape, torch.Generator().manual_seed(1))
    model = MaskedLanguageModel(module.encoder)
    before = {name: weight.clone() for name, weight in module.encoder.state_dict().items()}
    own = [*model.transform.parameters(), model.bias]
    shared = [p for p in module.encoder.parameters() if p.requires_grad]
    losses = []
    start = time.monotonic()
    schedule = [(own, 1e-3)] * 1 + [([*own, *shared], rate)] * epochs
    for parameters, maximum in schedule:
        optimizer = torch.optim.AdamW(parameters, lr=maximum, weight_decay=0.01)
        order = batches(rows, shuffler)
        decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, len(order))
        model.train()
        for chosen in tqdm(order, mininterval=30):
            model.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(*masked(chosen, *shape, rng))
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            decay.step()
        model.eval()
        with torch.no_grad():
            losses.append(round(float(model(*check)), 3))
    after = module.encoder.state_dict()
    mixed = {
        name: torch.lerp(old, after[name], mix) if old.is_floating_point() else old
        for name, old in before.items()
    }
    module.encoder.load_state_dict(mixed)
    seconds = round(time.monotonic() - start)
    return {"subwords": sum(map(len, rows)), "losses": losses, "seconds": seconds}


def known(encoder: Path | str, corpus: Path, types: CorpusTypes) -> dict[str, float]:
    """Return zero-shot F1 on dev."""
    head = read_pretrained(str(encoder), "benchmark")
    head.pipe.set_labels(type_words(types.labels, types.descriptions))
    return in_points(score_pipeline(head.nlp, part_path(corpus, "dev"), types.labels, types.tail))


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="Converted corpus.")],
    pool: Annotated[Path, typer.Argument(exists=True, help="Unlabelled text of its domain.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the trainings.")] = Path(
        "training/masked_language"
    ),
    encoder: Annotated[str, typer.Option(help="Encoder to start from.")] = "en_longtail_trf",
    epochs: Annotated[int, typer.Option(help="Passes over the text.")] = 1,
    rate: Annotated[float, typer.Option(help="Maximum learning rate of the encoder.")] = 5e-5,
    mix: Annotated[float, typer.Option(help="Fraction of the new weights.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Random seed of fine-tuning.")] = 0,
    tune: Annotated[bool, typer.Option(help="Fine-tune, or only score without examples.")] = True,
    results: Annotated[Path, typer.Option(help="JSONL file to append to.")] = RESULTS,
) -> None:
    """Train the encoder on text, score it without examples, then fine-tune it."""
    torch.manual_seed(0)
    types = read_types(corpus)
    texts = [line for line in pool.read_text(encoding="utf8").splitlines() if line.strip()]
    nlp = load_pipeline(encoder)
    found = learn(module_of(nlp.get_pipe("tok2vec").model), texts, epochs, rate, mix)
    folder = output / f"{corpus.name}-{encoder}-{epochs}-{rate}-{mix}"
    folder.mkdir(parents=True, exist_ok=True)
    nlp.to_disk(folder / "encoder")
    record: dict[str, object] = {
        "corpus": corpus.name,
        "encoder": encoder,
        "texts": len(texts),
        "epochs": epochs,
        "rate": rate,
        "mix": mix,
        "seed": seed,
        **found,
        "zero_shot_before": known(encoder, corpus, types),
        "zero_shot_after": known(folder / "encoder", corpus, types),
    }
    print(record)
    if tune:
        settings = {
            "paths.pretrained": str((folder / "encoder").resolve()),
            "training.max_steps": STEPS,
            "training.eval_frequency": 100,
            "system.seed": seed,
        }
        train_model(CONFIG, corpus, folder / f"tuned-{seed}", overrides=settings)
        tuned = load_pipeline(folder / f"tuned-{seed}" / BEST)
        for part in ("dev", "test"):
            scores = score_pipeline(tuned, part_path(corpus, part), types.labels, types.tail)
            record[part] = in_points(scores)
    print(record)
    srsly.write_jsonl(results, [record], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
