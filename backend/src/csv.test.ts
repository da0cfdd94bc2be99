import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCsv, writeCsv } from './csv.ts'
import { processorMs } from '../../tools/testing/processor-time.ts'

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
  const bounds = { records: 3, cells: 4 }
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
})

test('parsing stops at the limits, so a file of nothing but commas takes a fraction of the time that it takes without limits', async () => {
  const size = 512 * 1024
  const bounds = { records: 5002, cells: 100 }
  /**
   * The least processor time of three runs, in ms, because one run may include garbage collection.
   */
  const leastTime = async (text: string, how?: typeof bounds) => {
    let least = Infinity
    for (let run = 0; run < 3; run++)
      least = Math.min(least, await processorMs(() => parseCsv(text, how)))
    return least
  }
  const texts = [
    `a\n${','.repeat(size)}b`,
    `a\n${',\n'.repeat(size / 2)}`,
    `a\n${'"",'.repeat(size / 3)}`,
    'a\n'.repeat(size / 2),
    `a\n${' ,\n'.repeat(size / 3)}`,
  ]
  for (const text of texts)
    expect((await leastTime(text, bounds)) / (await leastTime(text))).toBeLessThan(0.5)
})
