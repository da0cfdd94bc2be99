/** The value of an argument of the kernel, the first of several; null where it isn't there. */
export const kernelArgument = (line: string, name: string): string | null => {
  const found = line.split(/\s+/).find((part) => part.startsWith(`${name}=`))
  return found === undefined ? null : found.slice(name.length + 1)
}

/** Where a machine would fetch a configuration from, by its kernel's command line; null where it doesn't. */
export const configUrl = (line: string): string | null => {
  const url = kernelArgument(line, 'talos.config')
  // The volume that `metal-iso` stands for is nowhere in this simulation.
  return url === null || url === '' || url === 'none' || url === 'metal-iso' ? null : url
}
