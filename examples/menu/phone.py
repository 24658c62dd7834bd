from turnfsm import Event


class Phone:
    """The host of the menu: one method for each action, one for each host fact."""

    def __init__(self, person_free: bool = True) -> None:
        self.free = person_free
        self.done: list[str] = []

    def person_free(self) -> bool:
        return self.free

    def say_menu(self, event: Event) -> None:
        self.done.append("menu")

    def say_hours(self, event: Event) -> None:
        self.done.append("hours")

    def say_busy(self, event: Event) -> None:
        self.done.append("busy")

    def connect(self, event: Event) -> None:
        self.done.append("connect")

    def hang_up(self, event: Event) -> None:
        self.done.append("hang up")
