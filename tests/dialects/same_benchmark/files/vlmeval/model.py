from standin import say
from vlmeval.vlm.base import BaseModel


class StandIn(BaseModel):
    def generate_inner(self, message, dataset=None):
        text = "\n".join(part["value"] for part in message if part["type"] == "text")
        return say(text, [part["value"] for part in message if part["type"] == "image"])
