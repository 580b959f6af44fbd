"""Files are written whole or not at all; the way to do so lives in `_files`."""

from stakes._files import write_whole

__all__ = ["write_whole"]
