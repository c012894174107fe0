"""`src.models`: the base class of models, and help with loading large ones. The models themselves are the user's."""
