"""Files between the steps: payloads, sidecars and digests. The only code that touches results/."""
