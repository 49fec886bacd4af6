"""Benches of lapnoise: `pytest bench` times stage by stage, `python -m bench.report` prints one table from one run.

Modules
-------
contenders
    Who is compared, and the check that each draws the right distribution.
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
rows
    Lines of the table, and how they print.
sections, report
    The parts of the table, and the table.
assembly
    Instructions of the sampler's loops, counted.
"""
