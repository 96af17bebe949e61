"""Unit and meaning of the columns that only tables of the shared stages have."""

COLUMNS: dict[str, tuple[str, str]] = {
    # diagnosis
    "rmse_average": ("", "mean of rmse over seeds"),
    "rmse_sd": ("", "standard deviation of rmse over seeds"),
    "rmse_of_mean": ("", "rmse of mean imputation on the same entries"),
    "better_than_mean": ("", "True where the error is below mean imputation's in every seed"),
}

PATTERNS: tuple[tuple[str, tuple[str, str]], ...] = ()
