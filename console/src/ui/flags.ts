/**
 * Flags that bands, crosses, triangles and discs make up, on 18 × 12. Their colours are the countries', not ours: the only colours outside tokens.css.
 * Emblems are left out; a flag that would be wrong without one isn't here.
 */
export type Band = readonly [shape: 'rect' | 'disc' | 'triangle' | 'saltire', colour: string, ...numbers: number[]]

const [white, red, blue, yellow, black, green] = ['#f4f5f7', '#c9364a', '#34508f', '#f0c94b', '#23262d', '#2f8f5b']

const rows = (...colours: string[]): Band[] => colours.map((colour, i) => ['rect', colour, 0, (12 / colours.length) * i, 18, 12 / colours.length])
const columns = (...colours: string[]): Band[] => colours.map((colour, i) => ['rect', colour, (18 / colours.length) * i, 0, 18 / colours.length, 12])
const cross = (ground: string, outer: string, inner?: string): Band[] => [
  ['rect', ground, 0, 0, 18, 12],
  ['rect', outer, 5, 0, 3, 12],
  ['rect', outer, 0, 4.5, 18, 3],
  ...(inner === undefined
    ? []
    : ([
        ['rect', inner, 5.8, 0, 1.4, 12],
        ['rect', inner, 0, 5.3, 18, 1.4],
      ] as const)),
]
const stripes = (n: number, a: string, b: string): Band[] => rows(...Array.from({ length: n }, (_, i) => (i % 2 === 0 ? a : b)))

export const bands: Readonly<Record<string, readonly Band[]>> = {
  AE: [...rows(green, white, black), ['rect', red, 0, 0, 4.5, 12]],
  AM: rows(red, blue, '#e08a3c'),
  AT: rows(red, white, red),
  BE: columns(black, yellow, red),
  BG: rows(white, green, red),
  CH: [
    ['rect', red, 0, 0, 18, 12],
    ['rect', white, 7.9, 2.5, 2.2, 7],
    ['rect', white, 5.5, 4.9, 7, 2.2],
  ],
  CL: [...rows(white, red), ['rect', blue, 0, 0, 6, 6], ['disc', white, 3, 3, 1.2]],
  CO: [
    ['rect', yellow, 0, 0, 18, 6],
    ['rect', blue, 0, 6, 18, 3],
    ['rect', red, 0, 9, 18, 3],
  ],
  CZ: [...rows(white, red), ['triangle', blue, 9]],
  DE: rows(black, red, yellow),
  DK: cross(red, white),
  EE: rows('#4a86c5', black, white),
  ES: [
    ['rect', red, 0, 0, 18, 12],
    ['rect', yellow, 0, 3, 18, 6],
  ],
  FI: cross(white, blue),
  FR: columns(blue, white, red),
  GB: [
    ['rect', blue, 0, 0, 18, 12],
    ['saltire', white, 2.4],
    ['saltire', red, 0.9],
    ['rect', white, 7, 0, 4, 12],
    ['rect', white, 0, 4, 18, 4],
    ['rect', red, 7.8, 0, 2.4, 12],
    ['rect', red, 0, 4.8, 18, 2.4],
  ],
  GE: [
    ['rect', white, 0, 0, 18, 12],
    ['rect', red, 7.9, 0, 2.2, 12],
    ['rect', red, 0, 4.9, 18, 2.2],
  ],
  GR: [...stripes(9, '#4a7fc0', white), ['rect', '#4a7fc0', 0, 0, 6.67, 6.67], ['rect', white, 2.67, 0, 1.33, 6.67], ['rect', white, 0, 2.67, 6.67, 1.33]],
  HU: rows(red, white, green),
  ID: rows(red, white),
  IE: columns(green, white, '#e08a3c'),
  IN: [...rows('#e08a3c', white, green), ['disc', blue, 9, 6, 1.4]],
  IS: cross(blue, white, red),
  IT: columns(green, white, red),
  JP: [
    ['rect', white, 0, 0, 18, 12],
    ['disc', red, 9, 6, 3.4],
  ],
  LT: rows(yellow, green, red),
  LU: rows(red, white, '#58a6d8'),
  LV: [
    ['rect', '#8f3040', 0, 0, 18, 12],
    ['rect', white, 0, 4.8, 18, 2.4],
  ],
  MC: rows(red, white),
  NG: columns(green, white, green),
  NL: rows(red, white, blue),
  NO: cross(red, white, blue),
  PE: columns(red, white, red),
  PL: rows(white, red),
  RO: columns(blue, yellow, red),
  SE: cross(blue, yellow),
  SG: [...rows(red, white), ['disc', white, 4.2, 3, 1.9], ['disc', red, 5, 3, 1.7]],
  TH: [
    ['rect', red, 0, 0, 18, 12],
    ['rect', white, 0, 2, 18, 8],
    ['rect', blue, 0, 4, 18, 4],
  ],
  UA: rows(blue, yellow),
  US: [...stripes(13, red, white), ['rect', blue, 0, 0, 8, 6.46]],
}
