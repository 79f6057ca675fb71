"""A video that was read is closed, and its threads end."""

from types import SimpleNamespace

from taken import take


class Container:
    streams, is_open = [SimpleNamespace(type="video")], True

    def seek(self, place: int) -> None:
        pass

    def decode(self, stream: object) -> list[SimpleNamespace]:
        return [SimpleNamespace(to_image=lambda: "picture")]

    def __enter__(self) -> "Container":
        return self

    def __exit__(self, *error: object) -> None:
        self.is_open = False


container = Container()
taken = take(
    "mindspeed_mm/data/data_utils/func_utils/mm_plugin.py",
    "MMPluginMixin._regularize_videos",
    av=SimpleNamespace(open=lambda *given: container),
)
plugin = SimpleNamespace(
    _get_video_sample_indices=lambda *given, **named: [0],
    _regularize_images=lambda frames, **named: {"images": frames},
)
assert taken._regularize_videos(plugin, ["file"]) == {"videos": [["picture"]]}
assert not container.is_open, "the video is still open"
