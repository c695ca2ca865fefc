"""Pretrain a transformer on donors and open types, and write the encoder as a spaCy pipeline.

own="--model sentence-transformers/all-MiniLM-L6-v2 --open assets/open_types --exclude corpus/TARGET"
python scripts/transformer_encoder.py corpus/DONOR ... $own --name en_longtail_trf \\
    --seconds 430 --gpu-id 0 --workers 8 -o pretrained/en_longtail_trf
python scripts/transformer_encoder.py corpus/DONOR ... $own --name en_longtail_trf_small \\
    --start pretrained/en_longtail_trf --layers 3 --rate 0.0003 --share 0.45 --bits 5.5 4 4 \\
    --seconds 140 --gpu-id 0 --workers 8 -o pretrained/en_longtail_trf_small
python -m spacy package pretrained/en_longtail_trf packages --build wheel
"""

from pathlib import Path
from typing import Annotated

import spacy
import torch
import typer
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer
from wasabi import msg

from spacy_longtail.corpus.units import plain_text
from spacy_longtail.models.transformer import Pieces, encoder_of
from spacy_longtail.output.writing import check_folder
from spacy_longtail.studies.pretraining.bi_encoder.loop import Schedule, Teacher, near_labels, train
from spacy_longtail.studies.pretraining.bi_encoder.model import BiEncoder, encode
from spacy_longtail.studies.pretraining.bi_encoder.packing import (
    Texts,
    pack_donor,
    pack_open,
    read_open_types,
)
from spacy_longtail.studies.pretraining.bi_encoder.writing import Bits, write_encoder
from spacy_longtail.studies.pretraining.donors import excluded_texts, read_donors

POWER = 0.5  # donors are drawn by their number of sentences to this power


def load(model: str) -> torch.nn.Module:
    """A transformer as it was published."""
    encoder = AutoModel.from_pretrained(model)
    encoder.pooler = None
    return encoder


def some_layers(encoder: torch.nn.Module, layers: int | None) -> torch.nn.Module:
    """A transformer of every n-th layer, the last among them. layers (Optional[int]): null keeps all."""
    if layers is not None:
        own = encoder.encoder.layer
        step = len(own) // layers
        kept = [own[i] for i in range(step - 1, len(own), step)][:layers]
        encoder.encoder.layer = torch.nn.ModuleList(kept)
        encoder.config.num_hidden_layers = layers
    return encoder


def started(folder: Path, layers: int | None) -> BiEncoder:
    """What a pipeline of this script learnt."""
    nlp = spacy.load(folder)
    head = nlp.get_pipe("ner").model.get_ref("output_layer")
    model = BiEncoder(
        some_layers(encoder_of(nlp.get_pipe("tok2vec").model).encoder, layers), head.get_dim("nM")
    )
    values = {"P": head.get_param("P"), "Q": head.get_param("Q")}
    values |= {"o.weight": head.get_param("W")[:1], "o.bias": head.get_param("b")[:1]}
    model.load_state_dict(
        {name: torch.from_numpy(array.copy()) for name, array in values.items()}, strict=False
    )
    return model


def main(
    donors: Annotated[list[Path] | None, typer.Argument(help="Folders that `convert` wrote.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder that is not there.")] = Path(),
    model: Annotated[str, typer.Option(help="A transformer of the hub, or its folder.")] = "",
    name: Annotated[str, typer.Option(help="Of the package.")] = "en_longtail_trf",
    open_types: Annotated[
        list[Path] | None, typer.Option("--open", help="Folder as assets/open_types; repeatable.")
    ] = None,
    exclude: Annotated[
        list[Path] | None, typer.Option(help="Corpus whose dev and test sentences are left out.")
    ] = None,
    parts: Annotated[str, typer.Option(help="Parts of the donors to train on.")] = "train",
    share: Annotated[float, typer.Option(help="Of batches with open types.")] = 0.6,
    layers: Annotated[int | None, typer.Option(help="Layers to keep; all by default.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Training time, in place of steps.")] = None,
    pieces: Annotated[int, typer.Option(help="Pieces of a batch, with padding.")] = 8192,
    rate: Annotated[float, typer.Option(help="Learning rate of the encoder.")] = 2e-4,
    head_rate: Annotated[float, typer.Option(help="Learning rate of the head.")] = 1e-3,
    bits: Annotated[
        tuple[float, float, float], typer.Option(help="Of layers, word embeddings, and labels, on disk.")
    ] = (7, 6, 4),
    start: Annotated[
        Path | None,
        typer.Option(help="A pipeline of this script to start from; with --layers the teacher, too."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that make batches.")] = 0,
    seed: int = 0,
    gpu_id: int = -1,
) -> None:
    """Pretrain a transformer on donors and open types."""
    if (steps is None) == (seconds is None):
        msg.fail("Give --steps or --seconds.", exits=1)
    if not donors and not open_types:
        msg.fail("Give donors, or open types by --open.", exits=1)
    check_folder(output, [*(donors or []), *(open_types or [])], lambda folder: "it is not empty")
    device = f"cuda:{gpu_id}" if gpu_id >= 0 else "cpu"
    vocab = spacy.blank(name.partition("_")[0]).vocab
    tokenizer = AutoTokenizer.from_pretrained(
        model, use_fast=True, add_prefix_space=True
    ).backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    words, texts = Pieces(tokenizer), Texts(tokenizer)
    corpora = read_donors(donors, exclude or [], parts.split(","), vocab) if donors else []
    packed = [pack_donor(c, words, texts, len(c.train) ** POWER) for c in corpora]
    forbidden = excluded_texts(exclude or [], vocab)
    opened = []
    for folder in open_types or []:
        docs = [d for d in read_open_types(folder, vocab) if plain_text(d.doc.text) not in forbidden]
        opened.append(pack_open(folder.name, docs, words, texts, len(docs) ** POWER))
    for group, part in ((packed, 1 - share if opened else 1.0), (opened, share if packed else 1.0)):
        total = sum(donor.weight for donor in group)
        for donor in group:
            donor.weight *= part / total
    msg.info(
        f"{len(packed)} donors, {len(opened)} corpora of open types, {len(texts.place):,} label texts"
    )
    labels = load(model)
    reader = BiEncoder(labels).to(device)
    vectors = encode(reader, texts.pieces)
    teacher = None
    if start is None:
        trained = BiEncoder(some_layers(load(model), layers)).to(device)
    else:
        trained = started(start, layers).to(device)
        teacher = Teacher(started(start, None).to(device).eval()) if layers else None
    schedule = Schedule(steps, seconds, pieces, rate, head_rate, seed=seed)
    bar = tqdm(total=100, unit="%")

    def watch(_: BiEncoder, step: int, loss: float) -> None:
        bar.update()
        bar.set_postfix_str(f"step {step:,}, loss {loss:.3f}")

    done, million = train(
        trained,
        [*packed, *opened],
        texts.pieces,
        near_labels(vectors),
        schedule,
        device,
        vectors,
        teacher,
        watch=watch,
        watches=100,
        workers=workers,
    )
    bar.close()
    write_encoder(trained, labels, tokenizer, texts.place, vectors, name, output, Bits(*bits))
    msg.good(f"{done:,} steps, {million:.1f} million pieces: {output}")


if __name__ == "__main__":
    typer.run(main)
