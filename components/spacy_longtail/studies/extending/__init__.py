"""New types for a pipeline that exists: a gate and a secondary NER beside its frozen components."""
