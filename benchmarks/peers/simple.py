"""simpletransformers' NERModel with its defaults and scikit-learn's "balanced" class weights."""

from collections import Counter
from functools import partial

import pandas
import torch
from protocol import entities_of, macro_f1, run
from simpletransformers.ner import NERArgs, NERModel


def frame(sentences):
    columns = ("sentence_id", "words", "labels")
    rows = [(i, *pair) for i, s in enumerate(sentences) for pair in zip(*s, strict=True)]
    return pandas.DataFrame(rows, columns=columns)


def train(task):
    counts = Counter(tag for sentence in task.train for tag in sentence.tags)
    even = sum(counts.values()) / len(task.tags)
    args = NERArgs(
        num_train_epochs=task.rounds,
        evaluate_during_training=True,
        evaluate_during_training_steps=-1,
        use_early_stopping=True,
        early_stopping_patience=task.patience,
        early_stopping_metric="macro_f1",
        early_stopping_metric_minimize=False,
        early_stopping_consider_epochs=True,
        output_dir=str(task.folder / "training"),
        best_model_dir=str(task.folder / "model"),
        save_steps=-1,
        save_model_every_epoch=False,
        save_eval_checkpoints=False,
        manual_seed=task.seed,
        use_multiprocessing=False,
        use_multiprocessing_for_evaluation=False,
    )
    model = NERModel(
        "bert",
        task.encoder,
        labels=task.tags,
        weight=[even / max(1, counts[tag]) for tag in task.tags],
        args=args,
        use_cuda=False,
    )
    score = partial(macro_f1, task.types)
    model.train_model(frame(task.round), eval_data=frame(task.dev), macro_f1=score)
    return NERModel("bert", args.best_model_dir, args=args, use_cuda=False), task.folder / "model"


def predict(model, sentences):
    tags, outputs = model.predict(sentences, split_on_space=False)
    entities = []
    for row, output in zip(tags, outputs, strict=True):
        found = [next(iter(word.values())) for word in row]
        logits = [next(iter(word.values()))[0] for word in output]  # of each word's first subword
        scores = [torch.tensor(word).softmax(-1).max().item() for word in logits]
        entities.append(entities_of(found, scores))
    return entities


run(train, predict)
