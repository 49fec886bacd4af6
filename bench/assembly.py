"""`python -m bench.assembly`: what bounds the sampler, from the instructions of its loops and the time each takes.

A loop is judged by instructions a draw and by instructions a cycle: near four to six a cycle the processor is full, far
below it waits for results. Loops are told apart by what is in them, on x86-64 only.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.environment import INSIDE, rerun

__all__ = ["Loop", "innermost_loops", "main", "sampler_loops"]

GROUP_WORDS = 128
CHACHA = "ChaCha, two rounds"

_LABEL = re.compile(r"^(\.L\w+):")
_JUMP = re.compile(r"^\tj\w+\s+(\.L\w+)")
_INSTRUCTION = re.compile(r"^\t([a-z]\w*)(?:\s+(.*))?$")
_STEP = re.compile(r"^\taddq\s+\$(\d+), %r")


@dataclass(frozen=True)
class Loop:
    """An innermost loop.

    Attributes
    ----------
    lines : tuple of str
        Its assembly.
    counts : Counter
        How often each instruction stands in it.
    """

    lines: tuple[str, ...]
    counts: Counter[str]

    @property
    def instructions(self) -> int:
        """Number of instructions of one turn."""
        return self.counts.total()

    @property
    def width(self) -> str:
        """The widest vector registers used: zmm, ymm, xmm or none."""
        text = "\n".join(self.lines)
        return next((kind for kind in ("zmm", "ymm", "xmm") if f"%{kind}" in text), "none")

    @property
    def step(self) -> int:
        """By how much one turn moves on the loop's counter."""
        return max((int(found[1]) for line in self.lines if (found := _STEP.match(line))), default=1)

    def having(self, *parts: str) -> int:
        """Return the number of instructions whose name contains one of these."""
        return sum(count for name, count in self.counts.items() if any(part in name for part in parts))

    def chacha_words(self) -> int:
        """Return the words that one turn of a ChaCha loop works on: two rounds take 32 additions for 16 lanes."""
        lanes = 16 if self.width == "zmm" else 8
        return self.having("paddd") * lanes * GROUP_WORDS // (32 * 16)

    def touching_memory(self) -> int:
        """Return the number of instructions that read or write memory, constants included."""
        return sum(1 for line in self.lines if "(" in line and not line.startswith("\tlea"))


def innermost_loops(assembly: str) -> Iterator[Loop]:
    """Yield the loops of a function that contain no other loop and no call."""
    lines = assembly.splitlines()
    places = {found[1]: i for i, line in enumerate(lines) if (found := _LABEL.match(line))}
    spans = []
    for i, line in enumerate(lines):
        found = _JUMP.match(line)
        if found and places.get(found[1], i) < i:
            spans.append((places[found[1]], i))
    for first, last in spans:
        if any(first <= start and end <= last and (start, end) != (first, last) for start, end in spans):
            continue
        body = tuple(line for line in lines[first : last + 1] if _INSTRUCTION.match(line))
        counts = Counter(found[1] for line in body if (found := _INSTRUCTION.match(line)))
        if not any(name.startswith(("call", "ret")) for name in counts):
            yield Loop(body, counts)


def sampler_loops(assembly: str) -> dict[str, Loop]:
    """Return the vector loops of ``fill_laplace`` by what they do."""
    found: dict[str, Loop] = {}
    for loop in innermost_loops(assembly):
        if loop.width not in ("zmm", "ymm"):
            continue
        if loop.having("paddd") >= 32 and not loop.having("fmadd"):
            # Where several groups are made at once, a loop over single ones is left for the rest.
            found[CHACHA] = max(found.get(CHACHA, loop), loop, key=lambda loop: loop.having("paddd"))
        elif loop.having("vdivpd"):
            found["word to uniform and ratio"] = loop
        elif loop.having("fmadd", "fmsub", "fnmadd") >= 8:
            found["logarithm, scale, sign, location"] = loop
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print instructions, time and cycles of each loop."""
    parser = argparse.ArgumentParser(prog="python -m bench.assembly", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpu", choices=("host", "avx2"), default="host", help="avx2: use nothing wider")
    options = parser.parse_args(arguments)
    if INSIDE not in os.environ:
        return rerun("bench.assembly", [], options.cpu)
    if platform.machine() not in ("x86_64", "AMD64"):
        print("bench.assembly reads x86-64 assembly only", file=sys.stderr)
        return 2
    _print()
    return 0


def _print() -> None:
    import numpy as np

    import lapnoise
    from bench.machine import clock, describe
    from bench.stages import STAGE_DRAWS, refill_call, stage_calls
    from bench.timing import Timed, interleave
    from lapnoise import _kernel_table

    lapnoise.default_rng(1).laplace(size=1)
    (assembly,) = _kernel_table.laplace[np.dtype(np.float64)].inspect_asm().values()
    loops = sampler_loops(assembly)
    calls: dict[str, Callable[[], object]] = {f"{r} rounds": refill_call(r) for r in (8, 12, 20)}
    calls |= stage_calls("float64")
    times = interleave([Timed(name, call, STAGE_DRAWS["float64"]) for name, call in calls.items()], 31)
    # Twelve rounds between 8 and 20 are six turns of the loop; what remains of a group's time is not in it.
    two_rounds = (times["20 rounds"].ns - times["8 rounds"].ns) / 6
    ns = {CHACHA: two_rounds} | {name: times[name].ns for name in loops if name in times}
    per_turn = {name: loop.chacha_words() if name == CHACHA else loop.step for name, loop in loops.items()}
    rate = clock()
    machine = describe()
    print(f"{machine['processor']}, compiled for {machine['compiled for']}, {rate:.2f} GHz\n")
    headings = ["loop of fill_laplace", "registers", "instructions", "draws", "a draw", "FMA", "divisions", "memory"]
    headings += ["ns a draw", "cycles a draw", "instructions a cycle"]
    print("| " + " | ".join(headings) + " |")
    print("| " + " | ".join("---" for _ in headings) + " |")
    for name, loop in loops.items():
        each, cycles = loop.instructions / per_turn[name], ns[name] * rate
        cells: list[object] = [name, loop.width, loop.instructions, per_turn[name], f"{each:.2f}"]
        cells += [loop.having("fmadd", "fmsub", "fnmsub"), loop.having("vdiv"), loop.touching_memory()]
        cells += [f"{ns[name]:.3f}", f"{cycles:.2f}", f"{each / cycles:.1f}"]
        print("| " + " | ".join(map(str, cells)) + " |")
    print()
    for rounds in (8, 12, 20):
        words = times[f"{rounds} rounds"].ns
        total = words + sum(ns[name] for name in loops if name in times)
        print(f"{rounds:>2} rounds: words {words:.2f} ns, with both loops {total:.2f} ns, {total * rate:.1f} cycles")


if __name__ == "__main__":
    sys.exit(main())
