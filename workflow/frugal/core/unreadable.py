"""What is said of a file that is not what its suffix says, whatever a library raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from frugal.core.errors import DataError


def require_file(path: Path) -> None:
    """Refuse what is no file.

    Raises:
        DataError: nothing is there, or a folder, a pipe or a device.
    """
    if not path.is_file():
        if path.exists():
            raise DataError(f"{path} is a folder, a pipe or a device; a file is needed")
        raise DataError(f"{path} does not exist; it should have been made by an earlier step")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what reading a file may raise into a sentence.

    Raises:
        DataError: in place of an error of the file's own.
    """
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError, RecursionError) as error:
        raise DataError(_said(path, error)) from error
    except Exception as error:
        foreign = type(error).__module__.split(".")[0] in {"pyarrow", "safetensors"}
        # what a Parquet file says of itself for pandas can end in any error of Python's own
        foreign |= path.suffix == ".parquet" and not isinstance(error, MemoryError)
        if path.suffix == ".safetensors" and isinstance(error, TypeError | AttributeError):
            reason = "it holds numbers of a type that NumPy lacks, such as bfloat16"
            raise DataError(f"{path} cannot be read as safetensors: {reason}") from error
        if not foreign:
            raise
        raise DataError(_said(path, error)) from error


def _said(path: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"{path} cannot be read as {path.suffix[1:]}: {reason}"
