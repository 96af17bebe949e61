"""Files of units and records, as searches read them: descriptions, tables, contexts, splits."""
