"""The run folder as the other processes of a run know it: the first one writes it."""

from __future__ import annotations

from superjax.runs.results import MANIFEST, RunFolder


class Follower(RunFolder):
    """A `RunFolder` to name, not to write.

    Args:
        path: the folder.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> Follower(Path(tempfile.mkdtemp())).begun
        False
    """

    @property
    def begun(self) -> bool:
        """Whether the first process has begun to write it, on a disk that this one sees."""
        return (self.path / MANIFEST).exists()
