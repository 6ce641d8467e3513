from os import PathLike
from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

def scenes() -> list[str]:
    """Names of the built-in scenes."""

def centers(scene: Scene) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Coordinates of the cells' centres [m]."""

def faces(scene: Scene, axis: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Coordinates of the faces across an axis [m]."""

class Scene:
    """A scene: box, fluid, sources, solids, forces, light and camera. Settings are the keys of docs/scene.md as dictionaries."""

    def __init__(self, name: str | PathLike[str] = "plume", **settings: Any) -> None: ...
    @staticmethod
    def parse(text: str, **settings: Any) -> Scene:
        """A scene from TOML."""
    def replace(self, **settings: Any) -> Scene:
        """This scene with other settings."""
    def solver(self, threads: int | None = None) -> Solver:
        """A solver at the start of this scene. None: as the scene says; 0: one thread for each processor."""
    @property
    def name(self) -> str: ...
    @property
    def cells(self) -> tuple[int, int, int]:
        """Cells along x, y, z."""
    @property
    def voxel(self) -> float:
        """Edge of a cell [m]."""
    @property
    def extent(self) -> tuple[float, float, float]:
        """Size of the box [m]."""
    @property
    def frame_rate(self) -> float:
        """Frames per simulated second."""
    @property
    def size(self) -> tuple[int, int]:
        """Width and height of pictures [px]."""
    @property
    def memory(self) -> int:
        """Estimated memory of a run [bytes]."""

class Solver:
    """A running simulation. Its fields are read-only arrays [x, y, z] without a copy that keep their instant."""

    def __init__(self, scene: Scene, threads: int | None = None) -> None: ...
    def step(self, dt: float | None = None) -> dict[str, Any]:
        """Advances by dt seconds, or by one frame of the scene. Returns `stats`."""
    def set(self, **fields: ArrayLike) -> None:
        """Sets whole fields: red, green, blue, temperature, u, v, w. The velocity is projected then."""
    def add(self, **fields: ArrayLike) -> None:
        """Adds to whole fields; for u, v and w a force is dt times an acceleration."""
    def dab(
        self,
        center: Sequence[float],
        radius: float,
        *,
        red: float = 0,
        green: float = 0,
        blue: float = 0,
        temperature: float = 0,
        push: Sequence[float] = (0, 0, 0),
        erase: float = 0,
    ) -> None:
        """One dab of the window's brush: a ball that fades to its edge [m]."""
    def change(self, **settings: Any) -> None:
        """Changes keys of the scene that act at once: fluid, smoke, source, force, render."""
    def render(self, **settings: Any) -> NDArray[np.uint8]:
        """A picture [row, column, channel]. Settings are those of the scene's `render` table."""
    def copy(self) -> Solver:
        """A solver with the same state that goes on by itself."""
    @property
    def scene(self) -> Scene: ...
    @property
    def time(self) -> float:
        """Simulated time [s]."""
    @property
    def threads(self) -> int: ...
    @property
    def stats(self) -> dict[str, Any]:
        """Numbers of the last step."""
    @property
    def red(self) -> NDArray[np.float32]:
        """Density of the first smoke [-]."""
    @property
    def green(self) -> NDArray[np.float32]:
        """Density of the second smoke [-]."""
    @property
    def blue(self) -> NDArray[np.float32]:
        """Density of the third smoke [-]."""
    @property
    def temperature(self) -> NDArray[np.float32]:
        """Temperature above that of the air outside [K]."""
    @property
    def u(self) -> NDArray[np.float32]:
        """Velocity along x on faces across x [m/s]."""
    @property
    def v(self) -> NDArray[np.float32]:
        """Velocity along y on faces across y [m/s]."""
    @property
    def w(self) -> NDArray[np.float32]:
        """Velocity along z on faces across z [m/s]."""
