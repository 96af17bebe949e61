"""The store: files, sidecars, receipts, digests, and how they are replaced and checked."""
