/** The first value of a kernel argument, or null. */
export const kernelArgument = (line: string, name: string): string | null => {
  const found = line.split(/\s+/).find((part) => part.startsWith(`${name}=`))
  return found === undefined ? null : found.slice(name.length + 1)
}

/** The configuration URL on the kernel's command line, or null. */
export const configUrl = (line: string): string | null => {
  const url = kernelArgument(line, 'talos.config')
  // This simulation has no `metal-iso` volume.
  return url === null || url === '' || url === 'none' || url === 'metal-iso' ? null : url
}
