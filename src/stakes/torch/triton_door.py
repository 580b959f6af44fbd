"""The kernels, where there is Triton: it comes with torch for CUDA, and with nothing else."""

from typing import Any

kernels: Any
decisions: Any
try:
    from stakes.torch import triton_decisions as decisions
    from stakes.torch import triton_kernels as kernels
except ImportError:
    kernels = decisions = None
