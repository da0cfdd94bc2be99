/**
 * Groups of files that import each other, each way over any number of files: the strongly connected
 * components of the graph of imports (Tarjan, "Depth-First Search and Linear Graph Algorithms",
 * 1972). Files that belong to no circle are left out.
 */
export function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  /** The number of each visited file, in the order of the visits. */
  const numbers = new Map<string, number>()
  /** The visited files whose group isn't complete. */
  const open: string[] = []
  /** Returns the smallest number of an open file that is reached from this one. */
  const visit = (file: string): number => {
    const number = numbers.size
    numbers.set(file, number)
    open.push(file)
    let least = number
    for (const next of imports.get(file) ?? [])
      if (!numbers.has(next)) least = Math.min(least, visit(next))
      else if (open.includes(next)) least = Math.min(least, numbers.get(next)!)
    if (least === number) {
      const group = open.splice(open.indexOf(file))
      if (group.length > 1) found.push(group.toSorted())
    }
    return least
  }
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file)
  return found
}

/**
 * Groups of folders that import each other in a circle, as paths. Folders that lie beside each other
 * are compared, with all that is in them: what `a/b/c.ts` imports of `a/d/e/f.ts` is an arrow from
 * `a/b` to `a/d`. Files of a folder itself may serve its folders and use them. Imports are pairs of
 * a file and the files that it imports; `except` are arrows (`a/b -> a/d`) that aren't counted.
 */
export function folderCircles(
  imports: ReadonlyMap<string, readonly string[]>,
  except: readonly string[] = [],
): string[][] {
  const arrows = new Map<string, Set<string>>()
  for (const [from, all] of imports)
    for (const to of all) {
      const [a, b] = [from.split('/'), to.split('/')]
      const shared = a.findIndex((name, at) => name !== b[at])
      // The first name that differs must be a folder's on both sides.
      if (shared < 0 || shared >= a.length - 1 || shared >= b.length - 1) continue
      const [x, y] = [a, b].map((names) => names.slice(0, shared + 1).join('/')) as [string, string]
      if (!except.includes(`${x} -> ${y}`)) arrows.set(x, (arrows.get(x) ?? new Set()).add(y))
    }
  return circles(new Map([...arrows].map(([from, to]) => [from, [...to]])))
}
