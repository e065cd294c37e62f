# SPDX-License-Identifier: MIT
"""A function for each profiler, with keyword arguments from its descriptor."""
import inspect

from . import _attar, _options
from ._error import nearest
from ._run import run_profiler


class Profiler:
    """A function that runs a profiler: its options are keyword arguments."""

    def __init__(self, name, summary):
        self.profiler = name
        self.__name__ = self.__qualname__ = _options.keyword_of(name)
        self.__doc__ = f'{summary[0].upper()}{summary[1:]}.\n\nhelp: attar help {name}'

    def __call__(self, *operands, command=None, **options):
        return run_profiler(self.__name__, self.profiler, operands, options, command)

    @property
    def options(self):
        """What each keyword argument means."""
        return {key: option.about for key, option in _options.of_profiler(self.profiler).items()}

    @property
    def __signature__(self):
        """For help() and the completion of notebooks."""
        names = ['command', 'stacks', *_options.of_profiler(self.profiler)]
        return inspect.Signature(
            [inspect.Parameter('operands', inspect.Parameter.VAR_POSITIONAL)]
            + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
               for name in dict.fromkeys(names)])

    def __repr__(self):
        return f'<attar.{self.__name__}: a profiler>'


_functions = {_options.keyword_of(name): Profiler(name, summary)
              for name, _, summary, _ in _attar.profilers(False)}
globals().update(_functions)
__all__ = list(_functions)


class OnRecordings:
    """A method for each profiler, which reads the recording at self.path."""

    path = None

    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        function = find(name)

        def on_recording(*operands, **options):
            return function(*operands, input=self.path, **options)

        on_recording.__name__, on_recording.__doc__ = name, function.__doc__
        return on_recording

    def __dir__(self):
        return [*super().__dir__(), *__all__]


def find(name):
    """Return the function of a profiler, by its name or that of the function."""
    function = _functions.get(_options.keyword_of(name))
    if function is None:
        raise AttributeError(f"attar has no profiler '{name}'{nearest(name, _functions)}")
    return function
