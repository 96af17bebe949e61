"""Packed files are read in memory only; what is no plain file inside is refused."""

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import tracemalloc

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data import packed as packed_files
from frugal.data.packed import archive_members, content_sha256_of, unpacked_bytes

from tests.unit.stay_files import archive, linked

MEMBERS = {"set/1.txt": b"one\n", "set/2.txt": b"two\n"}


def _members(path):
    return dict(archive_members(path, largest_bytes=100))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_members_arrive_in_order_without_folders(tmp_path, mode):
    path = archive(tmp_path / "a.tar", MEMBERS, mode=mode)
    assert list(_members(path).items()) == list(MEMBERS.items())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar"]  # nothing is extracted


def test_leading_dot_folder_is_passed_over(tmp_path):
    path = archive(tmp_path / "a.tar", {"./set/1.txt": b"one\n"}, folder=False)
    assert list(_members(path)) == ["set/1.txt"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/etc/passwd", "letters, digits"),
        ("set/../../1.txt", "letters, digits"),
        ("set/..", "letters, digits"),
        (".hidden", "letters, digits"),
        ("set/a b.txt", "letters, digits"),
        ("set/a\nb.txt", "letters, digits"),
        ("set//1.txt", "letters, digits"),
    ],
)
def test_strange_names_are_refused(tmp_path, name, words):
    path = archive(tmp_path / "a.tar.gz", {name: b"x"})
    with pytest.raises(DataError, match=words) as caught:
        _members(path)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_refused(tmp_path, kind):
    path = archive(tmp_path / "a.tar.gz", MEMBERS, others=(linked("set/3.txt", "1.txt", kind),))
    with pytest.raises(DataError, match=r"'set/3\.txt', which is a link or a device"):
        _members(path)


def test_large_and_repeated_members_are_refused(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"set/1.txt": b"x" * 101})
    with pytest.raises(DataError, match="of 101 bytes; at most 100"):
        _members(path)
    twice = tmp_path / "b.tar"
    with tarfile.open(twice, "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo("set/1.txt"))
    with pytest.raises(DataError, match="twice"):
        _members(twice)


def test_damaged_archives_are_refused(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {f"set/{i}.txt": bytes(range(97)) for i in range(9)})
    whole = path.read_bytes()
    for cut in (0, 1, 10, len(whole) // 2, len(whole) - 9):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match="cannot be read as a tar archive"):
            _members(path)
    plain = bytearray(gzip.decompress(whole))
    plain[512 * 3 + 100] ^= 0xFF  # a later header
    path.write_bytes(plain)
    with pytest.raises(DataError, match="damaged at byte 1536"):
        _members(path)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        _members(tmp_path / "a.tar.gz")
    with pytest.raises(DataError, match="there is no file"):
        unpacked_bytes(tmp_path / "a.csv")


def test_gzipped_or_not_reads_the_same(tmp_path):
    plain, packed = tmp_path / "a.csv", tmp_path / "b"
    plain.write_bytes(b"a,b\n")
    packed.write_bytes(gzip.compress(b"a,b\n"))
    assert unpacked_bytes(plain) == unpacked_bytes(packed) == b"a,b\n"
    packed.write_bytes(packed.read_bytes()[:-6])
    with pytest.raises(DataError, match="cannot be read"):
        unpacked_bytes(packed)


def test_content_digest_does_not_depend_on_the_packing(tmp_path):
    first = archive(tmp_path / "a.tar.gz", MEMBERS)
    again = archive(
        tmp_path / "b.tar",
        {f"other/{n.split('/')[1]}": c for n, c in reversed(MEMBERS.items())},
        mode="w",
        folder=False,
    )
    lines = [
        f"{n}.txt\n{hashlib.sha256(c).hexdigest()}\n" for n, c in (("1", b"one\n"), ("2", b"two\n"))
    ]
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert content_sha256_of(first, largest_bytes=100) == expected
    assert content_sha256_of(again, largest_bytes=100) == expected
    changed = archive(tmp_path / "c.tar", MEMBERS | {"set/2.txt": b"two!"}, mode="w")
    assert content_sha256_of(changed, largest_bytes=100) != expected
    text = tmp_path / "t.gz"
    text.write_bytes(gzip.compress(b"a,b\n"))
    assert content_sha256_of(text, largest_bytes=1) == hashlib.sha256(b"a,b\n").hexdigest()


@pytest.fixture
def small_limit(monkeypatch):
    """A million bytes may come out of any file; beyond, a hundred times what goes in."""
    monkeypatch.setattr(packed_files, "ALWAYS_UNPACKED", 1_000_000)


def _peak_bytes(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [unpacked_bytes, lambda p: content_sha256_of(p, largest_bytes=1)])
def test_a_gzip_bomb_is_refused_while_it_unpacks(tmp_path, small_limit, read):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000)))

    def work() -> None:
        with pytest.raises(DataError, match=r"unpacks to more than \d{7} bytes; if it is"):
            read(path)

    assert _peak_bytes(work) < 15_000_000


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_of_many_members_is_refused_while_it_unpacks(tmp_path, small_limit, pack):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for k in range(200):
            member = tarfile.TarInfo(f"set/{k}.txt")
            member.size = 50_000
            tar.addfile(member, io.BytesIO(bytes(50_000)))
    path = tmp_path / "bomb.tar"
    path.write_bytes(pack(plain.getvalue()))
    read: list[str] = []
    with pytest.raises(DataError, match="unpacks to more than"):
        read.extend(name for name, _ in archive_members(path, largest_bytes=50_000))


def test_a_header_that_promises_gigabytes_takes_no_memory(tmp_path, small_limit):
    member = tarfile.TarInfo("pax")
    member.type, member.size = tarfile.XHDTYPE, 8_000_000_000
    head = member.tobuf(format=tarfile.GNU_FORMAT)
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(head + bytes(50_000_000)))

    def work() -> None:
        with pytest.raises(DataError, match="unpacks to more than"):
            _members(path)

    assert _peak_bytes(work) < 20_000_000


def test_a_table_that_packs_well_is_read(tmp_path, small_limit):
    content = b"0,1,0,0,1\n" * 90_000
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(content))
    assert unpacked_bytes(path) == content


def test_beyond_a_million_bytes_a_hundred_times_its_size_comes_out(
    tmp_path, small_limit, monkeypatch
):
    """20,000 random bytes do not pack, so that a file of them and many zeros may be large."""
    content = np.random.default_rng(0).bytes(20_000) + bytes(1_500_000)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content))
    assert 15_000 < path.stat().st_size < 30_000
    assert unpacked_bytes(path) == content
    monkeypatch.setattr(packed_files, "MOST_TIMES", 50)
    with pytest.raises(DataError, match=r"unpacks to more than 10\d{5} bytes"):
        unpacked_bytes(path)
    monkeypatch.setattr(packed_files, "MOST_TIMES", 100)
    monkeypatch.setattr(packed_files, "MOST_UNPACKED", 1_200_000)
    with pytest.raises(DataError, match="unpacks to more than 1200000 bytes"):
        unpacked_bytes(path)
    monkeypatch.undo()
    with pytest.raises(DataError, match="at most 2,000,000,000 are read"):
        packed_files.require_fits(path, 2_000_000_001, 10**9)
