"""Warnings and errors that lapnoise raises beside Python's own."""

__all__ = [
    "InputDataError",
    "LapnoiseError",
    "LapnoiseWarning",
    "OutputError",
    "SeededNoiseWarning",
    "UncachedKernelsWarning",
    "UnsafeFloatNoiseWarning",
]


class LapnoiseError(Exception):
    """Base of the errors that belong to lapnoise alone."""


class InputDataError(LapnoiseError, ValueError):
    """The contents of a source do not have the form that was asked for; row and column are named, values never."""


class OutputError(LapnoiseError, OSError):
    """A target could not be written; nothing was left behind."""


class LapnoiseWarning(UserWarning):
    """Base of the warnings that belong to lapnoise alone."""


class SeededNoiseWarning(LapnoiseWarning):
    """Noise came from a seed: it can be drawn again by anyone who knows the seed, so it protects nobody."""


class UnsafeFloatNoiseWarning(LapnoiseWarning):
    """Noise was added in floating point, whose low bits can tell values apart (Mironov 2012)."""


class UncachedKernelsWarning(LapnoiseWarning):
    """Compiled kernels cannot be kept on disk, so every new process compiles them again."""
