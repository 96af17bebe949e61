"""Cost of a policy at run time, estimated from records with missing features."""
