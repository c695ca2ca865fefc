"""Plans of trials, and the store in which each finished trial is recorded once."""
