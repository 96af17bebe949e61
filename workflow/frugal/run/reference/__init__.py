"""Pages of reference, made from declarations: `python -m frugal reference --into FOLDER`."""
