"""Chapter 1's exercises: wrong answers as readers write them, and the library's answers."""

from flatcube import cube, fourier
from tests.classroom.exercise_tests import ExerciseTests

WRITTEN = [
    (
        "1.1",
        "We write a bit as a sign",
        """
        def my_parity(mask, n):
            return [bin(k & mask).count("1") % 2 for k in range(2**n)]
    """,
    ),
    (
        "1.1",
        "that is OR",
        """
        def my_parity(mask, n):
            return [-1 if k & mask else 1 for k in range(2**n)]
    """,
    ),
    (
        "1.1",
        "from the other end",
        """
        def my_parity(mask, n):
            table = []
            for k in range(2**n):
                sign = 1
                for i in range(n):
                    if mask >> i & 1 and k >> (n - 1 - i) & 1:
                        sign = -sign
                table.append(sign)
            return table
    """,
    ),
    (
        "1.2",
        "do not divide",
        """
        def my_coefficient(table, mask):
            total = 0
            for k, value in enumerate(table):
                total += -value if bin(k & mask).count("1") % 2 else value
            return total
    """,
    ),
    (
        "1.2",
        "that is OR",
        """
        def my_coefficient(table, mask):
            chi = [-1 if k & mask else 1 for k in range(len(table))]
            return sum(f * c for f, c in zip(table, chi)) / len(table)
    """,
    ),
    (
        "1.2",
        "keep only those in the subset",
        """
        def my_coefficient(table, mask):
            n = len(table).bit_length() - 1
            total = 0
            for k in range(len(table)):
                sign = 1
                for i in range(n):
                    if k & (1 << i):  # forgets to ask whether i is in S
                        sign = -sign
                total += sign * table[k]
            return total / 2**n
    """,
    ),
    (
        "1.2",
        "count how often",
        """
        def my_coefficient(table, mask):
            chi = [(-1) ** bin(k & mask).count("1") for k in range(len(table))]
            return sum(f == c for f, c in zip(table, chi)) / len(table)
    """,
    ),
    (
        "1.2",
        "without any sign",
        """
        def my_coefficient(table, mask):
            return sum(table) / len(table)
    """,
    ),
    (
        "1.3",
        "division by the length is missing",
        """
        def my_transform(table):
            c = [float(v) for v in table]
            step = 1
            while step < len(c):
                for k in range(len(c)):
                    if not k & step:
                        c[k], c[k + step] = c[k] + c[k + step], c[k] - c[k + step]
                step *= 2
            return c
    """,
    ),
    (
        "1.3",
        "after the first was overwritten",
        """
        def my_transform(table):
            values = np.array(table, dtype=float)
            for bit in range(len(values).bit_length() - 1):
                pairs = values.reshape(-1, 2, 2**bit)
                a, b = pairs[:, 0], pairs[:, 1]
                pairs[:, 0] = a + b
                pairs[:, 1] = a - b
            return values / len(values)
    """,
    ),
    (
        "1.3",
        "wrong sign",
        """
        def my_transform(table):
            values = np.array(table, dtype=float)
            for bit in range(len(values).bit_length() - 1):
                pairs = values.reshape(-1, 2, 2**bit)
                a, b = pairs[:, 0].copy(), pairs[:, 1].copy()
                pairs[:, 0] = (a + b) / 2
                pairs[:, 1] = (b - a) / 2
            return values
    """,
    ),
    (
        "1.4",
        "as they are",
        """
        def my_profile(coefficients):
            profile = [0.0] * len(coefficients).bit_length()
            for mask, c in enumerate(coefficients):
                profile[bin(mask).count("1")] += c
            return profile
    """,
    ),
    (
        "1.4",
        "count the sets",
        """
        def my_profile(coefficients):
            profile = [0] * len(coefficients).bit_length()
            for mask in range(len(coefficients)):
                profile[bin(mask).count("1")] += 1
            return profile
    """,
    ),
    (
        "1.4",
        "Degree 0 is missing",
        """
        def my_profile(coefficients):
            n = len(coefficients).bit_length() - 1
            sizes = np.array([bin(mask).count("1") for mask in range(2**n)])
            return [sum(coefficients[sizes == k] ** 2) for k in range(1, n + 1)]
    """,
    ),
    (
        "1.4",
        "multiply each weight by its degree",
        """
        def my_profile(coefficients):
            profile = np.zeros(len(coefficients).bit_length())
            for mask in range(len(coefficients)):
                size = bin(mask).count("1")
                profile[size] += size * coefficients[mask] ** 2
            return profile
    """,
    ),
    (
        "1.5",
        "whatever the sign is",
        """
        def my_restriction(coefficients, i, sign):
            bit = 1 << (i - 1)
            return [c + coefficients[S | bit] for S, c in enumerate(coefficients) if not S & bit]
    """,
    ),
    (
        "1.5",
        "Off by one",
        """
        def my_restriction(coefficients, i, sign):
            halves = coefficients.reshape(-1, 2, 2**i)
            return (halves[:, 0] + sign * halves[:, 1]).ravel()
    """,
    ),
    (
        "1.5",
        "Off by one",
        """
        def my_restriction(coefficients, i, sign):
            bit = 1 << i
            return [c + sign * coefficients[S | bit] for S, c in enumerate(coefficients) if not S & bit]
    """,
    ),
    (
        "1.5",
        "You drop the terms that contain x_i",
        """
        def my_restriction(coefficients, i, sign):
            return [c for S, c in enumerate(coefficients) if not S >> (i - 1) & 1]
    """,
    ),
    (
        "1.5",
        "That restricts a table of values",
        """
        def my_restriction(coefficients, i, sign):
            bit = np.arange(len(coefficients)) >> (i - 1) & 1
            return coefficients[1 - 2 * bit == sign]
    """,
    ),
    (
        "1.6",
        "divided by their number",
        """
        def my_learner(points, values, degree):
            m, n = points.shape
            summed = np.zeros(2**n)
            for x, y in zip(points, values):
                summed[sum(2**i for i in range(n) if x[i] < 0)] += y
            sizes = np.array([bin(mask).count("1") for mask in range(2**n)])
            signs = [[(-1) ** bin(k & mask).count("1") for k in range(2**n)] for mask in range(2**n)]
            return np.where(sizes <= degree, np.array(signs) @ summed / 2**n, 0)
    """,
    ),
    (
        "1.6",
        "keep the sets of all sizes",
        """
        def my_learner(points, values, degree):
            n = points.shape[1]
            return [np.mean([y * np.prod([x[i] for i in range(n) if mask >> i & 1]) for x, y in zip(points, values)])
                    for mask in range(2**n)]
    """,
    ),
    (
        "1.6",
        "is included",
        """
        def my_learner(points, values, degree):
            n = points.shape[1]
            coefficients = np.zeros(2**n)
            for mask in range(2**n):
                members = [i for i in range(n) if mask >> i & 1]
                if len(members) < degree:
                    coefficients[mask] = (values * points[:, members].prod(axis=1)).mean()
            return coefficients
    """,
    ),
]


def my_parity(mask, n):
    return cube.subset_parity(cube.subset(mask), n)


def my_coefficient(table, mask):
    return fourier.transform(table)[mask]


def my_profile(coefficients):
    return fourier.Spectrum(coefficients).profile


def my_restriction(coefficients, i, sign):
    n = len(coefficients).bit_length() - 1
    return fourier.transform(fourier.inverse(coefficients)[cube.points(n)[:, i - 1] == sign])


def my_learner(points, values, degree):
    return fourier.learn_low_degree(points, values, degree).coefficients


class TestExercises(ExerciseTests):
    room = "fourier"
    written = WRITTEN
    signed = ("1.2",)
    library = {
        "1.1": my_parity,
        "1.2": my_coefficient,
        "1.3": fourier.transform,
        "1.4": my_profile,
        "1.5": my_restriction,
        "1.6": my_learner,
    }
