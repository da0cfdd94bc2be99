import { resolveExtensions } from '../factory/catalogue.ts'
import { imageExists, notFoundMessage } from '../config/images.ts'
import { TAKES } from './durations.ts'
import type { Machine } from './machine.ts'

/** Whether the machine's registries have an image. The fault `image-missing` removes images whose reference contains a text. */
export const hasImage = (machine: Machine, reference: string): boolean =>
  imageExists(reference) &&
  isBuilt(machine, reference) &&
  !machine.disk.state.faults.some((fault) => fault.kind === 'image-missing' && reference.includes(fault.image))

/** Whether the image factory builds an installer: it has the schematic, and the version has every extension. A server's own schematic is always known. */
const isBuilt = (machine: Machine, reference: string): boolean => {
  const [, id = '', version = ''] = /\/([0-9a-f]{64}):([^@]*)/.exec(reference) ?? []
  const schematic = machine.world.schematic(id)
  if (id === '' || id === machine.schematic || id === machine.plan.schematic) return true
  if (schematic === undefined) return false
  try {
    return resolveExtensions(schematic.extensions, version).length === schematic.extensions.length
  } catch {
    return false
  }
}

/** Retries of Talos for an image that a registry doesn't have (Talos: image.go, MaxNotFoundRetries). */
const NOT_FOUND_RETRIES = 5

/**
 * Pulls an image as Talos does, and returns why that failed, or null. An image that was pulled before isn't pulled again. `retries`: how often a missing image
 * is requested again.
 */
export const pullImage = async (machine: Machine, reference: string, signal?: AbortSignal, retries = NOT_FOUND_RETRIES): Promise<string | null> => {
  if (machine.images.has(reference)) return null
  // The duration of the first pull is part of the start of each program.
  if (machine.images.size > 0) await machine.takes(TAKES.pullImage, signal)
  for (let attempt = 0; !hasImage(machine, reference); attempt++) {
    const problem = notFoundMessage(reference)
    if (attempt === retries) return problem
    if (attempt === 0) machine.journal.kernel(`[talos] retrying error: ${problem}`)
    await machine.takes(TAKES.pullRetry * 2 ** attempt, signal)
  }
  machine.images.set(reference, machine.world.clock.now())
  return null
}
