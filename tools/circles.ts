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
