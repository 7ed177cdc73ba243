"""Texts that know where their characters come from, and what a chat template does with them most often.

The origin of a text is an int, or a tuple of the ends of runs of characters with their origins; bbpe/compat/chat/origins.py
says what the numbers mean.  A plain str has the origin 0.  `Operations` are those of one template's environment; they pay into
the meter of the rendering, which pays a budget in larger sums.
"""
from cpython.contextvars cimport PyContextVar_Get
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_Check, PyUnicode_CheckExact, PyUnicode_GET_LENGTH, PyUnicode_Join

from contextvars import ContextVar

cdef enum:
    STEPS = 256            # that a meter counts before it pays for them,
    CHARACTERS = 1 << 16   # and so many characters
    PER_STEP = 1024        # characters of a text that is searched or compared
    UNKNOWN = 0
    TRUSTED = 1            # the origin of an empty text, which gives nothing away

# stub: _Text = TypeVar("_Text", bound=TracedText)

cdef object METER = ContextVar("meter")
cdef str EMPTY = ""


cdef class TracedText(str):
    """A text with the origins of its characters."""
    cdef public object _origins  # stub: int | tuple[tuple[int, int], ...]

    def __cinit__(self, *value: object):
        self._origins = UNKNOWN

    def strip(self, chars: str | None = None, /) -> Self:
        """The text without characters at its ends."""
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(self), start = n - PyUnicode_GET_LENGTH(str.lstrip(self, chars))
        return part(self, start, max(start, PyUnicode_GET_LENGTH(str.rstrip(self, chars))))

    def lstrip(self, chars: str | None = None, /) -> Self:
        """The text without characters at its beginning."""
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(self)
        return part(self, n - PyUnicode_GET_LENGTH(str.lstrip(self, chars)), n)

    def rstrip(self, chars: str | None = None, /) -> Self:
        """The text without characters at its end."""
        return part(self, 0, PyUnicode_GET_LENGTH(str.rstrip(self, chars)))


cpdef TracedText part(TracedText text: _Text, Py_ssize_t start, Py_ssize_t end):  # -> _Text
    """The characters of a text from `start` to `end`, which is not less."""
    cdef object origins = text._origins
    cdef type kind = type(text)
    cdef Py_ssize_t begin = 0
    cdef list runs
    if start == 0 and end == PyUnicode_GET_LENGTH(text):
        return text
    cdef TracedText made = <TracedText>kind.__new__(kind, PyUnicode_Substring(text, start, end))
    if not PyLong_CheckExact(origins):
        runs = []
        for stop, origin in <tuple?>origins:
            if <Py_ssize_t>stop > start and begin < end:
                runs.append((min(<Py_ssize_t>stop, end) - start, origin))
            begin = stop
        origins = origins_of(runs)
    made._origins = origins
    return made


cdef object origins_of(list runs):
    """Runs as the origins of a text."""
    return TRUSTED if not runs else runs[0][1] if len(runs) == 1 else tuple(runs)


def with_flag(text: _Text, flag: int) -> _Text:
    """A text with origins whose characters have a flag more."""
    cdef TracedText given = <TracedText?>text
    cdef type kind = type(text)
    cdef TracedText made = <TracedText>kind.__new__(kind, text)
    if PyLong_CheckExact(given._origins):
        made._origins = given._origins | flag
    else:
        made._origins = tuple([(end, origin | flag) for end, origin in <tuple?>given._origins])
    return made


def texts_of(given: object) -> dict[str, str] | None:
    """A copy of a dict whose keys and values are all `str`, or `None` if it is none."""
    if not PyDict_CheckExact(given):
        return None
    for key, value in (<dict>given).items():
        if not PyUnicode_CheckExact(key) or not PyUnicode_CheckExact(value):
            return None
    return (<dict>given).copy()


cdef class RenderMeter:
    """What a rendering has used and not yet paid for; `budget` has the methods `step` and `take`, and what is left of both,
    which is paid for before it is exceeded."""
    cdef object budget
    cdef long long steps, characters, most_steps, most_characters

    def __cinit__(self, budget: Any):
        self.budget = budget
        self.flush()

    def begin(self) -> object:
        """Let this be the meter of the present rendering; returns what `end` takes."""
        return METER.set(self)

    def end(self, token: object) -> None:
        """Let the meter before be that of the present rendering."""
        METER.reset(token)

    cdef int pay(self, long long steps, long long characters) except -1:
        self.steps += steps
        self.characters += characters
        if self.steps > self.most_steps or self.characters > self.most_characters:
            self.flush()
        return 0

    def flush(self) -> None:
        """Pay for what was used."""
        cdef long long steps = self.steps, characters = self.characters
        self.steps = self.characters = 0
        self.budget.step(steps)
        self.budget.take(characters)
        self.most_steps, self.most_characters = min(STEPS, self.budget.steps), min(CHARACTERS, self.budget.characters)


cdef RenderMeter meter():
    cdef PyObject *found = NULL
    PyContextVar_Get(METER, NULL, &found)
    if found == NULL:
        raise LookupError("no chat template is running")
    made = <object>found
    Py_DECREF(made)
    return <RenderMeter>made


cdef extern from "Python.h":
    void Py_DECREF(object value)
    object PyUnicode_Substring(object text, Py_ssize_t start, Py_ssize_t end)


cdef class Operations:
    """Operations of the templates of an environment.

    `kind` is the class of texts with origins, a subclass of `TracedText`.  `methods` are those of its that a template may have,
    and `open_types` are types of whose attributes it may have all but those with an underscore first.  The others do what is rare
    here: `add(left, right)`, `trim(value, chars)`, `attribute(value, name)`, `undefined(obj=, name=)`,
    `write(value)` and `measure(value)`.
    """
    cdef type kind
    cdef frozenset methods, open_types
    cdef object slow_add, slow_trim, slow_attribute, slow_measure, undefined, slow_write
    cdef frozenset names  # of attributes of a dict

    def __cinit__(
        self, type kind not None, frozenset methods not None: frozenset[str],
        frozenset open_types not None: frozenset[type], *, add: Callable[..., object],
        trim: Callable[..., object], attribute: Callable[..., object], undefined: Callable[..., object], write: Callable[..., object],
        measure: Callable[[object], object]
    ):
        self.methods, self.open_types = methods, open_types
        self.kind, self.slow_add, self.slow_trim, self.slow_attribute = kind, add, trim, attribute
        self.undefined, self.slow_write, self.slow_measure = undefined, write, measure
        self.names = frozenset(dir(dict))

    def step(self) -> None:
        """Pay for a block."""
        meter().pay(1, 0)

    cdef bint are_texts(self, tuple parts, long long *total):
        total[0] = 0
        for part in parts:
            if type(part) is not self.kind and not PyUnicode_CheckExact(part):
                return False
            total[0] += PyUnicode_GET_LENGTH(part)
        return True

    def pieces(self, *parts: object) -> object:
        """The sum of values that is written, as a piece of the text: of texts these, one after another."""
        cdef long long total
        if self.are_texts(parts, &total):
            meter().pay(1, total)
            return parts
        return self.written(self._slow_sum(parts))

    def added(self, *parts: object) -> object:
        """The sum of values, from left to right."""
        cdef long long total
        if self.are_texts(parts, &total):
            meter().pay(1, total)
            return joined(self.kind, parts)
        return self._slow_sum(parts)

    cdef object _slow_sum(self, tuple parts):
        made = parts[0]
        for part in parts[1:]:
            made = self.slow_add(made, part)
        return made

    def collected(self, running: object) -> list[Any]:
        """The pieces of a template that runs, which are paid for; an error of that comes with the line of the template."""
        cdef RenderMeter own = meter()
        cdef list found = []
        for piece in running:
            try:
                own.pay(0, PyUnicode_GET_LENGTH(piece) if PyUnicode_Check(piece) else 0)
            except Exception as error:
                running.throw(error)
            found.append(piece)
        own.flush()
        return found

    def written(self, value: object) -> object:
        """A value as a piece of the text."""
        return value if type(value) is self.kind else self.slow_write(value)

    def trim(self, value: object, chars: object = None) -> Any:
        """A text without blanks at its ends."""
        if type(value) is self.kind and chars is None:
            meter().pay(1, 3 * PyUnicode_GET_LENGTH(value))
            return (<TracedText>value).strip()
        return self.slow_trim(value, chars)

    def attribute(self, value: object, str name not None) -> object:
        """The attribute of a value, or its item."""
        cdef PyObject *found
        if (type(value) is self.kind and name in self.methods) or (type(value) in self.open_types and not name.startswith("_")):
            try:
                return getattr(value, name)
            except AttributeError:
                return self.slow_attribute(value, name)
        if PyDict_CheckExact(value) and name not in self.names:
            found = PyDict_GetItemWithError(value, name)
            return <object>found if found != NULL else self.undefined(obj=value, name=name)
        return self.slow_attribute(value, name)

    def measured(self, value: object) -> object:
        """A value that is compared."""
        if PyUnicode_Check(value):
            meter().pay(1 + PyUnicode_GET_LENGTH(value) // PER_STEP, 0)
            return value
        return self.slow_measure(value)

    def message(self, dict message not None: dict[str, Any], header: int, origin: int, frozenset headers not None: frozenset[str]) -> dict[str, Any]:
        """A message all of whose texts have an origin: fields of its header the one, the others the other."""
        cdef dict made = {}
        for key, value in message.items():
            made[key] = with_origin(self.kind, value, header if key in headers else origin)
        return made


cdef object with_origin(type kind, value, origin):
    cdef TracedText text
    if PyUnicode_CheckExact(value):
        text = <TracedText>kind.__new__(kind, value)
        text._origins = origin
        return text
    if PyDict_CheckExact(value):
        return {with_origin(kind, key, origin): with_origin(kind, item, origin) for key, item in (<dict>value).items()}
    if PyList_CheckExact(value):
        return [with_origin(kind, item, origin) for item in <list>value]
    if PyTuple_CheckExact(value):
        return tuple([with_origin(kind, item, origin) for item in <tuple>value])
    return value


cdef class RunBuilder:
    """Texts one after another, and the runs of their origins."""
    cdef list texts, runs
    cdef long long end, last

    def __cinit__(self):
        self.texts, self.runs, self.end, self.last = [], [], 0, -1

    cdef int add(self, object text) except -1:
        cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text)
        cdef long long begin = self.end
        if length == 0:
            return 0
        origins = (<TracedText>text)._origins if isinstance(text, TracedText) else UNKNOWN
        self.texts.append(text)
        if PyLong_CheckExact(origins):
            self.add_run(begin + length, origins)
        else:
            for end, origin in <tuple?>origins:
                self.add_run(begin + <long long>end, origin)
        return 0

    cdef int add_run(self, long long end, object origin) except -1:
        cdef long long number = origin
        if number == self.last:
            self.runs[len(self.runs) - 1] = (end, origin)
        else:
            self.runs.append((end, origin))
            self.last = number
        self.end = end
        return 0

    cdef object text(self, type kind):
        cdef TracedText made = <TracedText>kind.__new__(kind, PyUnicode_Join(EMPTY, self.texts))
        made._origins = origins_of(self.runs)
        return made


def joined(type kind not None, parts: list[Any] | tuple[Any, ...]) -> Any:
    """Texts and tuples of texts one after another, as a text of a class of `TracedText`."""
    cdef RunBuilder builder = RunBuilder()
    for part in parts:
        if PyTuple_CheckExact(part):
            for each in <tuple>part:
                builder.add(each)
        else:
            builder.add(part)
    return builder.text(kind)


def size_of(value: object) -> int:
    """The least characters that hold plain data as a text, at most, as `RenderBudget.measure` counts them; -1 of other data."""
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t at = 0
    cdef long long total = 24, inner
    if PyUnicode_Check(value):
        return PyUnicode_GET_LENGTH(value) + 26
    if PyDict_CheckExact(value):
        total += 4 * len(<dict>value)
        while PyDict_Next(value, &at, &key, &item):
            for part in (<object>key, <object>item):
                inner = size_of(part)
                if inner < 0:
                    return -1
                total += inner
        return total
    if PyList_CheckExact(value) or PyTuple_CheckExact(value):
        total += 2 * len(value)
        for part in value:
            inner = size_of(part)
            if inner < 0:
                return -1
            total += inner
        return total
    if isinstance(value, int):
        return total + value.bit_length() // 3 + 8
    return total if value is None or isinstance(value, float) else -1
