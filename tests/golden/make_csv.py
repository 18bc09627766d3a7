# SPDX-License-Identifier: Apache-2.0
"""Makes the files in csv/: delimited text, and what is in it.

    python3 tests/golden/make_csv.py        (needs pandas and pyarrow)

table-N.csv    text of all kinds, written by pandas or by hand
table-N.cells  its rows as Python's csv module reads them, each a line "C" with the number of cells, then
               each cell as "LENGTH:BYTES,". Of files that pandas wrote, pandas and pyarrow read the same.
numbers.csv    a column of decimals; numbers.bin: all as Python's float(), then all as pyarrow's float32
"""
import csv
import io
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

OUT = Path(__file__).resolve().parent / 'csv'
PIECES = ['a', 'Zoë', ' ', '12', '"', ',', '\n', '\r\n', '语', '#', "'", ';', '', 'x' * 70, '""']


def random_text(rng):
    return ''.join(PIECES[i] for i in rng.integers(0, len(PIECES), rng.integers(1, 5)))


def random_table(rng):
    """Strings without missing values, none of them empty."""
    rows, columns = rng.integers(1, 30), rng.integers(1, 7)
    cells = [[random_text(rng) or '-' for _ in range(columns)] for _ in range(rows)]
    return pd.DataFrame(cells, columns=[f'c{i}' for i in range(columns)])


def read_by_module(data):
    """Rows with something in them."""
    text = io.StringIO(data.decode(), newline='')
    return [row for row in csv.reader(text) if row]


def read_by_pandas(data):
    frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, header=None)
    return [[str(cell) for cell in row] for row in frame.itertuples(index=False)]


def read_by_pyarrow(data):
    read = pa.csv.ReadOptions(autogenerate_column_names=True)
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    n_columns = len(read_by_module(data)[0])
    types = {f'f{i}': pa.string() for i in range(n_columns)}
    convert = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    table = pa.csv.read_csv(io.BytesIO(data), read, parse, convert)
    return [list(row.values()) for row in table.to_pylist()]


def written_by_pandas(rng):
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL][rng.integers(2)]
    ends = ['\n', '\r\n'][rng.integers(2)]
    text = random_table(rng).to_csv(index=False, quoting=quoting, lineterminator=ends)
    return text.encode()[: -len(ends) if rng.integers(2) else None]


def written_by_hand(rng):
    """Quotes in odd places, empty lines and cells, rows of any length, all line ends."""
    pieces = ['a', '"b"', '"c""d"', 'e"f', '"g"h', '"i"j"k"', '"', '', '"\n"', ' "l"', '"m,\r\n"', 'ü']
    text = ''
    for _ in range(rng.integers(2, 20)):
        cells = [pieces[i] for i in rng.integers(0, len(pieces), rng.integers(0, 5))]
        text += ','.join(cells) + ['\n', '\r\n', '\r', '\n\n'][rng.integers(4)]
    # A quote that stays open would take the rest: close it.
    return (text + ('"\n' if text.count('"') % 2 else '')).encode()


def is_closed(data):
    """The csv module does not say whether the last quote was open; a row behind tells."""
    return read_by_module(data + b'\nEND')[-1] == ['END']


def save(name, data):
    rows = read_by_module(data)
    (OUT / f'{name}.csv').write_bytes(data)
    cells = b''
    for row in rows:
        cells += b'%d\n' % len(row)
        cells += b''.join(b'%d:%s,' % (len(cell.encode()), cell.encode()) for cell in row)
    (OUT / f'{name}.cells').write_bytes(cells)


def decimals(rng):
    """Short and long ones, ties, and the ends of the range."""
    texts = ['0', '-0.0', '1e-400', '1e400', '4.9e-324', '2.4703282292062327e-324', '1.7976931348623157e308',
             '9007199254740993', '0.1', '.5', '5.', '1e22', '1e23', '123456789012345678901234567890',
             '1.00000005960464477539', '1.000000059604644775390625', '1.0000000596046447753906251']
    for _ in range(400):
        bits = rng.integers(0, 2**64, dtype=np.uint64)
        value = struct.unpack('<d', struct.pack('<Q', int(bits)))[0]
        if np.isfinite(value):
            texts.append(f'{value:.{rng.integers(1, 21)}g}')
        texts.append(f'{rng.normal():.{rng.integers(0, 19)}f}')
        texts.append(repr(float(rng.normal())))
        texts.append(str(np.float32(rng.normal())))
        one = np.float32(rng.normal())
        middle = (float(one) + float(np.nextafter(one, np.float32(9)))) / 2
        texts.append(f'{middle:.{rng.integers(9, 30)}g}')
    return texts


def save_numbers(rng):
    texts = decimals(rng)
    data = ('x\n' + '\n'.join(texts) + '\n').encode()
    convert = pa.csv.ConvertOptions(column_types={'x': pa.float32()})
    singles = pa.csv.read_csv(io.BytesIO(data), convert_options=convert)['x'].to_numpy()
    doubles = np.array([float(text) for text in texts])
    assert len(singles) == len(doubles)
    (OUT / 'numbers.csv').write_bytes(data)
    (OUT / 'numbers.bin').write_bytes(doubles.astype('<f8').tobytes() + singles.astype('<f4').tobytes())


def main():
    rng = np.random.default_rng(6)
    OUT.mkdir(exist_ok=True)
    for number in range(16):
        data = written_by_pandas(rng)
        rows = read_by_module(data)
        assert rows == read_by_pandas(data) == read_by_pyarrow(data), number
        save(f'table-{number:02}', data)
    number = 16
    while number < 40:
        data = written_by_hand(rng)
        if is_closed(data) and read_by_module(data):
            save(f'table-{number:02}', data)
            number += 1
    save_numbers(rng)


if __name__ == '__main__':
    main()
