"""Tags of sequences: their order, their packing, their best paths and the sums over all paths."""
