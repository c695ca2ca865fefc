"""Token classification by Hugging Face's Trainer, as in the guide of transformers.

Settings replace the defaults of TrainingArguments.
"""

import torch
from protocol import Sentence, entities_of, macro_f1, run
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)


def encode(tokenizer, sentences, ids):
    rows = []
    for sentence in sentences:
        row = tokenizer(sentence.words, is_split_into_words=True, truncation=True)
        words = row.word_ids()
        labels = [-100] * len(words)
        for i, word in enumerate(words):
            if word is not None and word != words[i - 1]:
                labels[i] = ids[sentence.tags[word]]
        row["labels"] = labels
        rows.append(dict(row))
    return rows


def train(task):
    set_seed(task.seed)
    tags, ids = task.tags, {tag: i for i, tag in enumerate(task.tags)}
    tokenizer = AutoTokenizer.from_pretrained(task.encoder, add_prefix_space=True)
    model = AutoModelForTokenClassification.from_pretrained(
        task.encoder, num_labels=len(tags), id2label=dict(enumerate(tags)), label2id=ids
    )

    def score(prediction):
        kept = [row != -100 for row in prediction.label_ids]
        best = prediction.predictions.argmax(-1)
        gold, found = (
            [[tags[i] for i in row[k]] for row, k in zip(side, kept, strict=True)]
            for side in (prediction.label_ids, best)
        )
        return {"macro_f1": macro_f1(task.types, gold, found)}

    arguments = TrainingArguments(
        task.folder / "model",
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        num_train_epochs=task.rounds,
        load_best_model_at_end=True,
        metric_for_best_model="macro_f1",
        seed=task.seed,
        use_cpu=True,
        report_to="none",
        **task.settings,
    )
    trainer = Trainer(
        model,
        arguments,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        train_dataset=encode(tokenizer, task.round, ids),
        eval_dataset=encode(tokenizer, task.dev, ids),
        compute_metrics=score,
        callbacks=[EarlyStoppingCallback(task.patience)],
    )
    trainer.train()
    trainer.save_model(task.folder / "best")
    return (trainer, tokenizer, tags), task.folder / "best"


def predict(model, sentences):
    trainer, tokenizer, tags = model
    rows = encode(tokenizer, [Sentence(words, ["O"] * len(words)) for words in sentences], {"O": 0})
    found = trainer.predict(rows)
    p = torch.from_numpy(found.predictions).softmax(-1).numpy()
    entities = []
    for scores, labels in zip(p, found.label_ids, strict=True):
        kept = scores[labels != -100]
        best = [tags[i] for i in kept.argmax(-1)]
        entities.append(entities_of(best, kept.max(-1).tolist()))
    return entities


if __name__ == "__main__":
    run(train, predict)
