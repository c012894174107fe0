"""`vlmeval.dataset.video_base`: `VideoBaseDataset`, questions about videos, which models see as images or whole."""

from pathlib import Path
from typing import Any, ClassVar

from .....core import UsageError
from ...places import image_folder
from ...videos import Spacing, video_frames
from ..smp.file import load
from .image_base import ImageBaseDataset
from .reporting import Reporting

__all__ = ["VideoBaseDataset"]


class VideoBaseDataset(Reporting):
    """Base of dataset classes about videos; subclasses write `prepare_dataset`, `build_prompt` and `evaluate`."""

    MODALITY = "VIDEO"
    TYPE: ClassVar[str] = "Video-VQA"

    def __init__(
        self,
        dataset: str = "MMBench-Video",
        pack: bool = False,
        nframe: int = 0,
        fps: float = -1,
    ) -> None:
        if pack:
            raise UsageError(
                "pack=True would ask all questions of a video at once",
                fix="leave it out",
            )
        if fps > 0 and nframe > 0:
            raise ValueError("fps and nframe should not be set at the same time")
        self.dataset_name = dataset
        found = self.prepare_dataset(dataset)
        self.data_root: str = found["root"]
        self.data_file: str = found["data_file"]
        self.frame_root = str(image_folder(dataset))
        Path(self.frame_root).mkdir(parents=True, exist_ok=True)
        self.frame_tmpl, self.frame_tmpl_fps = (
            "frame-{}-of-{}.jpg",
            "frame-{}-of-{}-{}fps.jpg",
        )
        self.pack, self.nframe, self.fps = pack, nframe, fps
        self.split_frame = fps > 0 or nframe > 0
        self.data = load(self.data_file)
        missing = [name for name in ("question", "video") if name not in self.data]
        if missing:
            raise UsageError(
                f"videos need the column {missing[0]!r}", where=str(self.data_file)
            )
        if "index" not in self.data:
            self.data["index"] = range(len(self.data))
        self.videos = sorted(set(self.data["video"]))

    def prepare_dataset(self, dataset: str) -> dict[str, str]:
        """Where videos and table lie, `dict(root=…, data_file=…)`; by default `$LMUData/<dataset>.tsv`."""
        table = ImageBaseDataset(dataset, skip_noimg=False).data_file
        return {"root": str(Path(table).parent), "data_file": str(table)}

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """The TSV `$LMUData/<dataset>.tsv` as a data frame; downloaded if need be, its MD5 checked afterwards."""
        table = ImageBaseDataset(self.dataset_name, skip_noimg=False)
        found = table.prepare_tsv(url, file_md5)
        self.data_path = table.data_path
        return found

    def frame_paths(self, video: str) -> list[str]:
        """Where `nframe` frames of a video go; the folder is made."""
        return self._assay_frame_files(video, self.frame_tmpl, self.nframe)

    def frame_paths_fps(self, video: str, num_frames: int) -> list[str]:
        """Where the frames of a video go that are taken by rate."""
        return self._assay_frame_files(video, self.frame_tmpl_fps, num_frames)

    def _assay_frame_files(self, video: str, names: str, count: int) -> list[str]:
        folder = Path(self.frame_root) / video
        folder.mkdir(parents=True, exist_ok=True)
        return [
            str(folder / names.format(number, count, self.fps))
            for number in range(1, count + 1)
        ]

    def save_video_frames(self, video: str) -> list[str]:
        """The frames of a video as files: `nframe` of them evenly spread, or `fps` for each second."""
        file = Path(self.data_root) / (video if Path(video).suffix else f"{video}.mp4")
        folder = Path(self.frame_root) / Path(video).stem
        return video_frames(file, folder, Spacing(self.nframe, self.fps))

    def build_prompt(self, line: Any, video_llm: bool = False) -> Any:
        """The video, whole or as images, then the question."""
        line = self._assay_line(line)
        video = str(line["video"])
        if video_llm or not self.split_frame:
            file = Path(self.data_root) / (
                video if Path(video).suffix else f"{video}.mp4"
            )
            media = [{"type": "video", "value": str(file)}]
        else:
            media = [
                {"type": "image", "value": path}
                for path in self.save_video_frames(video)
            ]
        return [*media, {"type": "text", "value": str(line["question"])}]
