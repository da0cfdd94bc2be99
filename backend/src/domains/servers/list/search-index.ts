/**
 * Finds the servers whose text contains another text. For every sequence of one to three characters
 * the index knows the servers that contain the sequence. So a search for up to three characters
 * reads no text. For a longer search, only the texts with all of its sequences are read.
 */

/** A set of servers: one bit for each server's number. */
export type Bits = Uint32Array

export const has = (bits: Bits, slot: number): boolean =>
  (bits[slot >>> 5]! & (1 << (slot & 31))) !== 0
/** The number of servers in a set. */
export function countOf(bits: Bits): number {
  let count = 0
  for (let i = 0; i < bits.length; i++) {
    let word = bits[i]!
    word -= (word >>> 1) & 0x5555_5555
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
  }
  return count
}
/** The servers that are in both sets. */
export function both(one: Bits, other: Bits): Bits {
  const common = new Uint32Array(one.length)
  for (let i = 0; i < one.length; i++) common[i] = one[i]! & (other[i] ?? 0)
  return common
}
export const add = (bits: Bits, slot: number): void => void (bits[slot >>> 5]! |= 1 << (slot & 31))

/** Length of the longest sequences. */
const longest = 3
/** A sequence of more servers than this is kept as a set, of less as a list. */
const mostListed = 64
/**
 * Characters are numbered: 0 for the end of a line, 1 to 95 for printable ASCII, and one number for
 * all other characters together.
 */
const other = 96
const base = other + 1
const numberOf = (code: number): number =>
  code > 31 && code < 127 ? code - 31 : code === 10 ? 0 : other

export function searchIndex() {
  let words = 0
  /**
   * By all characters of a sequence but the last: its row in `places`. The first row is for those
   * that no text contains.
   */
  const rows = new Uint16Array(base ** (longest - 1))
  let rowCount = 1
  /**
   * Rows with a place in `found` for each last character of a sequence. Texts contain few of the
   * million sequences, so a row is added when it is needed.
   */
  let places = new Uint32Array(64 * base)
  /** The servers of each sequence. The first place is for sequences that no text contains. */
  const found: (number[] | Bits)[] = [[]]

  /** @param start the number of all characters but the last, 0 if there are none */
  const placeOf = (start: number, last: number): number => places[rows[start]! * base + last]!
  const addPlace = (start: number, last: number): number => {
    const row = (rows[start] ||= rowCount++)
    if (rowCount * base > places.length) {
      const fewer = places
      places = new Uint32Array(fewer.length * 2)
      places.set(fewer)
    }
    return (places[row * base + last] = found.push([]) - 1)
  }

  const setOf = (slots: number[] | Bits): Bits => {
    const bits = new Uint32Array(words)
    if (Array.isArray(slots)) for (const slot of slots) add(bits, slot)
    else bits.set(slots)
    return bits
  }
  const insert = (start: number, last: number, slot: number): void => {
    const place = placeOf(start, last) || addPlace(start, last)
    const slots = found[place]!
    if (!Array.isArray(slots))
      add(slot >>> 5 < slots.length ? slots : (found[place] = setOf(slots)), slot)
    else if (slots.at(-1) !== slot && slots.push(slot) > mostListed) found[place] = setOf(slots)
  }
  const remove = (start: number, last: number, slot: number): void => {
    const place = placeOf(start, last)
    const slots = found[place]!
    if (Array.isArray(slots)) found[place] = slots.filter((one) => one !== slot)
    else slots[slot >>> 5]! &= ~(1 << (slot & 31))
  }
  const eachSequence = (
    text: string,
    slot: number,
    act: (start: number, last: number, slot: number) => void,
  ): void => {
    for (let i = 0, first = 0, second = 0; i < text.length; i++) {
      const third = numberOf(text.charCodeAt(i))
      if (third !== 0) act(0, third, slot)
      if (third !== 0 && second !== 0) act(second, third, slot)
      if (third !== 0 && second !== 0 && first !== 0) act(first * base + second, third, slot)
      first = second
      second = third
    }
  }
  /** The servers with all longest sequences of a text. */
  const candidates = (text: string): Bits => {
    const width = Math.min(longest, text.length)
    let all: Bits | undefined
    for (let end = width; end <= text.length; end++) {
      let start = 0
      for (let i = end - width; i < end - 1; i++)
        start = start * base + numberOf(text.charCodeAt(i))
      const slots = found[placeOf(start, numberOf(text.charCodeAt(end - 1)))]!
      const bits = all && !Array.isArray(slots) ? slots : setOf(slots)
      all = all ? both(all, bits) : bits
    }
    return all ?? new Uint32Array(words)
  }

  return {
    /** Replaces the text of the server with this number. Numbers are used from 0 up. */
    set(slot: number, text: string, before = ''): void {
      while (slot >>> 5 >= words) words += 64
      eachSequence(before, slot, remove)
      eachSequence(text, slot, insert)
    },
    /**
     * The servers that contain one of the texts. Where the index isn't certain, reads the texts of
     * those that may.
     */
    find(needles: readonly string[], textOf: (slot: number) => string): Bits {
      const all = new Uint32Array(words)
      for (const needle of needles) {
        const isCertain = needle.length <= longest && /^[ -~]*$/.test(needle)
        const may = candidates(needle)
        for (let i = 0; i < may.length; i++) {
          const word = may[i]!
          if (isCertain) all[i]! |= word
          else
            for (let rest = word; rest !== 0; rest &= rest - 1)
              if (textOf(i * 32 + 31 - Math.clz32(rest & -rest)).includes(needle))
                all[i]! |= rest & -rest
        }
      }
      return all
    },
  }
}
