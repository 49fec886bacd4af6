"""The version of the package, read by the build and stamped into every kernel's cache."""

__version__ = "0.1.0"
