from src.models.base import Model
from src.models.standin import say


class StandIn(Model):
    def __init__(self, sample_params=None):
        super().__init__(sample_params)

    def generate_once(self, audio, **kwargs):
        return {"pred": say(kwargs["query"])}

    def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
        said = zip(kwargs["user_query_history"], assistant_history, strict=True)
        return {
            "pred": say(
                "\n".join(
                    [*(text for pair in said for text in pair), kwargs["user_query"]]
                )
            )
        }
