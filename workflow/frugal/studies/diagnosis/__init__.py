"""Lab panels for every budget when positives are rare and F1 counts."""
