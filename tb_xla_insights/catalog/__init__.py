"""From the names of host events to what they mean: their classes, and tags for events that analyses ask for."""

from tb_xla_insights.catalog.catalog import CLASSES, Catalog, load_catalog

__all__ = ["CLASSES", "Catalog", "load_catalog"]
