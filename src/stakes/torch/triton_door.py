"""The kernels, where Triton is installed (it comes with torch for CUDA); None elsewhere."""

from typing import Any

kernels: Any
decisions: Any
try:
    from stakes.torch import triton_decisions as decisions
    from stakes.torch import triton_kernels as kernels
except ImportError:
    kernels = decisions = None
