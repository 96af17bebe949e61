"""Raw files are found where they should be, and refused if they are not the right ones."""

import gzip
import hashlib

import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.data.raw import locate_file, sha256_of, verify_content, verify_sha256

from tests.unit.dataset_documents import document, load

CONTENT = b"a,b\n1,2\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def _downloadable(tmp_path):
    content = document()
    content["source"]["kind"] = "download"
    content["source"]["files"] = [
        {"name": "set/a.csv", "url": "https://example.org/a.csv", "sha256": DIGEST}
    ]
    return load(tmp_path, content)


def test_own_file_next_to_the_description(tmp_path):
    description = load(tmp_path, document())
    (tmp_path / "small.csv").write_bytes(CONTENT)
    found = locate_file(description, "small.csv", data_mirror=None)
    assert found == tmp_path / "small.csv"


def test_own_file_by_absolute_path(tmp_path):
    content = document()
    own = tmp_path / "elsewhere.csv"
    own.write_bytes(CONTENT)
    content["source"]["files"][0]["name"] = str(own)
    assert locate_file(load(tmp_path, content), str(own), data_mirror=None) == own


def test_own_file_in_the_mirror(tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "small.csv").write_bytes(CONTENT)
    description = load(tmp_path, document())
    assert locate_file(description, "small.csv", data_mirror=mirror) == mirror / "small.csv"


def test_own_file_nowhere_says_where_to_write_the_path(tmp_path):
    content = document()
    content["source"]["files"][0]["url"] = "https://example.org/terms"
    with pytest.raises(DataError, match=r"'small\.csv'.*https://example\.org/terms.*source\.files"):
        locate_file(load(tmp_path, content), "small.csv", data_mirror=None)


def test_publishers_file_is_downloaded_or_mirrored(tmp_path):
    description = _downloadable(tmp_path)
    assert locate_file(description, "set/a.csv", data_mirror=None) is None
    with pytest.raises(DataError, match=r"mirror .* has no file 'set/a\.csv'"):
        locate_file(description, "set/a.csv", data_mirror=tmp_path)
    (tmp_path / "set").mkdir()
    (tmp_path / "set/a.csv").write_bytes(CONTENT)
    assert locate_file(description, "set/a.csv", data_mirror=tmp_path) == tmp_path / "set/a.csv"


def test_unknown_file_name(tmp_path):
    with pytest.raises(ConfigError, match=r"no file 'b\.csv'; its files are set/a\.csv"):
        locate_file(_downloadable(tmp_path), "b.csv", data_mirror=None)


def test_digest_is_that_of_the_library(tmp_path):
    file = tmp_path / "big"
    file.write_bytes(b"x" * 3_000_000)  # several chunks
    assert sha256_of(file) == hashlib.sha256(b"x" * 3_000_000).hexdigest()
    assert verify_sha256(file, None) == sha256_of(file)
    assert verify_sha256(file, sha256_of(file)) == sha256_of(file)


def test_without_a_digest_of_the_content_nothing_is_unpacked(tmp_path):
    assert verify_content(tmp_path / "absent.gz", None) is None


def test_content_is_that_of_the_digest_whatever_the_packing(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CONTENT))
    assert verify_content(path, None) is None
    assert verify_content(path, DIGEST) == DIGEST
    for other in ("0" * 64, "f" * 64):
        with pytest.raises(DataError, match=f"has SHA-256 {DIGEST}, but {other} is expected"):
            verify_content(path, other)
