"""Token classification with Hugging Face's Trainer, as in the guide of transformers.

The settings replace defaults of TrainingArguments.
"""

import torch
import transformers
from protocol import Sentence, entities_of, macro_f1, run


def encode(tokenizer, sentences, ids):
    """Return model inputs with the tag of each word at its first subword."""
    rows = []
    for sentence in sentences:
        row = tokenizer(sentence.words, is_split_into_words=True, truncation=True)
        words = row.word_ids()
        starts = {word: i for i, word in reversed(list(enumerate(words))) if word is not None}
        labels = [-100] * len(words)
        for word, i in starts.items():
            labels[i] = ids[sentence.tags[word]]
        rows.append({**row, "labels": labels})
    return rows


def of_words(values, labels):
    return [row[gold != -100] for row, gold in zip(values, labels, strict=True)]


def train(task):
    transformers.set_seed(task.seed)
    tags, ids = task.tags, {tag: i for i, tag in enumerate(task.tags)}
    tokenizer = transformers.AutoTokenizer.from_pretrained(task.encoder, add_prefix_space=True)
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        task.encoder, num_labels=len(tags), id2label=dict(enumerate(tags)), label2id=ids
    )

    def score(outputs):
        sides = (outputs.label_ids, outputs.predictions.argmax(-1))
        gold, best = ([[tags[i] for i in row] for row in of_words(s, outputs.label_ids)] for s in sides)
        return {"macro_f1": macro_f1(task.types, gold, best)}

    arguments = transformers.TrainingArguments(
        task.folder / "model",
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        num_train_epochs=task.rounds,
        load_best_model_at_end=True,
        metric_for_best_model="macro_f1",
        seed=task.seed,
        **task.settings,
    )
    trainer = transformers.Trainer(
        model,
        arguments,
        data_collator=transformers.DataCollatorForTokenClassification(tokenizer),
        train_dataset=encode(tokenizer, task.round, ids),
        eval_dataset=encode(tokenizer, task.dev, ids),
        compute_metrics=score,
        callbacks=[transformers.EarlyStoppingCallback(task.patience)],
    )
    trainer.train()
    trainer.save_model(task.folder / "best")
    return (trainer, tokenizer, tags), task.folder / "best"


def predict(model, sentences):
    trainer, tokenizer, tags = model
    rows = encode(tokenizer, [Sentence(words, ["O"] * len(words)) for words in sentences], {"O": 0})
    outputs = trainer.predict(rows)
    scores = torch.from_numpy(outputs.predictions).softmax(-1).numpy()
    return [
        entities_of([tags[i] for i in p.argmax(-1)], p.max(-1).tolist())
        for p in of_words(scores, outputs.label_ids)
    ]


run(train, predict)
