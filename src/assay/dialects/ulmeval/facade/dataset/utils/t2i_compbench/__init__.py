"""`ulmeval.dataset.utils.t2i_compbench`: how T2I-CompBench scores places."""
