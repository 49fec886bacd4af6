"""Row groups of a target: where they end does not follow from the pieces that were read."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
import structures
import tables

from lapnoise.files import _batches, _row_groups, add_noise
from lapnoise.files._row_groups import RowGroups

LOCAL = {"epsilon": 1, "local": True, "clip": (0, 10), "fill": 5, "columns": "v", "force": True}
ROWS = 6000


def groups(table: pa.Table, cuts: list[int], ends: bool) -> list[pa.Table]:
    gathered = RowGroups(table.schema)
    edges = [0, *cuts, table.num_rows]
    found = []
    for start, stop in itertools.pairwise(edges):
        (batch,) = table.slice(start, stop - start).to_batches()
        found += gathered.add(batch, ends_group=ends and stop == table.num_rows)
    return [*found, *gathered.rest()]


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(("most", "first", "others"), [(1700, 1536, 1024), (900, 900, 900)])
def test_pieces_do_not_tell_where_groups_end(monkeypatch, ends, most, first, others):
    monkeypatch.setattr(_row_groups, "MOST_GROUP_ROWS", most)
    monkeypatch.setattr(_row_groups, "MOST_GROUP_BYTES", 54_000)
    random = np.random.default_rng()
    text = ["y" * int(length) for length in random.integers(0, 20, 1000)] + ["y" * 50] * 4000
    table = pa.table({"v": np.arange(5000.0), "s": text})
    whole = groups(table, [], ends)
    # 1000 rows of some 25.5 bytes and 432 of 66 fill a group, or 819 of these.
    assert [group.num_rows for group in whole][:-1] == [first] + [others] * (len(whole) - 2)
    assert pa.concat_tables(whole).equals(table)
    for _ in range(5):
        cuts = sorted(random.choice(np.arange(1, 5000), 12, replace=False).tolist())
        found = groups(table, cuts, ends)
        assert [group.num_rows for group in found] == [group.num_rows for group in whole]
        assert all(column.num_chunks == 1 for group in found for column in group.columns)


def secrets() -> list[pa.Array]:
    """Return columns that differ in what one person has: a number with few others like it, or none."""
    numbers = (np.arange(ROWS) % 256).astype(float)
    other = numbers.copy()
    other[5] = 1000.5
    return [pa.array(numbers), pa.array(other), pa.array(numbers, mask=np.arange(ROWS) == 777)]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_one_person_changes_no_structure(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(_batches, "MOST_PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(_row_groups, "MOST_GROUP_BYTES", 1 << 16)
    source, target = tmp_path / f"s{suffix}", tmp_path / f"t{suffix}"
    published = {"text": [f"{k:030d}" for k in range(ROWS)], "same": ["a"] * ROWS}
    # As a writer that falls back to plain numbers where there are too many different ones.
    options = {"compression": "none", "use_dictionary": ["v", "same"], "dictionary_pagesize_limit": 2052}
    seen = []
    for secret in secrets():
        tables.write(pa.table({"v": secret, **published}), source, **(options if suffix == ".parquet" else {}))
        assert add_noise(source, target, **LOCAL).cells_missing == 0
        seen.append((structures.structure(source), structures.structure(target)))
    # Other numbers change no structure of an Arrow file.
    assert [before != seen[0][0] for before, _ in seen] == [False, suffix == ".parquet", True]
    assert seen[0][1] == seen[1][1] == seen[2][1]
    assert len(structures.rows_of(seen[0][1])) > 3


def test_one_person_changes_no_structure_of_a_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(_batches, "MOST_PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(_row_groups, "MOST_GROUP_BYTES", 1 << 16)
    source = tmp_path / "s"
    source.mkdir()
    seen = []
    for secret in secrets():
        for name in ("a", "b"):
            table = pa.table({"v": secret, "text": [f"{k:030d}" for k in range(ROWS)]})
            tables.write(table, source / f"{name}.parquet", compression="none", use_dictionary=["v"])
        add_noise(source, tmp_path / "t", **LOCAL)
        seen.append((structures.structure(source), structures.structure(tmp_path / "t")))
    assert all(before != seen[0][0] for before, _ in seen[1:])
    assert seen[0][1] == seen[1][1] == seen[2][1]
    assert [len(found) > 3 for _, found in seen[0][1]] == [True, True]


@pytest.mark.parametrize("others", [{}, {"s": ["a"] * 300}])
def test_codecs_of_noised_columns_are_not_their_own(tmp_path, others):
    """Some writers compress a column only where that makes it smaller."""
    found = []
    for codec in ("none", "zstd"):
        table = pa.table({"v": np.arange(300.0), **others})
        codecs = {"v": codec, **dict.fromkeys(others, "gzip")}
        source = tables.write(table, tmp_path / "s.parquet", compression=codecs, use_dictionary=codec == "zstd")
        add_noise(source, tmp_path / "t.parquet", **LOCAL)
        (group,) = structures.structure(tmp_path / "t.parquet")
        found.append(group[1][0])
    assert found[0] == found[1]
    assert found[0][0] == ("GZIP" if others else "SNAPPY")
    assert not found[0][2]
