"""The store: files, manifests, digests, and how they are replaced and checked."""
