"""Fair acquisition against an adversary who reads the group from the collected features."""
