"""What a policy would cost at run time, judged from records with missing features."""
