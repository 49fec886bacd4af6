"""Benches of lapnoise: `pytest bench` times stage by stage, `python -m bench.report` prints one table from one run.

Modules
-------
contender, contenders, contenders_*, numba_loops
    Who is compared, and the check that each draws the right distribution.
samplers
    A sampler of the user's own among them.
quality
    What a draw of each is worth: claims, and what is seen in draws.
stages
    The steps of the sampler, each as a loop of its own.
timing
    The clock: pinned cores, warm-up, contenders interleaved.
probes
    What needs a process of its own: import, first call, memory.
targets
    The numbers to reach, in one place.
environment
    A fresh process with a cache of its own.
machine
    What the numbers were measured on, and how to measure without AVX-512.
rows, peer_table, picture, output_files
    Lines of the tables, how they print, and the picture.
sections, sections_*, parts, report
    The parts of the tables, and the tables.
compare
    What became slower from one report to another.
assembly
    Instructions of the sampler's loops, counted.
"""
