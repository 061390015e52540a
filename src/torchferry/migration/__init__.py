"""Migrating: decide what lives on the device, and rewrite until no device finding is left."""

from __future__ import annotations

from .engine import migrate_document, migrate_documents
from .model import Migration, MigrationOptions, Plan, PlanItem

__all__ = [
    "Migration",
    "MigrationOptions",
    "Plan",
    "PlanItem",
    "migrate_document",
    "migrate_documents",
]
