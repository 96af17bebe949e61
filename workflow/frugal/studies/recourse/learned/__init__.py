"""The learners behind generators: networks, scorers, neighbours, and their files."""
