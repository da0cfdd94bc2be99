/**
 * Reads all pages of a list.
 * @param read returns one page (counted from 1) and the total number of items
 */
export async function everyPage<T>(
  read: (page: number) => Promise<{ items: readonly T[]; total: number }>,
): Promise<T[]> {
  const all: T[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await read(page)
    all.push(...items)
    // An empty page also ends the loop: items may have been removed meanwhile.
    if (all.length >= total || items.length === 0) return all
  }
}
