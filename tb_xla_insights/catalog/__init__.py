"""The catalogue of host events: classes and tags by event name."""

from tb_xla_insights.catalog.catalog import CLASSES, Catalog, load_catalog, without_encoded_stats

__all__ = ["CLASSES", "Catalog", "load_catalog", "without_encoded_stats"]
