"""Fair acquisition against an adversary who reads the group from what was collected."""
