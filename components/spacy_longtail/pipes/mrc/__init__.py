"""NER by reading comprehension: one query per type."""
