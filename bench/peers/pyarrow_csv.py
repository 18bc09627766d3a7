# SPDX-License-Identifier: Apache-2.0
"""`pyarrow.csv.read_csv` on all cores, then one array of the whole table, cut into batches."""

NAME = "pyarrow"
PLACE = 85
PACKAGES = ["pyarrow", "pandas", "numpy"]
VERSION_OF = ["pyarrow"]
NOTES = {"csv": "has the whole table in memory"}


def load():
    import numpy
    import pyarrow
    import pyarrow.csv

    return numpy, pyarrow


def csv(loaded, job):
    np, pa = loaded
    types = {f"c{i}": pa.float32() for i in range(job.columns)}
    options = pa.csv.ConvertOptions(column_types=types)

    def epoch():
        table = pa.csv.read_csv(job.own, convert_options=options)
        rows = np.stack([column.to_numpy() for column in table.columns], axis=1)
        for first in range(0, len(rows), job.batch):
            yield rows[first : first + job.batch]

    return epoch
