"""Methods of the field, which other studies learn and judge as kinds of agents."""
