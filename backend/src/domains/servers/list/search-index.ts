/**
 * Narrows a search to the few servers that may contain a text. Each server has a signature: one bit for the hash of every three consecutive characters of its
 * text. The bits are stored by hash, so that a search combines a few rows of bits instead of reading ten thousand texts (5 MB for 10,000 servers).
 */
const hashBits = 12
const rows = 2 ** hashBits
/** The index grows by this number of 32-bit words per row. */
const growth = 64

const hashAt = (text: string, i: number): number =>
  (Math.imul(text.charCodeAt(i), 0x9e3779b1) ^ Math.imul(text.charCodeAt(i + 1), 0x85ebca6b) ^ Math.imul(text.charCodeAt(i + 2), 0xc2b2ae35)) >>>
  (32 - hashBits)

export function searchIndex() {
  let words = 0
  let bits = new Uint32Array(0)

  const grow = (): void => {
    const larger = new Uint32Array((words + growth) * rows)
    for (let row = 0; row < rows; row++) larger.set(bits.subarray(row * words, (row + 1) * words), row * (words + growth))
    words += growth
    bits = larger
  }

  return {
    /** Replaces the text of the server with this number; numbers are used from 0 up. */
    set(slot: number, text: string): void {
      const [word, bit] = [slot >>> 5, 1 << (slot & 31)]
      if (word >= words) grow()
      for (let row = 0; row < rows; row++) bits[row * words + word]! &= ~bit
      for (let i = 0; i + 2 < text.length; i++) bits[hashAt(text, i) * words + word]! |= bit
    },
    /** Tests whether a server may contain one of the texts: false is certain, true is not. For a text of less than three characters always true. */
    finder(needles: readonly string[]): (slot: number) => boolean {
      if (needles.length === 0 || needles.some((needle) => needle.length < 3)) return () => true
      const any = new Uint32Array(words)
      for (const needle of needles) {
        const all = new Uint32Array(words).fill(0xffffffff)
        for (let i = 0; i + 2 < needle.length; i++) {
          const row = hashAt(needle, i) * words
          for (let word = 0; word < words; word++) all[word]! &= bits[row + word]!
        }
        for (let word = 0; word < words; word++) any[word]! |= all[word]!
      }
      return (slot) => (any[slot >>> 5]! & (1 << (slot & 31))) !== 0
    },
  }
}
