"""Commands of this study, a file each."""
