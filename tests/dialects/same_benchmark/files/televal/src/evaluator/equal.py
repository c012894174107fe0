from src.utils import parallel_batch


class Equal:
    def __init__(self, max_workers=None):
        self.max_workers = max_workers

    @parallel_batch(default_workers=2)
    def evaluate(self, pred, ref, pred_info, **kwargs):
        return {"key": pred_info["key"], "score": int(pred == str(ref))}
