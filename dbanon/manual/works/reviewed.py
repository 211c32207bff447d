"""Papers on algorithms that the review of clustering methods describes."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS: tuple[Work, ...] = ()
