import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { parseCsv, writeCsv } from './csv.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

const cellsOf = (text: string) => parseCsv(text).records.map((r) => r.cells)

test('rows and cells are read as in RFC 4180', () => {
  expect(cellsOf('a,b\r\n"c","d ""quoted"", e"\r\n')).toEqual([
    ['a', 'b'],
    ['c', 'd "quoted", e'],
  ])
  expect(cellsOf('a,b\nc,d')).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  expect(cellsOf('\u{FEFF}a,,\r\n')).toEqual([['a', '', '']])
  expect(cellsOf('"a\r\nb",c')).toEqual([['a\r\nb', 'c']])
  expect(cellsOf('')).toEqual([])
  expect(cellsOf('\r\n\r\na\r\n\r\n')).toEqual([['a']])
})

test('the line number of a row is the line on which the row begins', () => {
  expect(parseCsv('a,b\r\n"1\n2\n3",x\r\n\r\nlast,y\r\n').records.map((r) => r.line)).toEqual([
    1, 2, 6,
  ])
})

test.each([
  ['a,b\nc,"d\ne,f\n', 2, 'A quote is not closed'],
  ['a,b\nc,d"e\n', 2, 'A cell that does not begin with a quote contains one'],
  ['a,b\n"c"d,e\n', 2, 'Text follows a closing quote'],
  ['"1\n2",b\n"c" ,e\n', 3, 'Text follows a closing quote'],
  ['a,b\rc,d\r', 1, 'A line must end with a line feed'],
])(
  'the error in %j is reported with its line, and the rows before that line are read',
  (text, line, message) => {
    const { problem, records } = parseCsv(text)
    expect(problem).toEqual({ line, message })
    expect(records.every((r) => r.line < line)).toBe(true)
  },
)

test('a cell that a spreadsheet would evaluate is written with an apostrophe, and read without it', () => {
  const cells = [
    '=1+1',
    '+1',
    '-1',
    '@sum',
    '\tx',
    '\rx',
    "'=x",
    "''=x",
    "'plain",
    '=cmd|"/c calc"!A1',
    '1-1',
    'a=b',
  ]
  const text = writeCsv([cells])
  expect(text).toBe(
    `'=1+1,'+1,'-1,'@sum,'\tx,"'\rx",''=x,'''=x,'plain,"'=cmd|""/c calc""!A1",1-1,a=b\r\n`,
  )
  expect(cellsOf(text)).toEqual([cells])
})

test('any written table is read back unchanged', () => {
  const cell = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('=', "'", '"', ',', '\r', '\n', ';', '-', 'ż', ' ') }),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 8 }), (rows) => {
      fc.pre(!rows[0]![0].startsWith('\u{FEFF}'))
      expect(parseCsv(writeCsv(rows))).toMatchObject({
        problem: null,
        records: rows.map((cells) => ({ cells })),
      })
    }),
  )
})

test('a megabyte of commas, of quotes or of one line is read in linear time', async () => {
  const size = 1024 * 1024
  const usedMs = await processorMs(() => {
    expect(cellsOf(','.repeat(size))[0]).toHaveLength(size + 1)
    expect(cellsOf(`"${'""'.repeat(size / 2 - 1)}"`)[0]![0]).toHaveLength(size / 2 - 1)
    expect(cellsOf('x'.repeat(size))[0]![0]).toHaveLength(size)
    expect(cellsOf('\n'.repeat(size))).toEqual([])
    expect(parseCsv('"'.repeat(size - 1)).problem).not.toBeNull()
  })
  expect(usedMs).toBeLessThan(5_000)
})

test('parsing stops at the limits of rows and cells', () => {
  const bounds = { records: 3, columns: 6, cells: 4 }
  expect(parseCsv('a,b\n,\n \t , \r\n\n"",\n" "\nc\n,,,\nd,e', bounds)).toEqual({
    records: [
      { line: 1, cells: ['a', 'b'] },
      { line: 7, cells: ['c'] },
      { line: 9, cells: ['d', 'e'] },
    ],
    problem: null,
  })
  expect(parseCsv('1\n2\n3\n4\n"', bounds)).toMatchObject({ records: [{}, {}, {}], problem: null })
  expect(parseCsv('1\n\na,b,c,d,e\n2', bounds)).toEqual({
    records: [{ line: 1, cells: ['1'] }],
    problem: { line: 3, message: 'A line has at most 4 cells' },
  })
  expect(parseCsv('a,b,c,d,e,f\n1', bounds)).toMatchObject({ records: [{}, {}], problem: null })
  expect(parseCsv('a,b,c,d,e,f,g\n1', bounds)).toEqual({
    records: [],
    problem: { line: 1, message: 'A header has at most 6 columns' },
  })
})

test('at the limits the rest of a file is not read, and lines of nothing but commas leave nothing', () => {
  const size = 128 * 1024
  /** What is left of a text within the limits, and how many characters were looked at. */
  const parsed = (text: string) => {
    let looks = 0
    const look = vi.spyOn(String.prototype, 'charCodeAt').mockImplementation(function (
      this: string,
      at: number,
    ) {
      looks++
      return this.codePointAt(at) ?? NaN
    })
    look.mockClear()
    try {
      const { records, problem } = parseCsv(text, { records: 5002, columns: 1000, cells: 100 })
      return { records: records.length, problem: problem?.line, looks }
    } finally {
      look.mockRestore()
    }
  }
  expect(parsed(','.repeat(size))).toMatchObject({ records: 0, problem: 1 })
  expect(parsed(','.repeat(size)).looks).toBeLessThan(8 * 1000)
  for (const cells of [`${','.repeat(size)}b`, '"",'.repeat(size / 3)]) {
    const { looks, ...read } = parsed(`a\n${cells}`)
    // A line of commas is looked through once for its end, because an empty line is no record.
    expect(looks).toBeLessThan(size + 1000)
    expect(read).toEqual({ records: 1, problem: 2 })
  }
  expect(parsed('a\n'.repeat(size)).looks).toBeLessThan(8 * 5002)
  for (const line of [',\n', ' ,\n'])
    expect(parsed(`a\n${line.repeat(size / 4)}`)).toMatchObject({ records: 1, problem: undefined })
})
