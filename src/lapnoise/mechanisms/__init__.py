"""Mechanisms: from a budget and a sensitivity to a release, one mechanism a file."""

from __future__ import annotations

from lapnoise.mechanisms.bounded_laplace import BoundedLaplaceMechanism
from lapnoise.mechanisms.discrete_laplace import DiscreteLaplaceMechanism
from lapnoise.mechanisms.exponential import ExponentialMechanism
from lapnoise.mechanisms.gaussian import GaussianMechanism
from lapnoise.mechanisms.laplace import LaplaceMechanism
from lapnoise.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from lapnoise.mechanisms.planar_laplace import PlanarLaplaceMechanism
from lapnoise.mechanisms.stratified_laplace import StratifiedLaplaceMechanism
from lapnoise.mechanisms.truncated_laplace import TruncatedLaplaceMechanism

__all__ = [
    "BoundedLaplaceMechanism",
    "DiscreteLaplaceMechanism",
    "ExponentialMechanism",
    "GaussianMechanism",
    "LaplaceMechanism",
    "PermuteAndFlipMechanism",
    "PlanarLaplaceMechanism",
    "StratifiedLaplaceMechanism",
    "TruncatedLaplaceMechanism",
]
