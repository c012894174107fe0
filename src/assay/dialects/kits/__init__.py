"""Code that the compatibility layers for VLMEvalKit and for its fork ULMEvalKit share."""
