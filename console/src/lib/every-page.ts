/**
 * All of a list that comes in pages, for what is decided over the whole of it.
 * @param read answers the page of this number, from 1 on, and how many there are on all together
 */
export async function everyPage<T>(read: (page: number) => Promise<{ items: readonly T[]; total: number }>): Promise<T[]> {
  const all: T[] = []
  for (let page = 1; ; page++) {
    const { items, total } = await read(page)
    all.push(...items)
    // An empty page ends it too: what was removed meanwhile never comes.
    if (all.length >= total || items.length === 0) return all
  }
}
