"""Rows as the benches make them, with numbers of a test's choosing."""

from bench.rows import Row


def peer_row(what="lapnoise r12", draws=1_000, value=2.0, ratio=10.0, dtype="float64", scale="scalar", threads=1):
    """Return a row of the part on peers."""
    group = f"peers: {dtype}, {scale} scale, {'one thread' if threads else 'all cores'}"
    numpy = f"numpy: {value * ratio:.2f} ns"
    return Row(
        group,
        what,
        value,
        "ns",
        threads,
        0.01,
        numpy,
        ratio,
        reference_spread=0.02,
        draws=draws,
        dtype=dtype,
        scale=scale,
    )
