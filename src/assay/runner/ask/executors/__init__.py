"""A model in several copies: in processes of this machine, or as Ray actors on many machines."""
