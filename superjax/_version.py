"""The version, in the one place that packaging and manifests both read."""

__version__ = "0.1.0"
