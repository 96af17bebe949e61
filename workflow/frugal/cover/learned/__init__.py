"""The learners behind generators: networks, scorers, neighbours, and what their files hold."""
