"""The formats of files, as VLMEvalKit's environment variables choose them."""

from ..kits.smp.result_files import FORMATS, get_eval_file_format, get_pred_file_format

__all__ = ["FORMATS", "evaluation_format", "prediction_format"]

prediction_format = get_pred_file_format
evaluation_format = get_eval_file_format
